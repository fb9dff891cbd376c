# SPDX-License-Identifier: GPL-2.0
"""What the lab's programs have in common: how they end."""

import signal
import sys
from collections.abc import Callable

from .errors import LabError


def run(name: str, command: Callable[[], int]) -> int:
    """Do what a program is for; every error becomes one line, a signal unwinds."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        return command()
    except LabError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted; everything is cleaned up", file=sys.stderr)
        return 130


def _interrupt(number: int, frame: object) -> None:
    """Unwind, so that every cleanup runs; a second signal does not cut it short."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
