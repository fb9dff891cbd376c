# SPDX-License-Identifier: GPL-2.0
"""Clusters: which jobs are there, and where, is drawn with the seed; slowdowns over all jobs."""

import heapq
import random
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from mlcclab.errors import UsageError
from mlcclab.interval import estimate
from mlcclab.schema import (
    Field,
    array,
    duration,
    integer,
    load_toml,
    number,
    read_table,
    size,
    word,
)
from mlcclab.stats import settled
from mlcclab.table import align

from . import scenario as scenarios
from .engine import Run
from .report import Json, Results, against, compared, means, with_half
from .scenario import RATE, Job, Scenario, Step, Table

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"

# Nobody is done before the time is up.
FOR_EVER = 100000
FIGURES = ("slowdown", "over_alone")  # of a job

# Iterations of a job alone: its own flows that meet need some until they have slid apart.
ALONE = 24


def _ascending(value: Any) -> list[int]:
    good = isinstance(value, list) and value and all(type(n) is int and n > 0 for n in value)
    if not good or any(b <= a for a, b in pairwise(value)):
        raise ValueError(f"{value!r} is not a list of whole numbers that rise")
    return list(value)


CLUSTER = {
    "load": Field(number(0.01, 2)),
    "arrivals": Field(integer(1, 100000)),
    "iterations": Field(_ascending),
    "server": Field(integer(1, 64)),
    "rate": Field(RATE),
    "scale": Field(number(1, 1e6), 1.0),
}

KIND = {
    "name": Field(word),
    "weight": Field(number(1e-3, 1e6)),
    "gpus": Field(_ascending),
    "stages": Field(integer(1, 64), 1),
    "rings": Field(integer(1, 64), 1),
    "bytes": Field(size(1, 2**50)),
    "compute": Field(duration(1000)),
}


@dataclass(frozen=True)
class Cluster:
    """A scenario without jobs, and what they are drawn from; times are those of "rate"."""

    frame: Scenario
    values: Table
    kinds: tuple[Table, ...]

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def about(self) -> str:
        return self.frame.about


@dataclass(frozen=True)
class Drawn:
    """A job: how often it iterates, and how long that takes where nobody else is, in seconds."""

    kind: Table
    gpus: int
    iterations: int
    ideal_s: float

    @property
    def duration_s(self) -> float:
        return self.iterations * self.ideal_s


@dataclass(frozen=True)
class Placed:
    """The same on its servers; rings: numbers of what the scenario has of it, as jobs."""

    drawn: Drawn
    racks: int
    rings: tuple[int, ...]


@dataclass(frozen=True)
class Snapshot:
    """A seed's jobs, and those rings of them that cross racks as a scenario."""

    jobs: tuple[Placed, ...]
    scenario: Scenario
    alone: Scenario  # for runs of one of them


def shipped(name: str) -> Path:
    """The file of one of ours."""
    path = SCENARIOS / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in SCENARIOS.glob("*.toml")))
        raise UsageError(f"no scenario {name!r}: there are {known}, or give a file ending in .toml")
    return path


def _whole(table: Table) -> Table:
    """With what it does not say itself from the one that it is "like"."""
    return load_toml(shipped(table.pop("like")), _whole) | table if "like" in table else table


def load(path: Path) -> Scenario | Cluster:
    """A scenario, or a cluster where the file has a table of that name."""

    def read(table: Table) -> Scenario | Cluster:
        whole = _whole(table)
        return (parse if "cluster" in whole else scenarios.parse)(path.stem, whole)

    return load_toml(path, read)


