# SPDX-License-Identifier: GPL-2.0
"""What ordinary traffic beside the jobs has, against alone and against beside CUBIC."""

from collections.abc import Callable, Sequence
from typing import Any

from . import stats
from .experiment import FlowReference, Measurement
from .runner import RunResult, mean_mbps
from .scenario import Flow
from .schedule import REFERENCE_CC
from .stats import estimates, means, rounded, spread

Json = dict[str, Any]

# Figures that have an interval, and its key.
INTERVALS = {"harm": "harm_ci95", "beside_cubic": "beside_cubic_ci95"}
SHORT_INTERVALS = {"harm_mean": "harm_mean_ci95"}


def _intervals(flow: Json) -> dict[str, str]:
    return INTERVALS | (SHORT_INTERVALS if flow["kind"] != "bulk" else {})


def beside(measurement: Measurement, flow: Flow, cc: str, turn: int) -> Json:
    """One flow in one run."""
    report = _achieved(flow, measurement.runs[cc][turn], measurement.isolated_flows[flow.name])
    cubic = measurement.runs.get(REFERENCE_CC, []) if cc != REFERENCE_CC else []
    report["beside_cubic"] = _ratio(flow, measurement.runs[cc][turn], cubic[turn : turn + 1])
    report.update(dict.fromkeys(_intervals(report).values()))
    return report


def _achieved(flow: Flow, run: RunResult, alone: FlowReference) -> Json:
    trace = run.flows[flow.name]
    report: Json = {"name": flow.name, "kind": flow.kind, "cc": flow.cc}
    report["class"] = flow.job_class or None
    report["mbps"] = round(mean_mbps(trace.samples, run.start_ns), 3)
    report["isolated_mbps"] = round(alone.mbps, 3)
    report["retransmits"] = trace.retransmits
    if flow.kind == "bulk":
        report["harm"] = _harm(stats.harm_less, report["isolated_mbps"], report["mbps"])
        return report
    report["requests"] = len(trace.completion_ms)
    for prefix, values in (("", trace.completion_ms), ("isolated_", alone.completion_ms)):
        report.update({prefix + key: value for key, value in spread(values).items()})
    for key, time in (("harm", "p99_ms"), ("harm_mean", "mean_ms")):
        report[key] = _harm(stats.harm_more, report[f"isolated_{time}"], report[time])
    return report


def _harm(
    harm: Callable[[float, float], float | None], alone: float | None, beside: float | None
) -> float | None:
    return None if alone is None or beside is None else rounded(harm(alone, beside), 4)


def _figure(flow: Flow, run: RunResult) -> float | None:
    """What the neighbour is judged by: rate, or the completion time of its slowest requests."""
    trace = run.flows[flow.name]
    if flow.kind == "bulk":
        return mean_mbps(trace.samples, run.start_ns)
    return stats.percentile(trace.completion_ms, 99) if trace.completion_ms else None


def _ratio(flow: Flow, run: RunResult, cubic: Sequence[RunResult]) -> float | None:
    """Beside this congestion control over beside CUBIC, with the same seed."""
    ours = _figure(flow, run)
    theirs = _figure(flow, cubic[0]) if cubic else None
    return round(ours / theirs, 4) if ours is not None and theirs else None


def merge(flows: Sequence[Json]) -> Json:
    """Means over the repeats."""
    intervals = _intervals(flows[0])
    words = {"name", "kind", "cc", "class", *intervals, *intervals.values()}
    numbers = means(flows, [key for key in flows[0] if key not in words], 3)
    return {**flows[0], **numbers, **estimates(flows, intervals)}
