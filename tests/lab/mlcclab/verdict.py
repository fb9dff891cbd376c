# SPDX-License-Identifier: GPL-2.0
"""What pairs of runs with equal seeds say of the second against the first. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from .interval import Estimate, estimate

BETTER, WORSE, CANNOT_TELL = "better", "worse", "cannot tell"


@dataclass(frozen=True)
class Figure:
    """One of the report's, of which less is better."""

    key: str
    least: float  # nobody would act on a smaller difference, however sure it is


# A part of the time alone: half a percent of an iteration, and of the late ones, which are few and
# vary more, two.
SLOWDOWN = Figure("slowdown_mean", 0.005)
LATE = Figure("slowdown_p99", 0.02)
# 10^6 bytes are 690 segments: less than one in a thousand.
RETRANSMITS = Figure("retransmits_per_mb", 0.5)
# A part of what a neighbour has alone.
HARM = Figure("harm", 0.02)

OF_JOBS = (SLOWDOWN, LATE, RETRANSMITS)


@dataclass(frozen=True)
class Comparison:
    """One figure under both, seed by seed."""

    figure: Figure
    first: Sequence[float]
    second: Sequence[float]

    @property
    def difference(self) -> Estimate | None:
        """Second - first, in pairs: what a seed does to both is not in it."""
        pairs = zip(self.first, self.second, strict=True)
        return estimate([second - first for first, second in pairs]) if self.first else None

    @property
    def verdict(self) -> str:
        """Only what is both sure and large enough to act on."""
        difference = self.difference
        if difference is None or difference.bounds is None:
            return CANNOT_TELL
        low, high = difference.bounds
        if low <= 0.0 <= high or abs(difference.mean) < self.figure.least:
            return CANNOT_TELL
        return WORSE if difference.mean > 0 else BETTER


def paired(
    figure: Figure, first: Sequence[float | None], second: Sequence[float | None]
) -> Comparison:
    """The pairs of which both are known."""
    known = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return Comparison(figure, [a for a, _ in known], [b for _, b in known])


def mean_of(comparisons: Sequence[Comparison]) -> Comparison:
    """One figure over several scenarios: the mean of each seed, so that pairs stay pairs."""
    first = zip(*(comparison.first for comparison in comparisons), strict=True)
    second = zip(*(comparison.second for comparison in comparisons), strict=True)
    return Comparison(comparisons[0].figure, list(map(fmean, first)), list(map(fmean, second)))
