# SPDX-License-Identifier: GPL-2.0
"""What the tests share: the package of this tree, and how to wait."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "userspace" / "python"
sys.path[:0] = [str(PACKAGE), str(ROOT / "tests")]

WAIT_S = 60.0


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for something that has to come; the time is only there so that a failure ends."""
    end = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.01)
    return value
