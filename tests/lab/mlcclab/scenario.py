# SPDX-License-Identifier: GPL-2.0
"""Scenarios: what a TOML file may say, and what it means."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import link, schema, units
from .errors import UsageError
from .link import Link
from .schema import Field, key, load_toml

SHIPPED = Path(__file__).resolve().parents[1] / "scenarios"
MAX_BYTES = 1 << 40
MAX_MS = 600_000.0

KINDS = ("compatible", "incompatible", "nonharmonic", "beside")
PATTERNS = ("pair", "ring", "all-to-all")
FLOW_KINDS = ("bulk", "short", "conversation")
RDMA = ("verbs", "net-verbs")
TRANSPORTS = ("tcp", "net", *RDMA)


@dataclass(frozen=True)
class Job:
    """A training job: compute, send a phase, repeat."""

    name: str = key(schema.word)
    phase_bytes: int = key(schema.integer(10_000, MAX_BYTES))
    compute_ms: float = key(schema.number(0.0, MAX_MS))
    noise: float = key(schema.number(0.0, 0.5), 0.0)
    flows: int = key(schema.integer(1, 64), 1)
    start_ms: float = key(schema.number(0.0, MAX_MS), 0.0)
    hint: str = key(schema.choice("none", "exact"), "none")
    claim: float = key(schema.number(0.001, 1000.0), None)
    profile: str = key(schema.word, "")
    pattern: str = key(schema.choice(*PATTERNS), "pair")
    workers: int = key(schema.integer(2, 16), None)
    connect_late: bool = key(schema.flag, False)
    restart_ms: float = key(schema.number(1.0, MAX_MS), None)

    @property
    def hosts(self) -> int:
        """Hosts that send: one for a pair, else every worker."""
        return 1 if self.pattern == "pair" else self.workers

    @property
    def connections(self) -> int:
        """Connections of the whole job."""
        if self.pattern == "all-to-all":
            return self.workers * (self.workers - 1) * self.flows
        return self.hosts * self.flows

    @property
    def ring_lead(self) -> int:
        """What a worker of a ring all-reduce begins with: one of its 2 (N - 1) chunks."""
        return max(1, self.phase_bytes // (2 * (self.workers - 1)))

    def scaled(self, factor: float) -> "Job":
        """The same with every rate and size times a factor."""
        return replace(self, phase_bytes=round(self.phase_bytes * factor))

    def crossing_bytes(self) -> float:
        """Bytes per iteration that cross the bottleneck in its busier direction.

        Workers sit left and right of it in turn.
        """
        if self.pattern == "pair":
            return self.phase_bytes
        left, right = (self.workers + 1) // 2, self.workers // 2
        if self.pattern == "ring":
            return self.phase_bytes * right
        return self.phase_bytes * left * right / (self.workers - 1)

    def wire_ms(self, rate: float, mtu: int = units.MTU) -> float:
        """Time that a phase occupies the link."""
        return units.wire_ms(self.crossing_bytes(), rate, mtu)

    def period_ms(self, rate: float, mtu: int = units.MTU) -> float:
        """Iteration time of the job alone, as the figures say it."""
        return self.compute_ms + self.wire_ms(rate, mtu)


@dataclass(frozen=True)
class Flow:
    """Ordinary traffic beside the jobs, or of a job without phases."""

    name: str = key(schema.word)
    kind: str = key(schema.choice(*FLOW_KINDS))
    cc: str = key(schema.word, "cubic")
    bytes: int = key(schema.integer(100, MAX_BYTES), None)
    every_ms: float = key(schema.number(1.0, MAX_MS), None)
    start_ms: float = key(schema.number(0.0, MAX_MS), 0.0)
    job_class: str = key(schema.choice("latency", "background"), "")


@dataclass(frozen=True)
class Scenario:
    """A link, the jobs that share it, and the ordinary traffic beside them."""

    name: str
    about: str
    kind: str
    transport: str
    iterations: int
    link: Link
    jobs: tuple[Job, ...]
    flows: tuple[Flow, ...]

    @property
    def load(self) -> float | None:
        """Sum of the jobs' shares of the link if each ran as if alone; of an unshaped one none."""
        link = self.link
        if not link.shaped:
            return None
        return sum(
            job.wire_ms(link.rate, link.mtu) / job.period_ms(link.rate, link.mtu)
            for job in self.jobs
        )

    @property
    def connections(self) -> int:
        """Connections of everything together."""
        return sum(job.connections for job in self.jobs) + len(self.flows)

    def scaled(self, factor: float) -> "Scenario":
        """The same in time on a link of another speed: every rate and size changes alike."""
        jobs = tuple(job.scaled(factor) for job in self.jobs)
        flows = tuple(replace(flow, bytes=round(flow.bytes * factor)) for flow in self.flows)
        return replace(self, link=self.link.scaled(factor), jobs=jobs, flows=flows)

    @property
    def needs(self) -> tuple[str, ...]:
        """What the kernel must have beyond the basics."""
        return tuple(sorted(self.link.needs))


FLOW_FIELDS = schema.keys(Flow)
FLOW_FIELDS["class"] = FLOW_FIELDS.pop("job_class")  # a word of Python's

