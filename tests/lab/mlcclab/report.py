# SPDX-License-Identifier: GPL-2.0
"""Turns a measurement into the JSON document."""

import os
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from . import neighbours, stats
from .experiment import Measurement
from .runner import SAMPLE_MS, JobTrace, RunResult, Samples, utilisation
from .scenario import Job, Scenario
from .schedule import REFERENCE_CC
from .stats import estimates, means, rounded, spread, tail

Json = dict[str, Any]

# Who had how much of the link: over all of a short run, over the last seconds of a longer one.
PERIODS_SHOWN = 8
MIN_SHOWN_MS = 1500
MAX_SHOWN_MS = 4000
WHOLE_MS = 15_000

# Figures that have an interval, and its key: of a congestion control, and of a job.
SHARED_INTERVALS = {
    "retransmits_per_mb": "retransmits_per_mb_ci95",
    "comm_over_cubic": "comm_over_cubic_ci95",
    "comm_p50_over_cubic": "comm_p50_over_cubic_ci95",
}
INTERVALS = {"slowdown_mean": "slowdown_ci95"} | SHARED_INTERVALS
JOB_INTERVALS = {"slowdown": "slowdown_ci95"} | SHARED_INTERVALS


# Of communication times, and of what each is a ratio.
OVER_CUBIC = {"comm_over_cubic": "comm_mean_ms", "comm_p50_over_cubic": "comm_p50_ms"}
COMM = ("comm_mean_ms", "comm_p50_ms", *OVER_CUBIC)


def document(measurement: Measurement) -> Json:
    """The whole report; Documentation/lab.md describes its keys."""
    request = measurement.request
    scenario, link = request.scenario, request.scenario.link
    return {
        "schema": 1,
        "scenario": scenario.name,
        "kind": scenario.kind,
        "about": scenario.about,
        "load": rounded(scenario.load, 4),
        "rate_mbps": link.rate / 1e6 if link.shaped else None,
        "goodput_mbps": round(link.goodput_bps / 1e6, 3) if link.shaped else None,
        "mtu": link.mtu,
        "offloads": link.offloads,
        "coalesce_us": round(link.coalesce * 1e6, 3),
        "kernel": os.uname().release,
        "carrier": measurement.carrier,
        "seed": request.seed,
        "iterations": request.iterations,
        "repeat": request.repeat,
        "results": [_result(measurement, cc) for cc in measurement.runs],
    }


def _result(measurement: Measurement, cc: str) -> Json:
    turns = range(len(measurement.runs[cc]))
    repeats = [_one_run(measurement, cc, turn) for turn in turns]
    merged = _merge(measurement, cc, repeats) if len(repeats) > 1 else dict(repeats[0])
    shown = _median(repeats)
    merged["shares"] = _shares(measurement.request.scenario, measurement.runs[cc][shown])
    if len(repeats) > 1:
        merged["shown"] = shown
        seed = measurement.request.seed
        merged["repeats"] = [{"seed": seed + turn, **repeats[turn]} for turn in turns]
    return merged


