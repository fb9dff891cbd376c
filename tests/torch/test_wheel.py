# SPDX-License-Identifier: GPL-2.0
"""The wheel: built and installed by pip without a network, it brings its library along."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import ROOT
from fake_mlccd import START, Listener

PROGRAM = """
import sys
from mlcc_torch import Hints
made = Hints(sys.argv[1], "bert")
made.phase_start(4242)
print(made.linked)
"""


class Wheel(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="mlcc-wheel-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # what builds it leaves something behind
        for name in ("include", "userspace/libmlcc-hint", "userspace/python"):
            shutil.copytree(ROOT / name, self.folder / name)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("LD_LIBRARY_PATH", "PYTHONPATH")
        }

    def pip(self, *words: str | Path) -> None:
        command = [sys.executable, "-m", "pip", *map(str, words)]
        done = subprocess.run(
            [*command, "--no-index", "--no-deps", "--disable-pip-version-check"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_announces(self) -> None:
        self.pip("wheel", "--no-build-isolation", "-w", "wheels", "./userspace/python")
        (wheel,) = (self.folder / "wheels").iterdir()
        self.assertIn("-py3-none-linux_", wheel.name)
        self.pip("install", "--target", "site", wheel)
        listener = Listener([{"id": 7, "name": "bert"}])
        self.addCleanup(listener.close)
        said = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(listener.path)],
            env={**self.environment, "PYTHONPATH": str(self.folder / "site")},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual((said.stdout, said.stderr), ("True\n", ""))
        records = [(r.job, r.kind, r.bytes) for r in listener.rings[0].records()]
        self.assertEqual(records, [(7, START, 4242)])
