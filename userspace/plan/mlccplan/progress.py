# SPDX-License-Identifier: BSD-2-Clause
"""Says on stderr what goes on, where it takes longer than two seconds."""

import sys
import time

FIRST_S = 2.0
TTY_EVERY_S = 0.2
LINE_EVERY_S = 5.0


class Progress:
    """A line that is overwritten on a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._tty = sys.stderr.isatty()
        self._next = time.monotonic() + FIRST_S
        self._shown = False

    def __call__(self, label: str, done: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (TTY_EVERY_S if self._tty else LINE_EVERY_S)
        self._shown = True
        line = f"mlcc-plan: {label}, {done:.0%}"
        sys.stderr.write(f"\r\033[K{line}" if self._tty else f"{line}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Leave a clean line."""
        if self._tty and self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
