# SPDX-License-Identifier: GPL-2.0
"""Turns a measurement into the JSON document and the table."""

import os
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from . import stats
from .experiment import Measurement, Reference
from .runner import JobTrace, RunResult, mean_mbps, utilisation
from .scenario import Flow, Job
from .shares import shares
from .units import goodput_bps

Json = dict[str, Any]

# A job alone under CUBIC takes 0 to 1 % longer than the link's rate says.
BUSY_RATIO = 1.03


def document(measurement: Measurement) -> Json:
    """The whole report; Documentation/lab.md describes every key."""
    request = measurement.request
    scenario = request.scenario
    return {
        "schema": 1,
        "scenario": scenario.name,
        "kind": scenario.kind,
        "about": scenario.about,
        "load": round(scenario.load, 4),
        "rate_mbps": scenario.link.rate / 1e6,
        "goodput_mbps": round(goodput_bps(scenario.link.rate) / 1e6, 3),
        "kernel": os.uname().release,
        "carrier": measurement.carrier,
        "seed": request.seed,
        "iterations": request.iterations,
        "repeat": request.repeat,
        "results": [_result(measurement, cc) for cc in measurement.runs],
    }


def _result(measurement: Measurement, cc: str) -> Json:
    repeats = [_one_run(measurement, cc, run) for run in measurement.runs[cc]]
    merged = _merge(measurement, cc, repeats)
    merged["shares"] = shares(measurement.request.scenario, measurement.runs[cc][0])
    if len(repeats) > 1:
        merged["repeats"] = repeats
    return merged


def _one_run(measurement: Measurement, cc: str, run: RunResult) -> Json:
    scenario = measurement.request.scenario
    jobs = [_job(measurement, cc, job, run.jobs[job.name]) for job in scenario.jobs]
    slowdowns = [job["slowdown"] for job in jobs]
    return {
        "cc": cc,
        "jobs": jobs,
        "flows": [_flow(measurement, flow, run) for flow in scenario.flows],
        "slowdown_mean": round(fmean(slowdowns), 4),
        "jain": round(stats.jain(slowdowns), 4),
        "link": {
            "utilisation": round(utilisation(run, scenario.link), 4),
            "drops": run.counters.drops,
            "ecn_marks": run.counters.marks,
            "softnet_drops": run.softnet_drops,
            "seconds": round(run.seconds, 3),
        },
    }


def _references(job: Job, reference: Reference, count: int) -> list[float]:
    """The isolated time that each iteration is held against."""
    if not job.switch or reference.after_ms is None:
        return [reference.before_ms] * count
    before = min(job.switch.at, count)
    return [reference.before_ms] * before + [reference.after_ms] * (count - before)


def _drawn(job: Job, trace: JobTrace, references: Sequence[float]) -> list[float]:
    """The same with each iteration's own compute time instead of the mean one.

    Convergence is about the network: with 10 % compute noise hardly ten
    iterations in a row would be within 5 % even on an empty link.
    """
    if job.pattern != "pair":
        return list(references)
    after = job.after_switch()
    drawn = []
    for index, (reference, compute) in enumerate(zip(references, trace.compute_ms, strict=True)):
        now = after if after and job.switch and index >= job.switch.at else job
        drawn.append(reference + compute - now.compute_ms)
    return drawn


def _job(measurement: Measurement, cc: str, job: Job, trace: JobTrace) -> Json:
    times = trace.iteration_ms
    reference = measurement.isolated[job.name]
    references = _references(job, reference, len(times))
    drawn = _drawn(job, trace, references)
    own = measurement.isolated_cc.get((cc, job.name))
    report: Json = {
        "name": job.name,
        "ideal_ms": round(job.period_ms(measurement.request.scenario.link.rate), 3),
        "isolated_ms": round(reference.before_ms, 3),
        "isolated_cc_ms": round(own.before_ms, 3) if own else None,
        **_spread(stats.settled(times)),
        "slowdown": round(stats.slowdown(times, references), 4),
        "converged_at": stats.converged_at(times, drawn),
        "retransmits": trace.retransmits,
        "flow_spread_ms": round(fmean(stats.settled(trace.spread_ms)), 3),
        "iterations_ms": times,
        "comm_ms": trace.comm_ms,
    }
    if any(trace.delay_ms):
        report["delays_ms"] = trace.delay_ms
    if job.switch:
        at = job.switch.at
        report["isolated_after_ms"] = round(reference.after_ms or 0.0, 3)
        report["switch_at"] = at
        report["reconverged_at"] = stats.converged_at(times, drawn, at)
    return report


def _spread(values: Sequence[float]) -> Json:
    return {
        "mean_ms": round(fmean(values), 3),
        "p50_ms": round(stats.percentile(values, 50), 3),
        "p99_ms": round(stats.percentile(values, 99), 3),
    }


def _flow(measurement: Measurement, flow: Flow, run: RunResult) -> Json:
    trace = run.flows[flow.name]
    alone = measurement.isolated_flows[flow.name]
    report: Json = {"name": flow.name, "kind": flow.kind, "cc": flow.cc}
    report["mbps"] = round(mean_mbps(trace.samples, run.start_ns), 3)
    report["isolated_mbps"] = round(alone.mbps, 3)
    report["retransmits"] = trace.retransmits
    if flow.kind == "short":
        report["requests"] = len(trace.completion_ms)
        for prefix, values in (("", trace.completion_ms), ("isolated_", alone.completion_ms)):
            figures = _spread(values) if values else dict.fromkeys(("mean_ms", "p50_ms", "p99_ms"))
            report.update({prefix + key: value for key, value in figures.items()})
    return report


