# SPDX-License-Identifier: GPL-2.0
"""The lab's scenarios, simulated, beside what real sockets and queue pairs made of them."""

import argparse
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlcclab import scenario as lab
from mlcclab.bottleneck import DCQCN_KMAX
from mlcclab.errors import UsageError
from mlcclab.interval import Estimate, estimate

from .cli import measure
from .papers import Json, table
from .report import with_half
from .scenario import Scenario, parse

MEASURED = Path(__file__).parents[1] / "measured.toml"
CCS = {"mlcc": "interleave"}  # what the simulator calls the lab's
ITERATIONS = {"tcp": 24, "verbs": 20}

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
    n, ring = job.workers, job.pattern == "ring"
    return ({"hosts": n} if ring else {}) | {
        "name": job.name,
        "workload": job.pattern,
        # of a ring's bytes each host sends 2 (n - 1) / n
        "bytes": round(job.phase_bytes * n / (2 * (n - 1)) if ring else job.phase_bytes),
        "compute": f"{job.compute_ms:.6f}ms",
        "noise": job.noise,
    }


def simulated(found: lab.Scenario) -> Scenario:
    """The same link and jobs."""
    jobs = {"job": [_job(job) for job in found.jobs], "iterations": ITERATIONS[found.transport]}
    return parse(found.name, _network(found) | jobs)


def slowdowns(
    scenario: Scenario, ccs: Sequence[str], seeds: Sequence[int]
) -> dict[str, list[float]]:
    """By congestion control and seed, means over jobs."""
    asked = argparse.Namespace(cc=ccs, seeds=seeds, iterations=None, load=None)
    return {found["cc"]: found["slowdowns"] for found in measure(scenario, asked)["results"]}


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
