# SPDX-License-Identifier: GPL-2.0
"""The NCCL plugin with the real mlccd, whose carrier is only memory.

What libmlcc-hint, by which it speaks, does beside it (cgroups, slots, an mlccd that is killed) is
tried in tests/torch/test_daemon.py.
"""

import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

from memory_mlccd import JobCase, missing_for_a_job  # noqa: E402  (needs the path above)

PLAY = ROOT / "build/nccl/gcc/play"
PLUGIN = ROOT / "build/userspace/nccl/libnccl-profiler-mlcc.so"


def missing() -> str:
    """Why this cannot run here, or nothing."""
    if not (PLAY.exists() and PLUGIN.exists()):
        return "the plugin's tests are not built: make nccl"
    return missing_for_a_job()


@unittest.skipIf(missing(), missing())
class Daemon(JobCase):
    """One, with a job called bert."""

    def play(self, version: int, phases: int, job: str) -> None:
        """The plugin asks for the events all the same: a job may be set later."""
        known = {"MLCC_PLUGIN": str(PLUGIN), "MLCC_SOCKET": str(self.mlccd.socket), "MLCC_JOB": job}
        words = [str(PLAY), str(version), str(phases)]
        said = subprocess.run(words, env=known, check=True, capture_output=True, text=True).stdout
        self.assertIn(f"mask {8 if version == 3 else 24}\n", said)

    def test_every_version_announces_the_phases_of_a_job(self) -> None:
        for version in range(3, 8):
            self.play(version, 4, "bert")
        job, status = self.mlccd.job("bert"), self.mlccd.ask({"op": "status"})
        # four phases each, of two channels with a million bytes; on a busy machine some may merge
        self.assertGreaterEqual(job["phases"], 15)
        self.assertEqual((job["d_phase_bytes"], job["hinted"]), (2_000_000, True))
        self.assertGreaterEqual(status["ring_records"], 30)
        self.assertEqual((status["ring_records_bad"], status["ring_overruns"]), (0, 0))

    def test_without_a_job_nothing_is_announced(self) -> None:
        for job in ("", "other"):
            self.play(7, 2, job)
        self.assertEqual(self.mlccd.ask({"op": "status"})["ring_records"], 0)