def _median(repeats: Sequence[Json]) -> int:
    """Which repeat is neither the best nor the worst: the one that is drawn."""
    order = sorted(range(len(repeats)), key=lambda turn: repeats[turn]["slowdown_mean"])
    return order[len(order) // 2]


def _one_run(measurement: Measurement, cc: str, turn: int) -> Json:
    scenario, run = measurement.request.scenario, measurement.runs[cc][turn]
    jobs = [
        _job(measurement, cc, job, run.jobs[job.name]) | _over_cubic(measurement, cc, job, turn)
        for job in scenario.jobs
    ]
    slowdowns = [job["slowdown"] for job in jobs]
    return {
        "cc": cc,
        "jobs": jobs,
        "flows": [neighbours.beside(measurement, flow, cc, turn) for flow in scenario.flows],
        "slowdown_mean": round(fmean(slowdowns), 4),
        **_late(measurement, [run]),
        "retransmits_per_mb": _per_mb(list(run.jobs.values())),
        **means(jobs, COMM, 4),
        **dict.fromkeys(INTERVALS.values()),
        "jain": round(stats.jain(slowdowns), 4),
        "link": {
            "utilisation": rounded(utilisation(run, scenario.link), 4),
            "drops": run.counters.drops,
            "ecn_marks": run.counters.marks,
            "softnet_drops": run.softnet_drops,
            "seconds": round(run.seconds, 3),
        },
    }


def _comm(trace: JobTrace) -> Json:
    """How long a phase takes: what a link that no one shapes can only be judged by."""
    settled = stats.settled(trace.comm_ms)
    return {
        "comm_mean_ms": round(fmean(settled), 3),
        "comm_p50_ms": round(stats.percentile(settled, 50), 3),
    }


def _over_cubic(measurement: Measurement, cc: str, job: Job, turn: int) -> Json:
    """The same over that under CUBIC with the same seed: the two took turns."""
    cubic = measurement.runs.get(REFERENCE_CC, []) if cc != REFERENCE_CC else []
    if not cubic:
        return dict.fromkeys(OVER_CUBIC)
    ours, theirs = (_comm(run.jobs[job.name]) for run in (measurement.runs[cc][turn], cubic[turn]))
    return {
        over: round(ours[key] / theirs[key], 4) if theirs[key] else None
        for over, key in OVER_CUBIC.items()
    }


def _per_mb(jobs: Sequence[JobTrace]) -> float | None:
    retransmits = sum(job.retransmits for job in jobs)
    return rounded(stats.per_megabyte(retransmits, sum(job.sent_bytes for job in jobs)), 4)


def _ratios(measurement: Measurement, job: Job, runs: Sequence[RunResult]) -> list[float]:
    """Every settled iteration of some runs, over its isolated time."""
    alone = measurement.isolated[job.name]
    return [took / alone for run in runs for took in stats.settled(run.jobs[job.name].iteration_ms)]


def _late(measurement: Measurement, runs: Sequence[RunResult]) -> Json:
    """The late iterations of all jobs together."""
    jobs = measurement.request.scenario.jobs
    return tail([ratio for job in jobs for ratio in _ratios(measurement, job, runs)])


def _drawn(job: Job, trace: JobTrace, isolated: float) -> list[float]:
    """The isolated time of each iteration with its own compute time instead of the mean one.

    Convergence is about the network: with 10 % compute noise hardly ten
    iterations in a row would be within 5 % even on an empty link.
    """
    if job.pattern != "pair":
        return [isolated] * len(trace.iteration_ms)
    return [isolated + compute - job.compute_ms for compute in trace.compute_ms]


def _job(measurement: Measurement, cc: str, job: Job, trace: JobTrace) -> Json:
    times = trace.iteration_ms
    isolated = measurement.isolated[job.name]
    settled = stats.settled(times)
    own = measurement.isolated_cc.get((cc, job.name))
    link = measurement.request.scenario.link
    return {
        "name": job.name,
        "connections": job.connections,
        "ideal_ms": round(job.period_ms(link.rate, link.mtu), 3) if link.shaped else None,
        "isolated_ms": round(isolated, 3),
        "isolated_cc_ms": round(own, 3) if own else None,
        **spread(settled),
        "slowdown": round(fmean(settled) / isolated, 4),
        **tail([took / isolated for took in settled]),
        "converged_at": stats.converged_at(times, _drawn(job, trace, isolated)),
        "retransmits": trace.retransmits,
        "sent_mb": round(trace.sent_bytes / 1e6, 3),
        "retransmits_per_mb": _per_mb([trace]),
        **dict.fromkeys(JOB_INTERVALS.values()),
        **_comm(trace),
        "iterations_ms": times,
        "comm_ms": trace.comm_ms,
    }


def _merge(measurement: Measurement, cc: str, repeats: Sequence[Json]) -> Json:
    """Means over the repeats; percentiles over all iterations together."""
    scenario, runs = measurement.request.scenario, measurement.runs[cc]
    jobs = []
    for index, job in enumerate(scenario.jobs):
        merged = _merge_job([repeat["jobs"][index] for repeat in repeats])
        jobs.append(merged | tail(_ratios(measurement, job, runs)))
    flows = [
        neighbours.merge([repeat["flows"][index] for repeat in repeats])
        for index in range(len(scenario.flows))
    ]
    return {
        "cc": cc,
        "jobs": jobs,
        "flows": flows,
        **means(jobs, ["comm_mean_ms", "comm_p50_ms"], 4),
        **estimates(repeats, INTERVALS),
        **_late(measurement, runs),
        "jain": round(stats.jain([job["slowdown"] for job in jobs]), 4),
        "link": means([repeat["link"] for repeat in repeats], repeats[0]["link"], 4),
    }


def _merge_job(jobs: Sequence[Json]) -> Json:
    settled = [value for job in jobs for value in stats.settled(job["iterations_ms"])]
    merged = dict(jobs[0])
    merged.update(spread(settled))
    merged.update(estimates(jobs, JOB_INTERVALS))
    comm = [value for job in jobs for value in stats.settled(job["comm_ms"])]
    merged["comm_p50_ms"] = round(stats.percentile(comm, 50), 3)
    merged.update(means(jobs, ["retransmits", "sent_mb", "comm_mean_ms"], 3))
    merged["converged_at"] = stats.merge_converged([job["converged_at"] for job in jobs])
    for key in ("iterations_ms", "comm_ms"):
        steps = zip(*(job[key] for job in jobs), strict=True)
        merged[key] = [round(fmean(step), 3) for step in steps]
    return merged


def _shares(scenario: Scenario, run: RunResult) -> Json:
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
