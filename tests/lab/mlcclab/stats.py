# SPDX-License-Identifier: GPL-2.0
"""The figures of the report, and how it writes them: rounded, intervals under keys of their own."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from .interval import estimate

Json = dict[str, Any]

PERCENTILES = (50, 90, 99)
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


def interpolated(table: Sequence[tuple[float, float]], at: float) -> float:
    """Linear between the rows of a table; the first and the last one beyond."""
    after = bisect_right(table, at, key=lambda row: row[0])
    if after in (0, len(table)):
        return table[min(after, len(table) - 1)][1]
    (x0, y0), (x1, y1) = table[after - 1 : after + 1]
    return y0 + (y1 - y0) * (at - x0) / (x1 - x0)


def slowdown(iterations: Sequence[float], isolated: Sequence[float]) -> float:
    """Mean iteration time over mean isolated time, both after the first quarter."""
    return fmean(settled(iterations)) / fmean(settled(isolated))


def converged_at(iterations: Sequence[float], isolated: Sequence[float]) -> int | None:
    """First iteration from which ten in a row stay within 5 % of isolated."""
    run = 0
    for index, (took, alone) in enumerate(zip(iterations, isolated, strict=True)):
        run = run + 1 if took <= alone * CONVERGED_WITHIN else 0
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


def per_megabyte(count: float, nbytes: float) -> float | None:
    """Events for each 10^6 bytes."""
    return count / nbytes * 1e6 if nbytes else None


# Ware et al., "Beyond Jain's Fairness Index" (HotNets 2019): harm is the part of a neighbour's
# performance that it loses: 0 for none, 1 for all of it.


def harm_less(alone: float, beside: float) -> float | None:
    """Of what is the better the more there is of it: throughput."""
    return (alone - beside) / alone if alone else None


def harm_more(alone: float, beside: float) -> float | None:
    """Of what is the better the less there is of it: completion times."""
    return (beside - alone) / beside if beside else None


def rounded(value: float | None, digits: int) -> float | None:
    """The same, or nothing."""
    return None if value is None else round(value, digits)


def spread(values: Sequence[float]) -> Json:
    """Mean and percentiles of times; nothing of none."""
    if not values:
        return dict.fromkeys(["mean_ms", *(f"p{percent}_ms" for percent in PERCENTILES)])
    times = {f"p{percent}_ms": percentile(values, percent) for percent in PERCENTILES}
    return {key: round(value, 3) for key, value in ({"mean_ms": fmean(values)} | times).items()}


def tail(ratios: Sequence[float]) -> Json:
    """The late iterations: of iteration time over isolated time."""
    return {
        "slowdown_p90": round(percentile(ratios, 90), 4),
        "slowdown_p99": round(percentile(ratios, 99), 4),
    }


def _known(items: Sequence[Json], key: str) -> list[float]:
    return [item[key] for item in items if item[key] is not None]


def means(items: Sequence[Json], keys: Iterable[str], digits: int) -> Json:
    """Means over the repeats of what each has."""
    known = {key: _known(items, key) for key in keys}
    return {key: round(fmean(values), digits) if values else None for key, values in known.items()}


def estimates(items: Sequence[Json], names: Mapping[str, str]) -> Json:
    """Means over the repeats, and under the other name the interval of each."""
    merged: Json = {}
    for key, interval in names.items():
        values = _known(items, key)
        figure = estimate(values) if values else None
        bounds = figure.bounds if figure else None
        merged[key] = round(figure.mean, 4) if figure else None
        merged[interval] = [round(bound, 4) for bound in bounds] if bounds else None
    return merged
