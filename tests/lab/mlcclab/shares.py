# SPDX-License-Identifier: GPL-2.0
"""Who had how much of the link: over all of a short run, over the last seconds of a longer one."""

from typing import Any

from . import stats
from .runner import SAMPLE_MS, RunResult, Samples
from .scenario import Scenario

PERIODS_SHOWN = 8
MIN_SHOWN_MS = 1500
MAX_SHOWN_MS = 4000
WHOLE_MS = 15_000


def shares(scenario: Scenario, run: RunResult) -> dict[str, Any]:
    """Rates of every job and flow on one grid that ends with the run; from when it begins."""
    traces = [(job.name, run.jobs[job.name].samples) for job in scenario.jobs]
    traces += [(flow.name, run.flows[flow.name].samples) for flow in scenario.flows]
    longest = max(job.period_ms(scenario.link.rate, scenario.link.mtu) for job in scenario.jobs)
    end = min((samples[-1][0] for _, samples in traces if samples), default=0)
    whole = (end - run.start_ns) / 1e6 if end else 0.0
    shown = min(MAX_SHOWN_MS, max(MIN_SHOWN_MS, longest * PERIODS_SHOWN))
    if 0 < whole <= WHOLE_MS:
        shown = whole
    points = int(shown / SAMPLE_MS) + 1
    grid = [end - i * SAMPLE_MS * 1_000_000 for i in reversed(range(points))]
    series = [{"name": name, "mbps": _rates(samples, grid)} for name, samples in traces]
    from_ms = max(0.0, round(whole - shown, 3))
    return {"step_ms": SAMPLE_MS, "from_ms": from_ms, "series": series}


def _rates(samples: Samples, grid: list[int]) -> list[float]:
    """Mb/s between the points of a grid; the counter is linear between samples."""
    carried = [stats.interpolated(samples, point) if samples else 0.0 for point in grid]
    pairs = zip(carried, carried[1:], strict=False)
    return [round((b - a) * 8e-3 / SAMPLE_MS, 2) for a, b in pairs]
