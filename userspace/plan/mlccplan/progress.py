# SPDX-License-Identifier: BSD-2-Clause
"""Says on stderr that a verb goes on, where it takes longer than two seconds."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

FIRST_S = 2.0
TTY_EVERY_S = 1.0
LINE_EVERY_S = 10.0
_parts: list[str] = []
_stops: list[Callable[[], None]] = []


def part(label: str, done: float) -> None:
    """What a verb is at, and how much of that is done."""
    _parts[:] = [f", {label}, {done:.0%}"]


def end() -> None:
    """Leave a clean line: what is printed next is the result."""
    while _stops:
        _stops.pop()()


@contextlib.contextmanager
def shown(what: str) -> Iterator[None]:
    """Until end(): a line that is overwritten on a terminal, else a line now and then."""
    _parts.clear()
    if sys.stderr:  # None: it was closed before
        _stops.append(_start(what))
    try:
        yield
    finally:
        end()


def _start(what: str) -> Callable[[], None]:
    """A thread that tells; returns what ends it."""
    tty, ended, begun = sys.stderr.isatty(), threading.Event(), time.monotonic()

    def tell() -> None:
        wait = FIRST_S
        while not ended.wait(wait):
            line = f"mlcc-plan: {what}, {time.monotonic() - begun:.0f} s{''.join(_parts)}"
            sys.stderr.write(f"\r\033[K{line}" if tty else f"{line}\n")
            sys.stderr.flush()
            wait = TTY_EVERY_S if tty else LINE_EVERY_S
        if tty and wait != FIRST_S:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()

    def stop() -> None:
        ended.set()
        teller.join()

    return stop
