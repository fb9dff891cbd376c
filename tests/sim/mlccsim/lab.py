# SPDX-License-Identifier: GPL-2.0
"""The lab's scenarios, simulated, beside what real sockets and queue pairs made of them."""

import argparse
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean

from mlcclab import scenario as lab
from mlcclab.bottleneck import DCQCN_KMAX
from mlcclab.errors import UsageError
from mlcclab.interval import Estimate, estimate
from mlcclab.stats import settled

from .engine import Run, simulate_all
from .papers import Json, table
from .report import with_half
from .scenario import Scenario, parse

MEASURED = Path(__file__).parents[1] / "measured.toml"
CCS = {"mlcc": "interleave"}  # what the simulator calls the lab's
ITERATIONS = {"tcp": 24, "verbs": 20}
ALONE = 10  # iterations of a job alone

# What the lab is made of and its scenarios do not say.  Round trips of 60 us, as over its veth
# links; over verbs soft-RoCE's packets of 1 KB with 58 bytes of headers, at most 128 in flight, and
# a bottleneck that drops nothing, with marks as bottleneck.py sets them.
HOSTS = "10gbit"
DELAY = "10us"
QUEUES = {"droptail": "droptail", "red-ecn": "ecn"}
VERBS = {"variant": "rxe", "payload": 1024, "header": 58, "window": 128 * 1024, "rto": "1s"}
PMAX = 0.1


def _rate(bps: float) -> str:
    return f"{bps:.0f}bit"


def _network(found: lab.Scenario) -> Json:
    link = found.link
    topology = {"kind": "dumbbell", "bottleneck": _rate(link.rate), "delay": DELAY}
    if found.transport == "tcp":
        tcp = {"queue": QUEUES[link.queue], "limit": link.limit, "mark": link.ecn_threshold}
        return {"transport": "tcp", "topology": topology | {"rate": HOSTS}, "tcp": tcp}
    marks = {"kmin": link.ecn_threshold, "kmax": DCQCN_KMAX * link.ecn_threshold, "pmax": PMAX}
    return {
        # nobody starts faster than the bottleneck there, either
        "topology": topology | {"rate": _rate(link.rate)},
        "switch": {"pfc": False, **marks},
        "rdma": VERBS,
    }


def _job(job: lab.Job) -> Json:
    return {
        "name": job.name,
        "workload": job.pattern,
        "hosts": job.workers,
        # of a ring's bytes each host sends 2 (n - 1) / n
        "bytes": round(
            job.phase_bytes * job.workers / (2 * (job.workers - 1))
            if job.pattern == "ring"
            else job.phase_bytes
        ),
        "compute": f"{job.compute_ms:.6f}ms",
        "noise": job.noise,
    }


def simulated(found: lab.Scenario) -> Scenario:
    """The same link and jobs."""
    jobs = {"job": [_job(job) for job in found.jobs], "iterations": ITERATIONS[found.transport]}
    return parse(found.name, _network(found) | jobs)


def _shapes(scenario: Scenario) -> list[int]:
    """For each job the first one like it."""
    shapes = [(job.steps, job.values["workload"], job.values["hosts"]) for job in scenario.jobs]
    return [shapes.index(shape) for shape in shapes]


def slowdowns(
    scenario: Scenario, ccs: Sequence[str], seeds: Sequence[int]
) -> dict[str, list[float]]:
    """By congestion control and seed, as the lab counts: over a job like it, alone, once."""
    shapes = _shapes(scenario)
    alone = [Run(scenario.ccs[0], seeds[0], only) for only in sorted(set(shapes))]
    runs = [Run(cc, seed) for seed, cc in product(seeds, ccs)]
    short = simulate_all(scenario.with_iterations(ALONE), alone)
    results = simulate_all(scenario, runs)
    isolated = {run.only: _mean(short[run]["jobs"][0]) for run in alone}

    def slowdown(run: Run) -> float:
        jobs = zip(results[run]["jobs"], shapes, strict=True)
        return fmean(_mean(job) / isolated[shape] for job, shape in jobs)

    return {cc: [slowdown(Run(cc, seed)) for seed in seeds] for cc in ccs}


def _mean(job: Json) -> float:
    return fmean(settled(job["iterations_s"]))


@dataclass(frozen=True)
class Measured:
    """The lab's figures of a scenario, by congestion control; scale: as its --scale."""

    scale: float
    figures: dict[str, Estimate]


def measured() -> dict[str, Measured]:
    """By scenario."""
    runs = tomllib.loads(MEASURED.read_text(encoding="utf-8"))["run"]
    return {
        name: Measured(
            run.get("scale", 1.0), {cc: Estimate(*figures) for cc, figures in ccs.items()}
        )
        for run in runs
        for name, ccs in run.items()
        if isinstance(ccs, dict)
    }


def _rows(known: dict[str, Measured], seeds: Sequence[int]) -> Iterable[Sequence[str]]:
    for name, run in known.items():
        figures = run.figures
        scenario = simulated(lab.load(lab.find(name)).scaled(run.scale))
        ccs = [CCS.get(cc, cc) for cc in figures]
        found = slowdowns(scenario, ccs, seeds)
        for theirs, cc in zip(figures, ccs, strict=True):
            ours = estimate(found[cc])
            yield (
                f"`{name}`" + (f", {run.scale:g}" if run.scale != 1 else ""),
                theirs,
                with_half(vars(figures[theirs])),
                with_half(vars(ours)),
                f"{100 * (ours.mean / figures[theirs].mean - 1):+.1f} %",
            )


def compare(options: argparse.Namespace) -> None:
    """Slowdowns, that is mean iteration times in those of a job alone."""
    known = measured()
    if options.only:
        if options.only not in known:
            raise UsageError(f"--only: {options.only} is none of {', '.join(known)}")
        known = {options.only: known[options.only]}
    head = ["scenario", "congestion control", "lab", "simulated", "differs by"]
    table(head, _rows(known, options.seeds))