def parse(name: str, table: Table) -> Cluster:
    """A cluster that is right, or UsageError with one line."""
    top = scenarios.read_top(table, cluster=Field(lambda value: value))
    values = read_table("cluster", top.pop("cluster"), CLUSTER)
    frame = scenarios.frame(name, top)
    if frame.topology["kind"] != "leaf-spine" or frame.transport != "rdma":
        raise UsageError("topology.kind: a cluster's is leaf-spine, with RDMA")
    if frame.topology["hosts"] % values["server"]:
        raise UsageError("cluster.server: does not divide topology.hosts")
    kinds = tuple(_kind(*entry, values) for entry in array("job", top["job"], 1, 100))
    there = scenarios.racks(frame)[0]
    for kind in kinds:
        if kind["gpus"][-1] > there:
            raise UsageError(f"job.gpus: {kind['gpus'][-1]}, and this topology has {there}")
    return Cluster(frame, values, kinds)


def _kind(where: str, table: Any, values: Table) -> Table:
    kind = read_table(where, table, KIND)
    if kind["rings"] not in (1, values["server"]):
        raise UsageError(f"{where}.rings: 1, or one for each of a server's {values['server']}")
    for gpus in kind["gpus"]:
        if gpus % (values["server"] * kind["stages"]):
            raise UsageError(f"{where}.gpus: {gpus} are not whole servers for each stage")
    return kind


def _members(kind: Table, gpus: int) -> int:
    """Of a ring: GPUs; or servers, where each GPU of a server is in a ring of its own."""
    return gpus // kind["stages"] // kind["rings"]


def _drawn(cluster: Cluster, kind: Table, gpus: int, iterations: int) -> Drawn:
    m = _members(kind, gpus)
    sends_s = 2 * (m - 1) / m * kind["bytes"] * 8 / cluster.values["rate"]
    return Drawn(kind, gpus, iterations, kind["compute"] + sends_s)


def _gap_s(cluster: Cluster) -> float:
    """Between two arrivals, so that jobs want "load" of all GPUs."""
    weights = sum(kind["weight"] for kind in cluster.kinds)
    mean = fmean(cluster.values["iterations"])
    wanted = sum(
        kind["weight"]
        / weights
        * fmean(gpus * _drawn(cluster, kind, gpus, 1).ideal_s * mean for gpus in kind["gpus"])
        for kind in cluster.kinds
    )
    return wanted / cluster.values["load"] / scenarios.racks(cluster.frame)[0]


