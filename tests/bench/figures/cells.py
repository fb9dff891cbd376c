# SPDX-License-Identifier: GPL-2.0
"""What a cell of a table says: figures of one result of mlcc-lab's report, for eyes."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

Json = dict[str, Any]

# Rounding away what binary fractions add, so that 0.002 is not taken for a little more.
EXACT_DIGITS = 9


def interval(mean: float | None, ci95: Sequence[float] | None, digits: int) -> str:
    """Mean and half the width of its interval, rounded up: it never looks smaller than it is."""
    if mean is None:
        return "-"
    if ci95 is None:
        return f"{mean:.{digits}f}"
    half = Decimal(str(round((ci95[1] - ci95[0]) / 2, EXACT_DIGITS)))
    shown = half.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING)
    return f"{mean:.{digits}f} ± {shown}"


def slowdown(result: Json, _: str) -> str:
    """Mean of the jobs' slowdowns."""
    return interval(result["slowdown_mean"], result["slowdown_ci95"], 3)


def slowdown_p99(result: Json, _: str) -> str:
    """Of all settled iterations of all jobs and seeds together: there is one, so no interval."""
    return f"{result['slowdown_p99']:.2f}"


def worst_job(result: Json, _: str) -> str:
    """The slowdown of the job that is worst off."""
    job = max(result["jobs"], key=lambda job: job["slowdown"])
    return interval(job["slowdown"], job["slowdown_ci95"], 3)


def resent(result: Json, _: str) -> str:
    """Segments, for each 10^6 bytes."""
    return interval(result["retransmits_per_mb"], result["retransmits_per_mb_ci95"], 2)


def converged(result: Json, _: str) -> str:
    """The iteration from which the last of the jobs runs as if alone."""
    iterations = [job["converged_at"] for job in result["jobs"]]
    return "-" if None in iterations else f"{max(iterations):g}"


def harm(result: Json, neighbour: str) -> str:
    """What part of its performance the neighbour loses."""
    flow = _flow(result, neighbour)
    return interval(flow["harm"], flow["harm_ci95"], 2)


def beside_cubic(result: Json, neighbour: str) -> str:
    """What the neighbour has beside this, over what it has beside CUBIC."""
    flow = _flow(result, neighbour)
    return interval(flow["beside_cubic"], flow["beside_cubic_ci95"], 2)


def _flow(result: Json, name: str) -> Json:
    return next(flow for flow in result["flows"] if flow["name"] == name)
