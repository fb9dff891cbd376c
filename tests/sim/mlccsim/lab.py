# SPDX-License-Identifier: GPL-2.0
"""The lab's scenarios, simulated, beside what real sockets and queue pairs made of them."""

import argparse
from collections.abc import Iterable, Sequence

from mlcclab import scenario as lab
from mlcclab.bottleneck import DCQCN_KMAX
from mlcclab.errors import UsageError
from mlcclab.interval import estimate

from .cli import measure
from .papers import Json, table
from .report import with_half
from .scenario import Scenario, parse

# What mlcc-lab measured with sockets and queue pairs of Linux: mean slowdowns and the halves of
# their 95 % intervals, by scenario and what scaled it, as --scale does.  Of commit bf72bc689370, by
# tests/bench/results fit and misfits, and the last one by
#   mlcc-lab run verbs-two --cc dcqcn,mlcc --quick --vm 7.2 --iterations 20 --seeds 1-5
# two-way is of 9cf152c: at 1 Gb/s both ways packets wait for the lab's CPU, not for the link.
MEASURED = {
    ("three-equal-98", 1): {"cubic": (1.204, 0.073), "mlcc": (1.007, 0.003)},
    ("six-equal", 1): {"cubic": (1.142, 0.064), "mlcc": (1.016, 0.005)},
    ("unequal", 1): {"cubic": (1.108, 0.061), "mlcc": (1.033, 0.026)},
    ("ecn", 1): {"cubic": (1.211, 0.044), "mlcc": (1.009, 0.008)},
    ("incompatible", 1): {"cubic": (1.407, 0.042), "mlcc": (1.294, 0.002)},
    ("two-way", 0.25): {"cubic": (1.268, 0.080), "mlcc": (1.011, 0.018)},
    ("verbs-two", 1): {"dcqcn": (1.388, 0.213), "mlcc": (1.045, 0.031)},
}
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


def _rows(wanted: str | None, seeds: Sequence[int]) -> Iterable[Sequence[str]]:
    for (name, scale), figures in MEASURED.items():
        if wanted not in (None, name):
            continue
        scenario = simulated(lab.load(lab.find(name)).scaled(scale))
        found = slowdowns(scenario, [CCS.get(cc, cc) for cc in figures], seeds)
        for (cc, (mean, half)), values in zip(figures.items(), found.values(), strict=True):
            ours = estimate(values)
            yield (
                f"`{name}`" + (f", {scale:g}" if scale != 1 else ""),
                cc,
                f"{mean:.3f} ± {half:.3f}",
                with_half(vars(ours)),
                f"{100 * (ours.mean / mean - 1):+.1f} %",
            )


def compare(options: argparse.Namespace) -> None:
    """Slowdowns, that is mean iteration times in those of a job alone."""
    names = [name for name, _ in MEASURED]
    if options.only not in (None, *names):
        raise UsageError(f"--only: {options.only} is none of {', '.join(names)}")
    head = ["scenario", "congestion control", "lab", "simulated", "differs by"]
    table(head, _rows(options.only, options.seeds))
