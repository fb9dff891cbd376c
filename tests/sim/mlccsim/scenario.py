# SPDX-License-Identifier: GPL-2.0
"""Scenarios: TOML for people, "key value" lines for mlcc-sim."""

import random
from dataclasses import astuple, dataclass, replace
from typing import Any

from mlcclab import traces
from mlcclab.errors import UsageError
from mlcclab.schema import (
    Field,
    array,
    choice,
    duration,
    flag,
    integer,
    number,
    rate,
    read_table,
    size,
    text,
    word,
)
from mlcclab.sizes import SIZES, mean_bytes
from mlcclab.units import FRAME, MSS

Table = dict[str, Any]

RATE = rate(2e6, 2e12)
GB = 2**30
HOSTS_MAX = 4096

SCENARIO = {
    "about": Field(text, ""),
    "transport": Field(choice("rdma", "tcp"), "rdma"),
    "iterations": Field(integer(4, 100000), 24),
    "placement": Field(choice("packed", "spread", "random"), "packed"),
    "stop": Field(duration(1e5), 1000.0),
    "topology": Field(lambda table: table),
    "job": Field(lambda tables: tables),
}
TRANSPORTS = {
    "rdma": {"switch": Field(lambda table: table, {}), "rdma": Field(lambda table: table, {})},
    "tcp": {"tcp": Field(lambda table: table, {})},
}


def _pods(value: Any) -> list[list[int]]:
    good = isinstance(value, list) and value and all(isinstance(pod, list) and pod for pod in value)
    if not good or any(type(n) is not int or not 1 <= n <= 1024 for pod in value for n in pod):
        raise ValueError("not lists, one a pod, of the hosts below each access switch, 1 to 1024")
    return [list(pod) for pod in value]


# What each kind has besides "kind", "rate" (of hosts' links) and "delay" (of each link, one way).
TOPOLOGIES = {
    "dumbbell": {"bottleneck": Field(RATE, None)},
    "leaf-spine": {
        "leaves": Field(integer(1, 1024)),
        "spines": Field(integer(1, 1024)),
        "hosts": Field(integer(1, 1024)),
        "oversubscription": Field(number(0.01, 1000), 1.0),
    },
    "fat-tree": {"k": Field(integer(4, 24))},
    "clos": {
        "pods": Field(_pods),
        "aggregation": Field(integer(1, 1024)),
        "cores": Field(integer(1, 1024)),
        "oversubscription": Field(number(0.01, 1000), 1.0),
    },
    "bcube": {"n": Field(integer(2, 64))},
}

SWITCH = {
    "buffer": Field(size(10000, 64 * GB), 32 * 2**20),
    "kmin": Field(size(0, GB), None),
    "kmax": Field(size(1, GB), None),
    "pmax": Field(number(0, 1), 0.2),
    "pfc": Field(flag, True),
}

RDMA = {
    "variant": Field(choice("paper", "mlx5", "ns3", "rxe"), "paper"),
    "timer": Field(duration(1), 0.0),
    "payload": Field(integer(64, 65536), 4096),
    "header": Field(integer(0, 1024), 82),
    "window": Field(size(0, GB), 0),
    "rto": Field(duration(10), 0.004),
    "qps": Field(integer(1, 128), 1),
    "ports": Field(integer(1, 16384), 1),  # of UDP that RoCEv2 sends from: 49152 to 65535
}

TCP = {
    "queue": Field(choice("droptail", "ecn"), "droptail"),
    "limit": Field(size(10000, GB), 2**20),
    "mark": Field(size(1, GB), 100_000),
    "mss": Field(integer(500, 9000), MSS),
    "tso": Field(size(0, 2**20), 0),
    "gro": Field(flag, False),
    "coalesce": Field(duration(0.01), 0.0),
    "rto_min": Field(duration(0.5), 0.2),
    "window": Field(size(10000, 2**31), 6 * 2**20),
}

CCS = {
    "rdma": (
        "dcqcn",
        "tmdml",
        "interleave+tmdml",
        "hotnets22",
        "mltcp",
        "interleave+led",
        "interleave",
    ),
    "tcp": ("cubic", "reno", "dctcp", "hotnets22", "mltcp", "interleave"),
}

# Who has no iterations.
ENDLESS = ("endless", "background")

