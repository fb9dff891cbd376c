# SPDX-License-Identifier: GPL-2.0
"""Running system tools, with errors that say which tool said what."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import LabError

# How much longer than usual this machine takes: an emulated one, or one whose clock runs ahead
# while it waits for its host.
SLOW = float(os.environ.get("MLCC_LAB_SLOW", "1"))
TIMEOUT_S = 60 * SLOW


def attempt(command: Sequence[str], script: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command and return whatever came of it."""
    try:
        return subprocess.run(
            command, input=script, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
    except FileNotFoundError:
        raise LabError(f"{command[0]}: not installed") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"{' '.join(command)}: no answer within {TIMEOUT_S:.0f} s") from None


def attend(command: Sequence[str | Path], stdout: int | None = None) -> int:
    """Run one that takes long; its exit status. An interrupt ends it, and waits for its cleanup."""
    with subprocess.Popen(command, stdout=stdout) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise


def run(command: Sequence[str], script: str | None = None) -> str:
    """Run a command that must succeed and return its output."""
    done = attempt(command, script)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise LabError(f"{' '.join(command)}: {said[-1] if said else done.returncode}")
    return done.stdout
