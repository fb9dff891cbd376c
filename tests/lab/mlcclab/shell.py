# SPDX-License-Identifier: GPL-2.0
"""Running system tools, with errors that say which tool said what."""

import subprocess
from collections.abc import Sequence

from .errors import LabError


def attempt(command: Sequence[str], script: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command and return whatever came of it."""
    try:
        return subprocess.run(
            command, input=script, capture_output=True, text=True, check=False, timeout=60
        )
    except FileNotFoundError:
        raise LabError(f"{command[0]}: not installed") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"{' '.join(command)}: no answer within 60 s") from None


def run(command: Sequence[str], script: str | None = None) -> str:
    """Run a command that must succeed and return its output."""
    done = attempt(command, script)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise LabError(f"{' '.join(command)}: {said[-1] if said else done.returncode}")
    return done.stdout
