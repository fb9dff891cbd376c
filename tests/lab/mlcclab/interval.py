# SPDX-License-Identifier: GPL-2.0
"""How far a mean of a few runs can be trusted: Student's interval. Pure functions."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from math import atan, cos, pi, sin, sqrt
from statistics import fmean, stdev

CONFIDENCE = 0.95
# The quantile is at most 12.7, that of one degree of freedom.
HIGHEST_QUANTILE = 13.0
BISECTIONS = 60


@dataclass(frozen=True)
class Estimate:
    """A mean, and half the width of its interval: none from one value."""

    mean: float
    half: float | None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval's ends."""
        return None if self.half is None else (self.mean - self.half, self.mean + self.half)


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of independent values, with its 95 % interval."""
    if len(values) < 2:
        return Estimate(values[0], None)
    return Estimate(fmean(values), quantile(len(values) - 1) * stdev(values) / sqrt(len(values)))


@functools.cache
def quantile(freedom: int) -> float:
    """What |T| stays below in 95 % of cases, for that many degrees of freedom."""
    low, high = 0.0, HIGHEST_QUANTILE
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if _within(middle, freedom) < CONFIDENCE:
            low = middle
        else:
            high = middle
    return high


def _within(t: float, freedom: int) -> float:
    """P(|T| <= t): Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even); both are exact."""
    angle, odd = atan(t / sqrt(freedom)), freedom % 2
    term, total = cos(angle) if odd else 1.0, 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * cos(angle) ** 2
    total *= sin(angle)
    return 2 / pi * (angle + total) if odd else total
