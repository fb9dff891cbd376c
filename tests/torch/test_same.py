# SPDX-License-Identifier: GPL-2.0
"""What DistributedDataParallel can do, with mlcc_torch and without: the same weights."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import no_torch
from fake_mlccd import END, START, Listener
from test_passes import Passing

WORKER = Path(__file__).with_name("same_worker.py")
LOAD = """import sys, torch
whole = {} if torch.__version__.startswith("1.") else {"weights_only": False}
torch.load(sys.argv[1], **whole)"""


@unittest.skipIf(no_torch(), no_torch())
class Same(unittest.TestCase):
    def weights(self, how: str, socket: Path) -> list[list[dict[str, list[str]]]]:
        """Of each way to train, in each of two ranks."""
        with tempfile.TemporaryDirectory(prefix="mlcc-torch-") as folder:
            ranks = []
            for rank in range(2):
                own = {"MLCC_SOCKET": str(socket), "MLCC_JOB": f"rank{rank}"}
                ranks.append(Passing([str(WORKER), how, f"{folder}/meet", str(rank)], own))
                self.addCleanup(ranks[-1].process.kill)
            for rank in ranks:
                rank.finish()
        return [rank.said for rank in ranks]

    def test_the_same_weights(self) -> None:
        listener = Listener([{"id": 5 + n, "name": f"rank{n}", "cgroup": "x"} for n in range(2)])
        self.addCleanup(listener.close)
        ours = self.weights("ours", listener.path)
        plain = self.weights("plain", listener.path)
        self.assertGreater(len(plain[0]), 10)
        for rank in range(2):
            for mine, theirs in zip(ours[rank], plain[rank], strict=True):
                self.assertEqual(mine, theirs)
        # and it was there: one ring of each process, whose phases all have bytes
        self.assertEqual(len(listener.rings), 2)
        for ring in listener.rings:
            records = ring.records()
            self.assertEqual({r.kind for r in records}, {START, END})
            self.assertTrue(all(r.bytes for r in records if r.kind == START))

    def test_a_saved_model_needs_no_package_of_ours(self) -> None:
        import torch

        from mlcc_torch.quiet import Quiet

        model = torch.nn.Linear(2, 2)
        model.register_forward_hook(Quiet(print))
        with tempfile.NamedTemporaryFile() as file:
            torch.save(model, file.name)
            words = [sys.executable, "-I", "-c", LOAD, file.name]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
