# SPDX-License-Identifier: GPL-2.0
"""Whether a figure keeps a bar: met, missed, or cannot tell, by its 95 % interval. Pure functions.

Values come seed by seed, and what is compared is paired by seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import covariance, fmean, variance

from mlcclab.interval import estimate, quantile
from mlcclab.verdict import SLOWDOWN

MET, MISSED, CANNOT_TELL = "met", "missed", "cannot tell"

ALONE = 1.02  # of the time of a job that is alone under CUBIC
RESENT = 1.5  # times what the larger of the bases sends again
BULK_KEEPS = 0.95  # of the rate that a transfer has beside a CUBIC job
SHORT_P99 = 1.1  # times the slowest hundredth of short flows beside a CUBIC job

Values = Sequence[float]


@dataclass(frozen=True)
class Span:
    """A mean and its interval; without ends from one value, or where there are none."""

    mean: float | None
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bar:
    """A figure, and whether it keeps its limit."""

    span: Span
    verdict: str


def span(values: Values) -> Span:
    """Student's t over the seeds."""
    if not values:
        return Span(None)
    found = estimate(values)
    return Span(found.mean, found.bounds)


def ratio(values: Values, bases: Values) -> Span:
    """Of the means, with Fieller's interval: those ratios r for which values - r * bases may be 0.

    No ends where the base cannot be told from 0: then any ratio is possible.
    """
    count, x, y = len(values), fmean(values), fmean(bases)
    mean = x / y if y else None
    if count < 2 or mean is None:
        return Span(mean)
    t2 = quantile(count - 1) ** 2 / count
    a = y * y - t2 * variance(bases)
    b = x * y - t2 * covariance(values, bases)
    c = x * x - t2 * variance(values)
    root = b * b - a * c
    if a <= 0 or root < 0:
        return Span(mean)
    return Span(mean, ((b - sqrt(root)) / a, (b + sqrt(root)) / a))


def at_most(found: Span, limit: float) -> str:
    """Less is better."""
    if not found.ends:
        return CANNOT_TELL
    low, high = found.ends
    return MET if high <= limit else MISSED if low > limit else CANNOT_TELL


def at_least(found: Span, limit: float) -> str:
    """More is better."""
    ends = (-found.ends[1], -found.ends[0]) if found.ends else None
    return at_most(Span(None, ends), -limit)


def _differences(values: Values, bases: Values, factor: float = 1.0) -> Span:
    return span([value - factor * base for value, base in zip(values, bases, strict=True)])


def _quotients(values: Values, bases: Values) -> Span:
    return span([value / base for value, base in zip(values, bases, strict=True)])


def alone(ours: Values, cubic: Values) -> Bar:
    """A job that has the network for itself takes no longer than under CUBIC."""
    found = _quotients(ours, cubic)
    return Bar(found, at_most(found, ALONE))


def resent(ours: Values, bases: Sequence[Values]) -> Bar:
    """Not many more retransmits than the larger of the bases has.

    By the differences: they also decide where a base sends nothing again, and where Fieller's
    interval has ends they say the same as it.
    """
    larger = max(bases, key=fmean)
    verdict = at_most(_differences(ours, larger, RESENT), 0.0)
    return Bar(ratio(ours, larger), verdict)


def job(ours: Values, bases: Sequence[Values]) -> Bar:
    """Slowdown - that under the best base: not above 0 by what anyone would act on.

    To be sure that it is not slower takes an interval that is narrow enough: up to what the bar for
    a job alone allows.
    """
    found = _differences(ours, min(bases, key=fmean))
    if found.ends and found.ends[0] > 0 and (found.mean or 0.0) >= SLOWDOWN.least:
        return Bar(found, MISSED)
    return Bar(found, at_most(found, ALONE - 1))


def neighbour(beside_cubic: Values, kind: str) -> Bar:
    """What a neighbour has beside us, over what it has beside CUBIC: rate, or p99 of its times."""
    found = span(beside_cubic)
    bulk = kind == "bulk"
    return Bar(found, at_least(found, BULK_KEEPS) if bulk else at_most(found, SHORT_P99))
