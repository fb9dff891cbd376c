# SPDX-License-Identifier: GPL-2.0
"""What DistributedDataParallel can do, with mlcc_torch and without: the same weights."""

import subprocess
import sys
import tempfile

import torch

import test_passes
from fake_mlccd import END, START
from mlcc_torch.quiet import Quiet

LOAD = """import sys, torch
whole = {} if torch.__version__.startswith("1.") else {"weights_only": False}
torch.load(sys.argv[1], **whole)"""


class Same(test_passes.Pair):
    def test_the_same_weights(self) -> None:
        """Of each way to train, in each of two ranks."""
        listener = self.listen()
        ours = self.run_ranks("same_worker.py", "ours", socket=listener.path)
        plain = self.run_ranks("same_worker.py", "plain", socket=listener.path)
        for mine, theirs in zip(ours, plain, strict=True):
            self.assertGreaterEqual(len(theirs.said), 10)
            self.assertEqual(mine.said, theirs.said)
        # and it was there: one ring of each process, whose phases all have bytes
        self.assertEqual(len(listener.rings), 2)
        for ring in listener.rings:
            records = ring.records()
            self.assertEqual({r.kind for r in records}, {START, END})
            self.assertTrue(all(r.bytes for r in records if r.kind == START))

    def test_a_saved_model_needs_no_package_of_ours(self) -> None:
        model = torch.nn.Linear(2, 2)
        model.register_forward_hook(Quiet(print))
        with tempfile.NamedTemporaryFile() as file:
            torch.save(model, file.name)
            words = [sys.executable, "-I", "-c", LOAD, file.name]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