TOP_FIELDS = {
    "name": Field(schema.word, ""),
    "about": Field(schema.text, ""),
    "kind": Field(schema.choice(*KINDS), "compatible"),
    "transport": Field(schema.choice(*TRANSPORTS), "tcp"),
    "iterations": Field(schema.integer(4, 1_000_000), 40),
    "link": Field(lambda value: value),
    "job": Field(lambda value: value),
    "flow": Field(lambda value: value, []),
}


def find(name: str) -> Path:
    """A file, or a shipped scenario by its name."""
    shipped = SHIPPED / f"{name}.toml"
    return shipped if not Path(name).exists() and shipped.exists() else Path(name)


@dataclass(frozen=True)
class Overrides:
    """What is said elsewhere than in a file: keys of its [link], and of each of its jobs."""

    link: Mapping[str, Any] = field(default_factory=dict)
    job: Mapping[str, Any] = field(default_factory=dict)


def load(path: Path, overrides: Overrides | None = None) -> Scenario:
    """Read and check a scenario file."""
    said = overrides or Overrides()
    return load_toml(path, lambda table: parse(table, path.stem, said))


def parse(raw: dict[str, Any], default_name: str, said: Overrides = Overrides()) -> Scenario:
    """Turn a TOML document into a scenario."""
    top = schema.read_table("", raw, TOP_FIELDS)
    wire = link.parse(top["link"], top["transport"] not in RDMA, said.link)
    tables = schema.array("job", _one_by_one(top["job"]), 1, 128)
    jobs = tuple(_job(where, table, wire, said) for where, table in tables)
    tables = schema.array("flow", top["flow"], 0, 16)
    flows = tuple(_flow(where, table) for where, table in tables)
    if flows and wire.paths > 1:
        raise UsageError("flow[0]: not on a link of several paths")
    names = Counter([job.name for job in jobs] + [flow.name for flow in flows])
    for name, count in names.items():
        if count > 1:
            raise UsageError(f"name: {name!r} is used {count} times; names must differ")
    if not wire.shaped:
        _check_unshaped(top, flows)
    if top["transport"] != "tcp":
        _check_transport(top["transport"], wire, jobs, flows)
    return Scenario(
        name=top["name"] or default_name,
        about=top["about"],
        kind=top["kind"],
        transport=top["transport"],
        iterations=top["iterations"],
        link=wire,
        jobs=jobs,
        flows=flows,
    )


def _one_by_one(tables: Any) -> Any:
    """A table with several names is so many jobs alike."""
    if not isinstance(tables, list):
        return tables
    found: list[Any] = []
    for table in tables:
        names = table.get("name") if isinstance(table, dict) else None
        alike = isinstance(names, list) and names
        found += [table | {"name": name} for name in names] if alike else [table]
    return found


def _check_unshaped(top: dict[str, Any], flows: tuple[Flow, ...]) -> None:
    """What is a part of a link's time, or of its rate."""
    # a sender that never has to wait never hears that it is to stop
    needy = [f"flow[{index}].kind" for index, flow in enumerate(flows) if flow.kind == "bulk"]
    needy += ["transport"] if top["transport"] in RDMA else []
    for where in needy:
        raise UsageError(f'{where}: needs a rate of the link, not "{link.NO_RATE}"')


def _check_transport(
    transport: str, wire: Link, jobs: tuple[Job, ...], flows: tuple[Flow, ...]
) -> None:
    """What only TCP has here."""
    if wire.mtu != units.MTU and transport in RDMA:
        raise UsageError(f"link.mtu: {units.MTU} only with transport = {transport}")
    if wire.paths > 1:
        raise UsageError(f"link.paths: one only with transport = {transport}")
    if flows:
        raise UsageError(f"flow[0]: not with transport = {transport}")
    for index, job in enumerate(jobs):
        if transport != "verbs" and job.hint == "exact":
            raise UsageError(f"job[{index}].hint: not with transport = {transport}")


def _job(where: str, table: Any, wire: Link, said: Overrides) -> Job:
    raw = schema.read_table(where, table, schema.keys(Job), said.job)
    _check_pattern(where, raw, wire.paths)
    if raw["flows"] % wire.paths:
        raise UsageError(f"{where}.flows: {raw['flows']} is no multiple of the link's {wire.paths}")
    for name in ("claim", "restart_ms"):
        if raw[name] is not None and raw["hint"] != "exact":
            raise UsageError(f'{where}.{name}: only with hint = "exact", of what is announced')
    raw.update(claim=raw["claim"] or 1.0, workers=raw["workers"] or 2)
    raw.update(restart_ms=raw["restart_ms"] or 0.0)
    return Job(**raw)


def _check_pattern(where: str, raw: dict[str, Any], paths: int) -> None:
    if raw["pattern"] == "pair":
        if raw["workers"] is not None:
            raise UsageError(f"{where}.workers: only with pattern = ring or all-to-all")
    elif paths > 1:
        raise UsageError(f"{where}.pattern: only pair on a link of several paths")


def _flow(where: str, table: Any) -> Flow:
    raw = schema.read_table(where, table, FLOW_FIELDS)
    for name in ("bytes", "every_ms"):
        if (raw[name] is None) == (raw["kind"] != "bulk"):
            verb = "missing" if raw[name] is None else "not"
            raise UsageError(f"{where}.{name}: {verb} with kind = {raw['kind']}")
    raw.update(bytes=raw["bytes"] or 0, every_ms=raw["every_ms"] or 0.0)
    raw["job_class"] = raw.pop("class")
    return Flow(**raw)
