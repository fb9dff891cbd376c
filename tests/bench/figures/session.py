# SPDX-License-Identifier: GPL-2.0
"""Measures what is missing, and says how far it is."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mlcclab.errors import EXIT_OK, LabError

from . import measure
from .page import Kept
from .tables import Measurement


def minutes(wanted: Sequence[Measurement]) -> float:
    """How long they take, as the lab expects it."""
    return sum(map(measure.expected_seconds, wanted)) / 60


@dataclass
class Session:
    """One run of a program: what is kept is used, what is not is measured."""

    root: Path
    commit: str
    folder: Path
    lab: measure.Lab
    program: str = "results"
    have: dict[Measurement, Kept] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    expected_s: float = 0.0
    spent_s: float = 0.0
    left: list[Measurement] = field(default_factory=list)

    def plan(self, name: str, measurements: Sequence[Measurement]) -> None:
        """Find what is kept already."""
        new = []
        for wanted in measurements:
            if kept := measure.read(self.folder, self.commit, wanted):
                self.have[wanted] = kept
            elif wanted not in self.left:
                new.append(wanted)
        self.left += new
        self.say(f"{name}: {len(new)} scenarios to measure, about {minutes(new):.0f} min")

    def build(self) -> None:
        """What runs take from this tree: those in a guest its programs, too."""
        if self.left:
            self.say("make all")
            measure.build()

    def measure(self, measurements: Sequence[Measurement]) -> None:
        """Those of them that are left; one that fails does not stop the others."""
        for wanted in measurements:
            if wanted in self.left:
                self._measure(wanted)

    def _measure(self, wanted: Measurement) -> None:
        expected = measure.expected_seconds(wanted)
        pace = self.spent_s / self.expected_s if self.expected_s else 1.0
        self.say(
            f"{wanted.scenario} ({wanted.place.name}): about {expected * pace / 60:.1f} min, "
            f"all that is left {minutes(self.left) * pace:.0f}"
        )
        self.left.remove(wanted)
        try:
            kept = measure.measure(self.folder, self.commit, wanted, self.lab)
        except LabError as error:
            self.failed.append(wanted.scenario)
            self.say(f"{wanted.scenario}: failed: {error}")
        else:
            self.have[wanted] = kept
            self.expected_s += expected
            self.spent_s += kept.took_s

    def finish(self) -> int:
        """The exit status."""
        self.say(f"measured for {self.spent_s / 60:.1f} min")
        if self.failed:
            raise LabError(f"failed: {', '.join(self.failed)}; run it again for these")
        return EXIT_OK

    def say(self, text: str) -> None:
        """How far it is."""
        print(f"{self.program}: {text}", file=sys.stderr, flush=True)
