# SPDX-License-Identifier: GPL-2.0
"""Turns a measurement into the JSON document, the table and a sentence."""

import os
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from mlcclab import runner, stats
from mlcclab.table import align

from .experiment import Measurement
from .jobs import RATE, Job
from .session import RunResult, Trace

Json = dict[str, Any]


def iteration_ms(ranks: Sequence[Trace]) -> list[float]:
    """From the end of the last rank's iteration to the end of the last one's next."""
    return runner.step_times(list(ranks))


def losses(ranks: Sequence[Trace]) -> list[list[str]]:
    """Of each rank, to the last bit."""
    return [[record["loss"] for record in trace] for trace in ranks]


def same_losses(measurement: Measurement) -> bool:
    """Whether every run of a job, alone or not, computed the same, as far as both went."""
    runs = [run for runs in measurement.runs.values() for run in runs]
    for job in measurement.jobs:
        alone = losses(measurement.isolated[job.name].jobs[job.name])
        for run in runs:
            for one, other in zip(alone, losses(run.jobs[job.name]), strict=True):
                both = min(len(one), len(other))
                if not both or one[:both] != other[:both]:
                    return False
        together = [losses(run.jobs[job.name]) for run in runs]
        if any(run != together[0] for run in together):
            return False
    return True


def _times(ranks: Sequence[Trace]) -> Json:
    times = iteration_ms(ranks)
    settled = stats.settled(times)
    return {
        "mean_ms": round(fmean(settled), 3),
        "p99_ms": round(stats.percentile(settled, 99), 3),
        "comm_mean_ms": round(fmean(stats.settled(runner.slowest(ranks, "comm_ms"))), 3),
        "real_compute_max_ms": max(runner.slowest(ranks, "real_ms")),
        "iterations_ms": times,
    }


def _job(job: Job, ranks: Sequence[Trace], alone: Sequence[float]) -> Json:
    slowdown = round(stats.slowdown(iteration_ms(ranks), alone), 4)
    comm_ms = runner.slowest(ranks, "comm_ms")
    return {"name": job.name, **_times(ranks), "slowdown": slowdown, "comm_ms": comm_ms}


def _known(run: RunResult) -> list[Json]:
    keys = ("name", "flows", "phases", "hinted", "hits", "d_phase_bytes", "d_learnt_bytes")
    return [{key: job[key] for key in keys if key in job} for job in run.known]


def _repeat(measurement: Measurement, run: RunResult, alone: dict[str, list[float]]) -> Json:
    jobs = [_job(job, run.jobs[job.name], alone[job.name]) for job in measurement.jobs]
    return {
        "jobs": jobs,
        "slowdown_mean": round(fmean(job["slowdown"] for job in jobs), 4),
        "connections": run.in_use,
        "mlccd": _known(run),
        "hints": run.hints,
        "drops": run.counters.drops,
        "ecn_marks": run.counters.marks,
        "softnet_drops": run.softnet_drops,
        "stolen": round(run.stolen, 4),
    }


def _isolated(job: Job, run: RunResult) -> Json:
    times = _times(run.jobs[job.name])
    return {
        "name": job.name,
        "model": job.model,
        "bytes": job.bytes,
        "compute_ms": job.compute_ms,
        "ideal_comm_ms": round(job.comm_ms, 3),
        **times,
        "comm_share": round(times["comm_mean_ms"] / times["mean_ms"], 3),
        "stolen": round(run.stolen, 4),
    }


def document(measurement: Measurement) -> Json:
    """The whole report."""
    request = measurement.request
    alone = {name: iteration_ms(run.jobs[name]) for name, run in measurement.isolated.items()}
    return {
        "schema": 1,
        "set": request.jobs.name,
        "about": request.jobs.about,
        "rate_mbps": RATE / 1e6,
        "kernel": os.uname().release,
        "carrier": measurement.carrier,
        "iterations": request.iterations,
        "repeat": request.repeat,
        "same_losses": same_losses(measurement),
        "losses": {
            job.name: [float.fromhex(x) for x in losses(_first(measurement).jobs[job.name])[0]]
            for job in measurement.jobs
        },
        "isolated": [_isolated(job, measurement.isolated[job.name]) for job in measurement.jobs],
        "results": [
            {"mode": mode, "repeats": [_repeat(measurement, run, alone) for run in runs]}
            for mode, runs in measurement.runs.items()
        ],
    }


def _first(measurement: Measurement) -> RunResult:
    return next(iter(measurement.runs.values()))[0]


def merged(result: Json) -> list[Json]:
    """A mode's jobs: means over the repeats, the worst p99."""
    rows = []
    for jobs in zip(*(repeat["jobs"] for repeat in result["repeats"]), strict=True):
        keys = ("mean_ms", "slowdown", "comm_mean_ms")
        row = {key: fmean(job[key] for job in jobs) for key in keys}
        rows.append({"name": jobs[0]["name"], "p99_ms": max(job["p99_ms"] for job in jobs)} | row)
    return rows


def slowdown(result: Json) -> float:
    """Of all jobs and repeats."""
    return fmean(repeat["slowdown_mean"] for repeat in result["repeats"])


def _stolen(report: Json) -> str:
    """What a hypervisor took while each run lasted: its times are not only the network's."""
    runs = {"alone": report["isolated"]}
    runs |= {result["mode"]: result["repeats"] for result in report["results"]}
    parts = []
    for name, each in runs.items():
        parts.append(" ".join([name, *(f"{run['stolen']:.1%}" for run in each)]))
    return f"time stolen from this machine, of a processor's: {', '.join(parts)}"


def table(report: Json) -> str:
    """For eyes: times in ms."""
    rows = [["mode", "job", "mean", "p99", "comm", "slowdown", "of each repeat"]]
    for job in report["isolated"]:
        times = [f"{job[key]:.1f}" for key in ("mean_ms", "p99_ms", "comm_mean_ms")]
        rows.append(["alone", job["name"], *times, "1.000", ""])
    for result in report["results"]:
        for index, job in enumerate(merged(result)):
            times = [f"{job[key]:.1f}" for key in ("mean_ms", "p99_ms", "comm_mean_ms")]
            each = [f"{repeat['jobs'][index]['slowdown']:.3f}" for repeat in result["repeats"]]
            rows.append(
                [result["mode"], job["name"], *times, f"{job['slowdown']:.3f}", " ".join(each)]
            )
    lines = align(rows, 2)
    lines.append(
        f"losses: {'the same in every run' if report['same_losses'] else 'THEY DIFFER'}; "
        "computing is padded to a fixed time, so that jobs do not compete for this machine's "
        "processors"
    )
    lines.append(_stolen(report))
    return "\n".join(lines)


def sentence(report: Json) -> str:
    """The result in plain words, whatever it is."""
    cost = {result["mode"]: slowdown(result) - 1 for result in report["results"]}
    parts = [f"{value:.1%} under {mode}" for mode, value in cost.items()]
    return f"Sharing one link made an iteration longer by {', '.join(parts)}."