def _mean_of(items: Sequence[Json], keys: Sequence[str], digits: int) -> Json:
    merged: Json = {}
    for key in keys:
        values = [item[key] for item in items if item[key] is not None]
        merged[key] = round(fmean(values), digits) if values else None
    return merged


def _merge(measurement: Measurement, cc: str, repeats: list[Json]) -> Json:
    """Means over the repeats; percentiles over all iterations together."""
    if len(repeats) == 1:
        return repeats[0]
    count = len(repeats[0]["jobs"])
    flows = len(repeats[0]["flows"])
    jobs = [_merge_job([repeat["jobs"][i] for repeat in repeats]) for i in range(count)]
    slowdowns = [job["slowdown"] for job in jobs]
    return {
        "cc": cc,
        "jobs": jobs,
        "flows": [_merge_flow([repeat["flows"][i] for repeat in repeats]) for i in range(flows)],
        "slowdown_mean": round(fmean(slowdowns), 4),
        "jain": round(stats.jain(slowdowns), 4),
        "link": _mean_of([repeat["link"] for repeat in repeats], list(repeats[0]["link"]), 4),
    }


def _merge_job(jobs: list[Json]) -> Json:
    settled = [value for job in jobs for value in stats.settled(job["iterations_ms"])]
    merged = dict(jobs[0])
    merged.update(_spread(settled))
    merged.update(_mean_of(jobs, ["slowdown"], 4))
    merged.update(_mean_of(jobs, ["flow_spread_ms", "retransmits"], 3))
    for key in ("converged_at", "reconverged_at"):
        if key in merged:
            merged[key] = stats.merge_converged([job[key] for job in jobs])
    for key in ("iterations_ms", "comm_ms"):
        steps = zip(*(job[key] for job in jobs), strict=True)
        merged[key] = [round(fmean(step), 3) for step in steps]
    return merged


def _merge_flow(flows: list[Json]) -> Json:
    numbers = [key for key, value in flows[0].items() if isinstance(value, int | float)]
    return {**flows[0], **_mean_of(flows, numbers, 3)}


Column = tuple[str, Callable[[Json, Json], str]]

COLUMNS: list[Column] = [
    ("cc", lambda result, job: result["cc"]),
    ("job", lambda result, job: job["name"]),
    ("isolated", lambda result, job: _ms(job["isolated_ms"])),
    ("own cc", lambda result, job: _ms(job["isolated_cc_ms"])),
    ("mean", lambda result, job: _ms(job["mean_ms"])),
    ("p99", lambda result, job: _ms(job["p99_ms"])),
    ("slowdown", lambda result, job: f"{job['slowdown']:.3f}"),
    ("converged", lambda result, job: _or_dash(job["converged_at"])),
    ("retrans", lambda result, job: f"{job['retransmits']:.0f}"),
]


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def align(rows: list[list[str]], left: int) -> list[str]:
    """Lines with aligned columns, the first ones to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def table(report: Json) -> str:
    """The report for eyes: times in ms, a line per cc and job, then the sums."""
    rows = [[name for name, _ in COLUMNS]]
    for result in report["results"]:
        rows += [[cell(result, job) for _, cell in COLUMNS] for job in result["jobs"]]
    lines = align(rows, 2)
    for result in report["results"]:
        link = result["link"]
        lines.append(
            f"{result['cc']}: slowdown {result['slowdown_mean']:.3f}, jain {result['jain']:.3f}, "
            f"link {link['utilisation']:.0%}, {link['drops']:.0f} drops, "
            f"{link['ecn_marks']:.0f} marks"
        )
        lines += [_flow_line(result, flow) for flow in result["flows"]]
    return "\n".join(lines + warnings(report))


def warnings(report: Json) -> list[str]:
    """Why these figures may say more about this machine than about the network."""
    lines = []
    if any(result["link"]["softnet_drops"] for result in report["results"]):
        lines.append("warning: the machine itself dropped packets (softnet); it is too busy")
    jobs = [job for result in report["results"] for job in result["jobs"]]
    late = max(job["isolated_ms"] / job["ideal_ms"] for job in jobs)
    if late > BUSY_RATIO:
        lines.append(
            f"warning: alone on the link a job took {late:.2f} times what the link allows; "
            "unless the scenario explains it (loss, delay, a slow path), the machine is too busy"
        )
    return lines


def _flow_line(result: Json, flow: Json) -> str:
    head = f"{result['cc']}: {flow['kind']} flow {flow['name']}"
    if flow["kind"] == "bulk":
        return f"{head}: {flow['mbps']:.0f} Mb/s (alone {flow['isolated_mbps']:.0f})"
    alone = f"alone {_ms(flow['isolated_p50_ms'])}/{_ms(flow['isolated_p99_ms'])}"
    return f"{head}: p50/p99 {_ms(flow['p50_ms'])}/{_ms(flow['p99_ms'])} ms ({alone})"
