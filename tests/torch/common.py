# SPDX-License-Identifier: GPL-2.0
"""What the tests share: the package of this tree, a process of a job, and how to wait."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "userspace" / "python"
sys.path[:0] = [str(PACKAGE), str(ROOT / "tests")]

WAIT_S, TIMEOUT_S = 60.0, 240.0


def no_torch() -> str:
    """Why tests with torch are skipped, or nothing."""
    torch = importlib.util.find_spec("torch")
    # this folder would do for a package of that name
    if torch is None or torch.origin is None:
        return "python3-torch is not installed: make demo-train installs it"
    return ""


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for something that has to come; the time is only there so that a failure ends."""
    end = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.01)
    return value


# Debian 13 builds PyTorch without it, and PyTorch asks for it all the same
WITHOUT_LIBUV = {"USE_LIBUV": "0"}


class Rank:
    """One process of a job, and what it says: an object of JSON a line, and its warnings."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            env=os.environ | WITHOUT_LIBUV | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self) -> None:
        """At its end take what it said; some Gloos say more."""
        out, self.errors = self.process.communicate(timeout=TIMEOUT_S)
        assert self.process.returncode == 0, self.errors
        self.said = [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    @property
    def losses(self) -> list[str]:
        return [line["loss"] for line in self.said if "loss" in line]

    def warnings(self) -> list[str]:
        """What the package said; torch says more."""
        return [line for line in self.errors.splitlines() if "phases" in line or "mlccd" in line]
