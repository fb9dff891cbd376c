# SPDX-License-Identifier: GPL-2.0
"""How the report writes figures: rounded, with their units and intervals in the keys."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from . import stats
from .interval import estimate

Json = dict[str, Any]

PERCENTILES = (50, 90, 99)


def rounded(value: float | None, digits: int) -> float | None:
    """The same, or nothing."""
    return None if value is None else round(value, digits)


def spread(values: Sequence[float]) -> Json:
    """Mean and percentiles of times; nothing of none."""
    if not values:
        return dict.fromkeys(["mean_ms", *(f"p{percent}_ms" for percent in PERCENTILES)])
    times = {f"p{percent}_ms": stats.percentile(values, percent) for percent in PERCENTILES}
    return {key: round(value, 3) for key, value in ({"mean_ms": fmean(values)} | times).items()}


def tail(ratios: Sequence[float]) -> Json:
    """The late iterations: of iteration time over isolated time."""
    return {
        "slowdown_p90": round(stats.percentile(ratios, 90), 4),
        "slowdown_p99": round(stats.percentile(ratios, 99), 4),
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
