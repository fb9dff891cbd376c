# SPDX-License-Identifier: GPL-2.0
"""The figures of the report. Pure functions on lists, tested by hand-made examples."""

from collections.abc import Sequence
from statistics import fmean, median

CONVERGED_RUN = 10
CONVERGED_WITHIN = 1.05


def settled(values: Sequence[float]) -> Sequence[float]:
    """What counts for the means: everything after the first quarter."""
    return values[len(values) // 4 :]


def percentile(values: Sequence[float], percent: float) -> float:
    """Linear interpolation between the closest ranks."""
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100
    low = int(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


def slowdown(iterations: Sequence[float], isolated: Sequence[float]) -> float:
    """Mean iteration time over mean isolated time, both after the first quarter."""
    return fmean(settled(iterations)) / fmean(settled(isolated))


def converged_at(
    iterations: Sequence[float], isolated: Sequence[float], start: int = 0
) -> int | None:
    """First iteration from which ten in a row stay within 5 % of isolated."""
    run = 0
    for index in range(start, len(iterations)):
        run = run + 1 if iterations[index] <= isolated[index] * CONVERGED_WITHIN else 0
        if run == CONVERGED_RUN:
            return index - CONVERGED_RUN + 1
    return None


def jain(values: Sequence[float]) -> float:
    """Jain's index: 1 when all are equal, 1/n when one has everything."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def merge_converged(values: Sequence[int | None]) -> float | None:
    """Median over repeats; never converging counts as later than any other."""
    middle = median(float("inf") if value is None else value for value in values)
    return None if middle == float("inf") else middle
