# SPDX-License-Identifier: GPL-2.0
"""The real mlccd, whose carrier is only memory: for tests of what talks to it."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "userspace" / "python"))

from mlcc_client import Client, RefusedError  # noqa: E402  (needs the path above)

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


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for something that has to come; the time is only there so that a failure ends."""
    end = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.01)
    return value


def ignore_children() -> None:
    """What a starter may have chosen, and is inherited."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


class MemoryMlccd:
    """One with a folder of its own; what it knows outlives it."""

    def __init__(self, folder: Path) -> None:
        self.run = folder / "run"
        self.socket = self.run / "mlccd.sock"
        self.carrier, self.log = folder / "carrier", folder / "log"
        self.config = folder / "mlccd.conf"
        self.config.touch()
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        return [str(MLCCD), "--config", str(self.config), "--run-dir", str(self.run)]

    def start(self, before: Sequence[str] = (), **env: str) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*before, *self.command()],
                env={"MLCC_FAKE": str(self.carrier), **env},
                stderr=log,
                preexec_fn=ignore_children,
            )
        until(self.answers, "mlccd's first reply")

    def answers(self) -> bool:
        assert self.process and self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(OSError, RefusedError):
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
        def is_gone() -> bool:
            with contextlib.suppress(OSError):
                self.cgroup.rmdir()
            return not self.cgroup.exists()

        until(is_gone, "the end of the last of its processes")