class _Racks:
    """Free servers: a job takes the fullest rack that it fits into; else the emptiest in turn."""

    def __init__(self, racks: int, servers: int) -> None:
        self.servers = servers
        self.free = [set(range(rack * servers, (rack + 1) * servers)) for rack in range(racks)]

    def take(self, wanted: int) -> list[int] | None:
        if wanted > sum(map(len, self.free)):
            return None
        fitting = [rack for rack in self.free if len(rack) >= wanted]
        if fitting:
            return self._of(min(fitting, key=len), wanted)
        found: list[int] = []
        while len(found) < wanted:
            found += self._of(max(self.free, key=len), wanted - len(found))
        return found

    @staticmethod
    def _of(rack: set[int], wanted: int) -> list[int]:
        taken = sorted(rack)[:wanted]
        rack.difference_update(taken)
        return taken

    def give(self, servers: Sequence[int]) -> None:
        for server in servers:
            self.free[server // self.servers].add(server)


def running(cluster: Cluster, seed: int) -> list[tuple[Drawn, list[int]]]:
    """Who is there and where, just before one more comes; who came first begins first."""
    rng, values, kinds = random.Random(seed), cluster.values, cluster.kinds
    hosts, rack = scenarios.racks(cluster.frame)
    racks = _Racks(hosts // rack, rack // values["server"])
    gap_s, now, order = _gap_s(cluster), 0.0, count()
    waiting: deque[Drawn] = deque()
    ends: list[tuple[float, int, Drawn, list[int]]] = []

    def begin(when: float) -> None:
        while waiting and (servers := racks.take(waiting[0].gpus // values["server"])):
            job = waiting.popleft()
            heapq.heappush(ends, (when + job.duration_s, next(order), job, servers))

    for left in reversed(range(values["arrivals"] + 1)):
        now += rng.expovariate(1 / gap_s)
        while ends and ends[0][0] <= now:
            when, _, _, servers = heapq.heappop(ends)
            racks.give(servers)
            begin(when)
        if not left:
            break
        kind = rng.choices(kinds, [kind["weight"] for kind in kinds])[0]
        iterations = rng.randint(values["iterations"][0], values["iterations"][-1])
        waiting.append(_drawn(cluster, kind, rng.choice(kind["gpus"]), iterations))
        begin(now)
    return [(job, servers) for _, _, job, servers in sorted(ends, key=lambda end: end[1])]


def snapshot(cluster: Cluster, seed: int) -> Snapshot:
    """A job that is in one rack shares no link with another one: it is not simulated."""
    rng = random.Random(f"{seed} starts")
    rack = scenarios.racks(cluster.frame)[1] // cluster.values["server"]
    jobs: list[Job] = []
    hosts, found = [], []
    for name, (drawn, servers) in enumerate(running(cluster, seed), 1):
        start_s = rng.random() * drawn.ideal_s
        first = len(jobs)
        for stage, members in enumerate(_stages(drawn, servers), 1):
            if _spread(members, rack) > 1:
                jobs.append(_ring(cluster, drawn, len(members), f"{name}.{stage}", start_s))
                hosts.append(_nics(cluster, drawn, members))
        rings = tuple(range(first, len(jobs)))
        found.append(Placed(drawn, _spread(servers, rack), rings))
    if not jobs:
        raise UsageError(f"cluster: of seed {seed} no job crosses racks")
    scenario = replace(
        cluster.frame,
        jobs=tuple(jobs),
        placed=tuple(hosts),
        iterations=FOR_EVER,
        stop_s=cluster.frame.stop_s / cluster.values["scale"],
    )
    return Snapshot(tuple(found), scenario, scenario.with_iterations(ALONE))


def _stages(drawn: Drawn, servers: Sequence[int]) -> list[Sequence[int]]:
    """In turn, each of as many servers."""
    share = len(servers) // drawn.kind["stages"]
    return [servers[first : first + share] for first in range(0, len(servers), share)]


def _spread(servers: Sequence[int], rack: int) -> int:
    return len({server // rack for server in servers})


def _nics(cluster: Cluster, drawn: Drawn, servers: Sequence[int]) -> tuple[int, ...]:
    """One of each server, or as many as there are rings."""
    server, rings = cluster.values["server"], drawn.kind["rings"]
    return tuple(first * server + nic for first in servers for nic in range(rings))


def _ring(cluster: Cluster, drawn: Drawn, n: int, suffix: str, start_s: float) -> Job:
    """Within a server nothing takes time, so a ring through all GPUs is one of n servers."""
    kind, scale, m = drawn.kind, cluster.values["scale"], _members(drawn.kind, drawn.gpus)
    # mlcc-sim's ring has each of its n members send 2 (n - 1) / n of these
    nbytes = kind["bytes"] * (m - 1) / m * n / (n - 1)
    there = scenarios.goodput_bps(cluster.frame) / cluster.values["rate"] / scale
    ring = {"name": kind["name"], "workload": "ring", "hosts": n, "bytes": 1}
    values = scenarios.read_job("job", ring, "rdma")
    steps = (Step(kind["compute"] / scale, nbytes * there * kind["rings"]),)
    return Job(
        f"{kind['name']}-{suffix}", values | {"rails": kind["rings"]}, steps, start_s / scale
    )


def build(
    cluster: Cluster,
    base: str,
    ccs: Sequence[str],
    shots: dict[int, Snapshot],
    results: Results,
) -> Json:
    """The report as JSON.

    A job's slowdown is its mean iteration over the ideal one, which shares no link with anybody,
    not even with the job's other flows; over_alone: over that of the job alone in the network, on
    the same paths. What takes long is more often there: so jobs count by one over their duration,
    as they would where each is counted once, when it is done.
    """
    found = [_of_cc(cluster, base, cc, shots, results) for cc in ccs]
    for result in found[1:]:
        result["against_first"] = against(
            result["slowdown"]["by_seed"], found[0]["slowdown"]["by_seed"]
        )
    return {"scenario": cluster.name, "base": base, "seeds": list(shots), "results": found}


def _of_cc(
    cluster: Cluster, base: str, cc: str, shots: dict[int, Snapshot], results: Results
) -> Json:
    jobs = [
        _of_job(cluster, job, seed, results[Run(cc, seed)], _alone(job, base, seed, results))
        for seed, shot in shots.items()
        for job in shot.jobs
    ]
    runs = [results[Run(cc, seed)] for seed in shots]
    found: Json = {"cc": cc}
    for what in FIGURES:
        rows = [(job["seed"], job[what], job["weight"]) for job in jobs]
        by_seed = [_mean([row[1:] for row in rows if row[0] == seed]) for seed in shots]
        interval = estimate(by_seed)
        p99 = percentile([row[1:] for row in rows], 99)
        figures = {"mean": interval.mean, "half": interval.half, "p99": p99, "by_seed": by_seed}
        found[what] = figures
    return found | {"jobs": jobs} | means(runs)


def _alone(job: Placed, base: str, seed: int, results: Results) -> list[Json]:
    return [results[Run(base, seed, ring)] for ring in job.rings]


def _of_job(cluster: Cluster, job: Placed, seed: int, run: Json, alone: Sequence[Json]) -> Json:
    """Its slowest ring sets its pace; where no ring crosses racks it is as if alone."""
    rings = [run["jobs"][ring] for ring in job.rings]
    ideal_s = job.drawn.ideal_s / cluster.values["scale"]
    took = max((_mean_s(ring, run) for ring in rings), default=ideal_s)
    apart = max((_mean_s(other["jobs"][0], other) for other in alone), default=ideal_s)
    return {
        "seed": seed,
        "name": job.drawn.kind["name"],
        "gpus": job.drawn.gpus,
        "racks": job.racks,
        "rings": len(rings),
        "weight": 1 / job.drawn.duration_s,
        "ideal_ms": 1e3 * ideal_s,
        "alone_ms": 1e3 * apart,
        "mean_ms": 1e3 * took,
        "slowdown": took / ideal_s,
        "over_alone": took / apart,
        "iterations": min((len(ring["iterations_s"]) for ring in rings), default=None),
    }


def _mean_s(ring: Json, run: Json) -> float:
    """Few iterations count as well: to leave out who has no more would leave out the slowest."""
    return fmean(settled(ring["iterations_s"] or [run["simulated_s"]]))


def _mean(rows: Sequence[tuple[float, float]]) -> float:
    return sum(value * weight for value, weight in rows) / sum(weight for _, weight in rows)


def percentile(values: Sequence[tuple[float, float]], percent: float) -> float:
    """The least value that so much of the weight is at or below."""
    ordered = sorted(values)
    below = list(accumulate(weight for _, weight in ordered))
    return ordered[bisect_left(below, percent / 100 * below[-1])][0]


def lines(report: Json) -> list[str]:
    """The table for eyes."""
    rows = [["cc", "slowdown", "p99", "over alone", "p99", "CPU s"]]
    for result in report["results"]:
        row = [result["cc"]]
        for what in FIGURES:
            row += [with_half(result[what]), f"{result[what]['p99']:.3f}"]
        rows.append([*row, f"{result['cpu_s']:.0f}"])
    jobs = report["results"][0]["jobs"]
    apart = sum(1 for job in jobs if not job["rings"])
    return [
        *align(rows, 1),
        "",
        *compared(report["results"]),
        f"{len(jobs)} jobs in {len(report['seeds'])} seeds, {apart} of them in one rack each",
    ]
