# SPDX-License-Identifier: GPL-2.0
"""What removing and purging the package does with a NIC that mlcc-dcqcn has set."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

DEBIAN = Path(__file__).resolve().parents[2] / "debian"
PROGRAMS = ("mlccd", "mlcc-bpf", "systemctl", "deb-systemd-invoke")

# a /run of its own, with the only record of what the NIC had
SCRIPT = """
mount -t tmpfs none /run && mkdir -p /run/mlcc/dcqcn /run/mlcc/jobs &&
touch /run/mlcc/dcqcn/mlx5:mlx5_0 /run/mlcc/dcqcn/mlx5:mlx5_0.lock /run/mlcc/jobs/7 &&
sh "$1/mlcc.prerm" remove && sh "$1/mlcc.postrm" remove && sh "$1/mlcc.postrm" purge &&
find /run -type f
"""


@unittest.skipUnless(os.geteuid() == 0, "mounts a /run of its own")
class Purge(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = Path(folder.name)
        for name in PROGRAMS:
            self.program(name, "")

    def program(self, name: str, body: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.bin / name).chmod(0o755)

    def purge(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", SCRIPT, "sh", str(DEBIAN)],
            env={"PATH": f"{self.bin}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
        )

    def test_a_nic_is_put_back_before_its_record_goes(self) -> None:
        self.program("mlcc-dcqcn", '[ "$1" = restore ] && rm /run/mlcc/dcqcn/mlx5:mlx5_0')
        done = self.purge()
        self.assertEqual(done.stdout, "")
        self.assertIn("NICs get back", done.stderr)

    def test_a_record_stays_of_what_could_not_be_put_back(self) -> None:
        self.program("mlcc-dcqcn", "exit 3")
        done = self.purge()
        self.assertEqual(done.stdout, "/run/mlcc/dcqcn/mlx5:mlx5_0\n")
        self.assertIn("stays in /run/mlcc/dcqcn: /run/mlcc/dcqcn/mlx5:mlx5_0", done.stderr)
