# SPDX-License-Identifier: GPL-2.0
"""The real mlccd, whose carrier is only memory: for tests of what talks to it."""

import contextlib
import signal
import subprocess
import sys
import time
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
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.process = None
