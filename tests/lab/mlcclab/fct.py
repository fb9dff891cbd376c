# SPDX-License-Identifier: GPL-2.0
"""How long background flows took, by their size: slowdowns over what each would take alone."""

from collections.abc import Sequence
from math import exp, inf, log
from typing import Any

from .interval import estimate
from .stats import percentile

Json = dict[str, Any]

# Flows of no more than so many bytes.
BINS = (10_000, 100_000, 1_000_000, inf)
# Left out is what comes in the first part of the time, as of iterations, and in the last one, which
# would mostly count for having had no time; what is not over then counts with the time it had.
FROM, TO = 0.25, 0.9
PERCENTS = (50, 99)


def summary(flows: Sequence[Sequence[float]], span_s: float) -> list[Json]:
    """Of a run: how many flows a bin has, and their slowdowns' percentiles."""
    found: list[list[float]] = [[] for _ in BINS]
    for began, took, alone, nbytes in flows:
        if FROM * span_s <= began < TO * span_s:
            found[next(i for i, most in enumerate(BINS) if nbytes <= most)].append(took / alone)
    return [
        {"flows": len(values)}
        | {f"p{p}": percentile(values, p) if values else None for p in PERCENTS}
        for values in found
    ]


def by_size(runs: Sequence[Sequence[Json]]) -> list[Json]:
    """Of several seeds: the means of these percentiles, with intervals, and each seed's."""
    return [
        {
            "to_bytes": None if most == inf else most,
            "flows": sum(run[i]["flows"] for run in runs),
        }
        | {f"p{p}": interval([run[i][f"p{p}"] for run in runs]) for p in PERCENTS}
        | {f"p{p}s": [run[i][f"p{p}"] for run in runs] for p in PERCENTS}
        for i, most in enumerate(BINS)
    ]


def compare(ours: Sequence[Json], theirs: Sequence[Json]) -> None:
    """Adds how many times theirs our p99 is, seed by seed: the same flows came in both."""
    for mine, other in zip(ours, theirs, strict=True):
        pairs = zip(mine["p99s"], other["p99s"], strict=True)
        mine["p99_against_first"] = ratio([(a, b) for a, b in pairs if a and b])


def interval(values: Sequence[float | None]) -> Json | None:
    """A mean, and half of its 95 % interval."""
    known = [value for value in values if value is not None]
    return vars(estimate(known)) if known else None


def ratio(pairs: Sequence[tuple[float, float]]) -> Json | None:
    """The geometric mean, which noise does not raise, and its 95 % interval."""
    if not pairs:
        return None
    found = estimate([log(a / b) for a, b in pairs])
    low, high = found.bounds or (None, None)
    return {
        "mean": exp(found.mean),
        "low": None if low is None else exp(low),
        "high": None if high is None else exp(high),
    }


def rows(cc: str, name: str, bins: Sequence[Json]) -> list[list[str]]:
    """Of the table for eyes."""
    return [[cc, name, _size(b), str(b["flows"]), *_figures(b)] for b in bins if b["flows"]]


HEAD = ["cc", "flows", "size", "number", "p50", "p99", "p99 against first"]


def _size(found: Json) -> str:
    most = found["to_bytes"]
    return f"<= {most // 1000} kB" if most else "more"


def _figures(found: Json) -> list[str]:
    compared = found.get("p99_against_first")
    return [
        *(_with_half(found[f"p{p}"]) for p in PERCENTS),
        _with_bounds(compared) if compared else "-",
    ]


def _with_half(found: Json) -> str:
    return f"{found['mean']:.2f}" + ("" if found["half"] is None else f" ± {found['half']:.2f}")


def _with_bounds(found: Json) -> str:
    bounds = "" if found["low"] is None else f" ({found['low']:.2f} to {found['high']:.2f})"
    return f"{found['mean']:.3f}{bounds}"
