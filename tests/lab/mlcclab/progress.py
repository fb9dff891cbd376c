# SPDX-License-Identifier: GPL-2.0
"""How far it is, and the time left: a line that changes on a terminal, else one now and then."""

import sys
import time
from typing import TextIO

TTY_PERIOD_S = 0.2
LINE_PERIOD_S = 5.0


class Progress:
    """Counts expected seconds, so that stages of unlike length add up."""

    def __init__(
        self, expected_s: float, stream: TextIO = sys.stderr, name: str = "mlcc-lab"
    ) -> None:
        self.expected = max(expected_s, 0.001)
        self.stream = stream
        self.name = name
        self.tty = stream.isatty()
        self.began = time.monotonic()
        self.finished = 0.0
        self.stage_s = 0.0
        self.label = ""
        self.shown = float("-inf")

    def stage(self, label: str, expected_s: float) -> None:
        """The next part of the work begins."""
        self.finished += self.stage_s
        self.label, self.stage_s = label, expected_s
        self.tick(0.0)

    def tick(self, fraction: float) -> None:
        """The current part is that far."""
        now = time.monotonic()
        if now - self.shown < (TTY_PERIOD_S if self.tty else LINE_PERIOD_S):
            return
        self.shown = now
        done = min(1.0, (self.finished + self.stage_s * fraction) / self.expected)
        self._show(done, now - self.began)

    def note(self, text: str) -> None:
        """A line of its own above the bar."""
        self.close()
        self.stream.write(f"{self.name}: {text}\n")
        self.stream.flush()

    def close(self) -> None:
        """Clear the bar."""
        if self.tty:
            self.stream.write("\r\033[K")
            self.stream.flush()

    def _show(self, done: float, elapsed: float) -> None:
        left = max(0.0, self.expected - done * self.expected)
        if done > 0.1:  # trust what was seen over what was expected
            left = elapsed / done * (1 - done)
        text = (
            f"{self.name}: {done:4.0%}, {int(left) // 60}:{int(left) % 60:02d} left: {self.label}"
        )
        self.stream.write(f"\r\033[K{text}" if self.tty else f"{text}\n")
        self.stream.flush()
