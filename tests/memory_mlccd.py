# SPDX-License-Identifier: GPL-2.0
"""The real mlccd, whose carrier is only memory: for tests of what talks to it."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "userspace" / "python"))

from mlcc_client import Client  # noqa: E402  (needs the path above)

MLCCD = ROOT / "build" / "userspace" / "mlccd" / "mlccd-fake"
WAIT_S = 60.0


def missing() -> str:
    """Why there is none, or nothing."""
    return "" if MLCCD.exists() else "mlccd-fake is not built: make fake"


def cgroup_mount() -> Path | None:
    """Where the second version is, if it is anywhere."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where)
    return None


def missing_for_a_job() -> str:
    """Why none can have a job of a cgroup, or nothing."""
    if why := missing():
        return why
    if os.geteuid():
        return "needs root: it makes cgroups"
    return "" if cgroup_mount() else "no cgroup2 file system is mounted"


class MemoryMlccd:
    """One with a folder of its own; what it knows outlives it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "run" / "mlccd.sock"
        (folder / "none").touch()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [str(MLCCD), "--config", str(self.folder / "none")]
        command += ["--run-dir", str(self.folder / "run")]
        environment = {"MLCC_FAKE": str(self.folder / "carrier")}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stderr=log)
        end = time.monotonic() + WAIT_S
        while not self.answers():
            assert time.monotonic() < end, "mlccd never answered"
            time.sleep(0.02)

    def answers(self) -> bool:
        with contextlib.suppress(OSError):
            return bool(self.ask({"op": "status"}))
        return False

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        with Client(self.socket, WAIT_S) as client:
            return client.ask(request)

    def job(self, name: str | int) -> dict[str, Any]:
        return dict(self.ask({"op": "show", "job": name})["jobs"][0])

    def kill(self) -> None:
        """Waits for a process, too, that closes its files when it has ended itself."""
        if not self.process:
            return
        with contextlib.suppress(OSError), Client(self.socket, WAIT_S) as client:
            client.ask({"op": "status"})
            self.process.kill()
            client.peer.recv(1)
        self.process.kill()
        self.process.wait()
        self.process = None


class JobCase(unittest.TestCase):
    """Runs one, with a job called bert, number 7, of a cgroup of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="mlcc-memory-")
        self.addCleanup(folder.cleanup)
        self.mlccd = MemoryMlccd(Path(folder.name))
        self.mlccd.start()
        self.addCleanup(self.mlccd.kill)
        mount = cgroup_mount()
        assert mount
        self.cgroup = mount / f"mlcc-memory-{os.getpid()}"
        self.cgroup.mkdir()
        self.addCleanup(self._remove_cgroup)
        self.set_job("bert", self.cgroup, id=7)

    def set_job(self, name: str, cgroup: Path, **fields: Any) -> None:
        self.mlccd.ask({"op": "set-job", "name": name, "cgroup": cgroup.name, **fields})

    def _remove_cgroup(self) -> None:
        """Once the last of its processes has ended."""
        end = time.monotonic() + WAIT_S
        while self.cgroup.exists() and time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.cgroup.rmdir()
            time.sleep(0.01)