_COPIES = {
    "copies": Field(integer(1, HOSTS_MAX // 2), 1),
    "stagger": Field(duration(1000), 0.0),
}
_MEMBERS = {
    **_COPIES,
    "noise": Field(number(0, 1), 0.0),
    "iterations": Field(integer(4, 100000), None),
    "leaves": Field(flag, False),
}
_SIZE = {"bytes": Field(size(1, 2**50)), "compute": Field(duration(1000), 0.0)}
_TRACE = {key: Field(field.parse) for key, field in traces.JOB_FIELDS.items()}
_MANY = {**_MEMBERS, **_SIZE, "hosts": Field(integer(2, HOSTS_MAX), 2)}

# What each workload has besides "name", "workload" and "start"; a pair's hosts are two.
WORKLOADS = {
    "pair": {**_MEMBERS, **_SIZE},
    "endless": _COPIES,
    "ring": _MANY,
    "shards": _MANY,
    "parameter-server": _MANY,
    "trace": {**_MEMBERS, **_TRACE},
    "background": {"load": Field(number(0, 1)), "sizes": Field(choice(*SIZES))},
}
# ... and whoever has iterations: queue pairs are rdma.qps.
OWN = {
    "rdma": {"timer": Field(duration(1), 0.0)},
    "tcp": {"flows": Field(integer(1, 128), 1)},
}
# What others find where a workload has none.
NONE = {"copies": 1, "hosts": 2, "bytes": 1, "compute": 0.0, "noise": 0.0, "stagger": 0.0}
NONE |= {"iterations": None, "leaves": False, "timer": 0.0, "flows": 1}


@dataclass(frozen=True)
class Step:
    """A part of an iteration; overlaps: the next one computes while this one's bytes go."""

    compute_s: float
    bytes: float
    overlaps: bool = False


@dataclass(frozen=True)
class Job:
    """One copy of a [[job]] table."""

    name: str
    values: Table
    steps: tuple[Step, ...]
    start_s: float


@dataclass(frozen=True)
class Scenario:
    """Everything that a run needs but for its congestion control and seed."""

    name: str
    about: str
    transport: str
    iterations: int
    placement: str
    stop_s: float
    topology: Table
    hosts: Table  # [switch] and [rdma], or [tcp]
    jobs: tuple[Job, ...]
    placed: tuple[tuple[int, ...], ...] = ()  # the jobs' hosts, where placement does not say it

    def with_iterations(self, iterations: int) -> "Scenario":
        """The same, longer or shorter."""
        return replace(self, iterations=iterations)

    def with_load(self, load: float) -> "Scenario":
        """The same with another load."""
        return replace(
            self,
            jobs=tuple(
                replace(job, values=job.values | {"load": load})
                if job.values["workload"] == "background"
                else job
                for job in self.jobs
            ),
        )

    @property
    def has_background(self) -> bool:
        """Whether there are flows of no job."""
        return any(job.values["workload"] == "background" for job in self.jobs)

    @property
    def line_bps(self) -> float:
        """What background traffic loads: a host's link, or a dumbbell's bottleneck."""
        bps: float = self.topology.get("bottleneck", self.topology["rate"])
        return bps

    @property
    def ccs(self) -> tuple[str, ...]:
        """What there is; the first one is the base that jobs alone run under."""
        return CCS[self.transport]


def parse(name: str, table: Table) -> Scenario:
    """A scenario that is right, or UsageError with one line."""
    top = read_top(table)
    empty = frame(name, top)
    entries = array("job", top["job"], 1, 1000)
    jobs = (job for entry in entries for job in _jobs(*entry, empty))
    scenario = replace(empty, jobs=tuple(jobs))
    _check_hosts(scenario)
    return scenario


def _chosen(table: Any, key: str, default: str) -> str:
    """The word that decides which other keys there are; read_table says what is wrong with it."""
    return str(table.get(key, default)) if isinstance(table, dict) else default


def read_top(table: Table, **more: Field) -> Table:
    """What is outside of tables, and these."""
    transport = TRANSPORTS.get(_chosen(table, "transport", "rdma"), {})
    return read_table("", table, SCENARIO | transport | more)


def frame(name: str, top: Table) -> Scenario:
    """All but its jobs."""
    topology = _topology(top["topology"])
    rdma = top["transport"] == "rdma"
    hosts = _rdma(top, topology["rate"]) if rdma else read_table("tcp", top["tcp"], TCP)
    return Scenario(
        name,
        top["about"],
        top["transport"],
        top["iterations"],
        top["placement"],
        top["stop"],
        topology,
        hosts,
        (),
    )


def _topology(table: Any) -> Table:
    kind = _chosen(table, "kind", "")
    fields = {
        "kind": Field(choice(*TOPOLOGIES)),
        "rate": Field(RATE),
        "delay": Field(duration(0.1), 1e-6),
    }
    values = read_table("topology", table, fields | TOPOLOGIES.get(kind, {}))
    if kind == "dumbbell" and values["bottleneck"] is None:
        values["bottleneck"] = values["rate"]
    if kind == "fat-tree" and values["k"] % 2:
        raise UsageError(f"topology.k: {values['k']} is not even")
    return values


def _rdma(top: Table, bps: float) -> Table:
    switch = read_table("switch", top["switch"], SWITCH)
    _thresholds(switch, bps)
    return switch | read_table("rdma", top["rdma"], RDMA)


def _thresholds(switch: Table, bps: float) -> None:
    """Where nothing is said, those of HPCC's simulations, which scale with the link."""
    if switch["kmin"] is None:
        switch["kmin"] = round(100e3 * bps / 25e9)
    if switch["kmax"] is None:
        switch["kmax"] = round(400e3 * bps / 25e9)
    if switch["kmin"] >= switch["kmax"]:
        raise UsageError(f"switch.kmax: {switch['kmax']} is not above kmin, {switch['kmin']} bytes")


def goodput_bps(scenario: Scenario) -> float:
    """What messages get of a host's link, or of a dumbbell's bottleneck, if that is less."""
    topology, hosts = scenario.topology, scenario.hosts
    payload, header = (
        (hosts["mss"], FRAME - MSS) if "mss" in hosts else (hosts["payload"], hosts["header"])
    )
    bps: float = min(topology["rate"], topology.get("bottleneck", topology["rate"]))
    return bps * payload / (payload + header)


def read_job(where: str, table: Any, transport: str) -> Table:
    """A [[job]] table."""
    workload = _chosen(table, "workload", "pair")
    fields = {
        "name": Field(word),
        "workload": Field(choice(*WORKLOADS), "pair"),
        "start": Field(duration(1000), 0.0),
        **WORKLOADS.get(workload, _MANY),
        **({} if workload in ENDLESS else OWN[transport]),
    }
    return NONE | read_table(where, table, fields)


def _traced(where: str, values: Table, bps: float) -> tuple[Step, ...]:
    """The trace's steps."""
    steps, nbytes, compute_ms = traces.fitted(
        traces.load(values["trace"]), values["period_ms"], values["duty"], bps
    )
    shares = traces.shared(steps, nbytes)
    if min(share for step, share in zip(steps, shares, strict=True) if step.send) < 1:
        raise UsageError(f"{where}.duty: a message would have less than a byte")
    return tuple(
        Step(step.compute * compute_ms / 1e3, share, step.overlaps)
        for step, share in zip(steps, shares, strict=True)
    )


def _jobs(where: str, table: Any, scenario: Scenario) -> list[Job]:
    values = read_job(where, table, scenario.transport)
    steps: tuple[Step, ...] = (Step(values["compute"], values["bytes"]),)
    if values["workload"] == "trace":
        # mlcc-sim knows no traces, but pairs of several steps
        values["workload"] = "pair"
        steps = _traced(where, values, goodput_bps(scenario))
    if values["workload"] == "background":
        values["hosts"] = 0
    copies = values["copies"]
    return [
        Job(
            values["name"] if copies == 1 else f"{values['name']}-{copy + 1}",
            values,
            steps,
            values["start"] + copy * values["stagger"],
        )
        for copy in range(copies)
    ]


def wanted_hosts(scenario: Scenario) -> int:
    """Those of all jobs; background traffic is between all there are."""
    return sum(job.values["hosts"] for job in scenario.jobs)


def racks(scenario: Scenario) -> tuple[int, int]:
    """How many hosts there are, and how many of them on one switch."""
    topology = scenario.topology
    if topology["kind"] == "leaf-spine":
        return topology["leaves"] * topology["hosts"], topology["hosts"]
    if topology["kind"] == "fat-tree":
        return topology["k"] ** 3 // 4, topology["k"] // 2
    if topology["kind"] == "clos":
        return sum(map(sum, topology["pods"])), max(map(max, topology["pods"]))
    if topology["kind"] == "bcube":
        return topology["n"] ** 2, topology["n"]
    wanted = max(2, wanted_hosts(scenario))
    return wanted + wanted % 2, 1


def _check_hosts(scenario: Scenario) -> None:
    names = [job.name for job in scenario.jobs]
    if len(set(names)) < len(names):
        raise UsageError("job: two of them have the same name")
    if scenario.topology["kind"] == "dumbbell" and scenario.placement != "packed":
        raise UsageError(
            "placement: a dumbbell's hosts are packed: each next one on the other side"
        )
    if scenario.topology["kind"] == "clos" and scenario.placement == "spread":
        raise UsageError("placement: racks are not alike; packed and random are what there is")
    there, wanted = racks(scenario)[0], wanted_hosts(scenario)
    if wanted > there:
        raise UsageError(f"job: they want {wanted} hosts, and this topology has {there}")


def places(scenario: Scenario, seed: int) -> list[list[int]]:
    """Each job's hosts."""
    if scenario.placed:
        return [list(hosts) for hosts in scenario.placed]
    there, rack = racks(scenario)
    order = list(range(there))
    if scenario.placement == "spread":
        order.sort(key=lambda host: (host % rack, host // rack))
    elif scenario.placement == "random":
        random.Random(seed).shuffle(order)
    taken, first = [], 0
    for job in scenario.jobs:
        background = job.values["workload"] == "background"
        hosts = job.values["hosts"]
        if background and scenario.topology["kind"] == "dumbbell":
            # from the left to the right, as pairs do
            taken.append(order[::2] + order[1::2])
        else:
            taken.append(order if background else order[first : first + hosts])
        first += hosts
    return taken


def settings(scenario: Scenario, cc: str, seed: int, only: int = -1) -> str:
    """What mlcc-sim reads. only: the number of the job that is to run alone."""
    base, led = cc.removesuffix("+led"), cc.endswith("+led")
    base, tmdml = base.removesuffix("tmdml").removesuffix("+"), base.endswith("tmdml")
    values: Table = {
        "cc": base or scenario.ccs[0],
        "seed": seed,
        "only": only,
        "stop": scenario.stop_s,
        "transport": scenario.transport,
    }
    if scenario.transport == "rdma":
        values |= {"tmdml": tmdml, "led": led, "detail": 0}
    topology = dict(scenario.topology)
    if topology["kind"] == "dumbbell":
        topology["pairs"] = racks(scenario)[0] // 2
    if topology["kind"] == "clos":
        topology["pods"] = [(pod, n) for pod, hosts in enumerate(topology["pods"]) for n in hosts]
    tables = [values | topology | scenario.hosts]
    for job, hosts in zip(scenario.jobs, places(scenario, seed), strict=True):
        background = job.values["workload"] == "background"
        tables.append(
            {
                "job": job.name,
                "workload": job.values["workload"],
                "hosts": hosts,
                "start": job.start_s,
            }
            | (_background(job, len(hosts), scenario) if background else _job(job, scenario))
        )
    return "".join(f"{key} {_text(value)}\n" for table in tables for key, value in table.items())


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    return str(int(value) if isinstance(value, bool) else value)


def _background(job: Job, hosts: int, scenario: Scenario) -> Table:
    """So many flows that each host sends "load" of its link's rate, or all those of a dumbbell."""
    sizes = SIZES[job.values["sizes"]]
    dumbbell = scenario.topology["kind"] == "dumbbell"
    per_s = (
        job.values["load"] * scenario.line_bps / 8 / mean_bytes(sizes) * (1 if dumbbell else hosts)
    )
    return {
        "per_s": per_s,
        "senders": hosts // 2 if dumbbell else hosts,
        "sizes": [(size, part / 100) for size, part in sizes],
    }


def _job(job: Job, scenario: Scenario) -> Table:
    values, endless = job.values, job.values["workload"] in ENDLESS
    return {
        "steps": [astuple(step) for step in job.steps],
        # 0: for ever, and nobody waits for it
        "iterations": 0 if endless else values["iterations"] or scenario.iterations,
        "rails": values.get("rails", 1),
        "job_timer": values["timer"],
        "lognormal": 0,  # of tests/sim/papers
        **{key: values[key] for key in ("flows", "leaves", "noise")},
    }
