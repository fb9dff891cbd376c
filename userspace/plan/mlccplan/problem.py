# SPDX-License-Identifier: BSD-2-Clause
"""The problem: jobs that communicate on arcs of their circle, links, and routes over them.

Documentation/mlcc-plan.md describes the JSON. Inside, times are whole microseconds and rates
whole kbit/s, so that no sum of either is rounded.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import reader
from .errors import PlanError
from .reader import Field

VERSION = 1
JOBS_MAX = 10_000
LINKS_MAX = 10_000
ARCS_MAX = 64
ROUTES_MAX = 1024
HOPS_MAX = 64
LINK_JOBS_MAX = 1000  # every two of them are looked at
HOUR_MS = 3.6e6
GBPS_MAX = 1e5


@dataclass(frozen=True)
class Arc:
    """A part of the circle, beginning start_us after the iteration; it may go past its end."""

    start_us: int
    length_us: int
    kbps: int | None = None  # of every link on the routes; None: all that the link has


@dataclass(frozen=True)
class Job:
    """One training run. Its demand is the same on every link that one of its routes crosses."""

    name: str
    period_us: int
    arcs: tuple[Arc, ...]
    links: tuple[str, ...]
    shift_us: int = 0  # where it is now, or has to stay
    fixed: bool = False
    gpus: tuple[str, ...] = ()
    compute: tuple[Arc, ...] = ()  # what keeps the GPUs busy


@dataclass(frozen=True)
class Link:
    """A direction of a cable, or anything else with a rate of its own."""

    name: str
    kbps: int
    ends: tuple[str, str] | None = None  # the nodes that it connects


@dataclass(frozen=True)
class Problem:
    """What check, solve, draw and classes begin with."""

    jobs: tuple[Job, ...]
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        counted = Counter(link for job in self.jobs for link in job.links)
        counted.update(gpu for job in self.jobs for gpu in job.gpus)
        for name, count in counted.most_common(1):
            if count > LINK_JOBS_MAX:
                raise PlanError(f"{name}: {count} jobs share it; at most {LINK_JOBS_MAX} may")


def _microseconds(low_ms: float) -> reader.Parser:
    parse = reader.number(low_ms, HOUR_MS)
    return lambda where, value: round(parse(where, value) * 1000)


def _kbps(where: str, value: Any) -> int:
    return round(reader.number(1e-6, GBPS_MAX)(where, value) * 1e6)


def _table_of(fields: Mapping[str, Field]) -> reader.Parser:
    return lambda where, value: reader.table(where, value, fields)


def _arcs_of(fields: Mapping[str, Field]) -> reader.Parser:
    arc = _table_of(fields)
    return reader.each(lambda where, value: Arc(*arc(where, value).values()), 1, ARCS_MAX)


ARC = {
    "start_ms": Field(_microseconds(0), required=True),
    "length_ms": Field(_microseconds(0.001), required=True),
    "gbps": Field(_kbps),
}
SPAN = {key: field for key, field in ARC.items() if key != "gbps"}
ROUTES = reader.each(reader.each(reader.name, 1, HOPS_MAX), 1, ROUTES_MAX)
JOB = {
    "name": Field(reader.name, required=True),
    "period_ms": Field(_microseconds(0.01), required=True),
    "arcs": Field(_arcs_of(ARC), required=True),
    "routes": Field(ROUTES),
    "shift_ms": Field(_microseconds(0), default=0),
    "fixed": Field(reader.flag, default=False),
    "gpus": Field(reader.each(reader.name, 0, 65536), default=()),
    "compute": Field(_arcs_of(SPAN)),
}
LINK = {
    "name": Field(reader.name, required=True),
    "gbps": Field(_kbps, required=True),
    "from": Field(reader.name),
    "to": Field(reader.name),
}
DOCUMENT = {
    "version": Field(reader.number(VERSION, VERSION), default=VERSION),
    "links": Field(reader.each(_table_of(LINK), 1, LINKS_MAX), required=True),
    "jobs": Field(reader.each(_table_of(JOB), 1, JOBS_MAX), required=True),
}


def from_json(document: Any) -> Problem:
    """Check a document and build the problem, or raise a PlanError of one line."""
    read = reader.table("problem", document, DOCUMENT)
    links = links_of(read["links"])
    jobs = tuple(job_of(table, links) for table in read["jobs"])
    reader.unique("jobs", [job.name for job in jobs])
    return Problem(jobs, tuple(links.values()))


def links_of(tables: Sequence[Mapping[str, Any]]) -> dict[str, Link]:
    """The links by name."""
    reader.unique("links", [table["name"] for table in tables])
    return {table["name"]: _link(table) for table in tables}


def _link(table: Mapping[str, Any]) -> Link:
    ends = (table["from"], table["to"])
    if (ends[0] is None) != (ends[1] is None):
        raise PlanError(f"link {table['name']}: from and to belong together")
    return Link(table["name"], table["gbps"], None if ends[0] is None else ends)


def job_of(table: Mapping[str, Any], links: Mapping[str, Link]) -> Job:
    """One job, with its routes looked up and its arcs laid on the circle."""
    where = f"job {table['name']}"
    period, routes = table["period_ms"], table["routes"]
    if not routes:
        raise PlanError(f"{where}: is on no link: routes is missing")
    arcs = _on_circle(f"{where}: arcs", table["arcs"], period)
    if table["compute"] and not table["gpus"]:
        raise PlanError(f"{where}: compute is only for a job with gpus")
    compute = _on_circle(f"{where}: compute", table["compute"] or _rest(arcs, period), period)
    reader.unique(f"{where}: gpus", table["gpus"])
    return Job(
        name=table["name"],
        period_us=period,
        arcs=arcs,
        links=crossed(where, routes, links),
        shift_us=table["shift_ms"] % period,
        fixed=table["fixed"],
        gpus=table["gpus"],
        compute=compute,
    )


def crossed(
    where: str, routes: Sequence[Sequence[str]], links: Mapping[str, Link]
) -> tuple[str, ...]:
    """The links that any of the routes crosses; a route goes from link to link, and not twice."""
    for route in routes:
        for one in route:
            if one not in links:
                raise PlanError(f"{where}: routes: there is no link {one}")
        _no_loop(where, [links[one] for one in route])
    return tuple(dict.fromkeys(one for route in routes for one in route))


def _no_loop(where: str, route: Sequence[Link]) -> None:
    names = [link.name for link in route]
    if len(set(names)) < len(names):
        raise PlanError(f"{where}: routes: a loop: {' '.join(names)[:80]}")
    ends = [link.ends for link in route if link.ends]
    if len(ends) < len(route):
        return  # without nodes there is nothing more to know
    for (_, here), (there, _) in zip(ends, ends[1:], strict=False):
        if here != there:
            raise PlanError(f"{where}: routes: a gap: a link to {here}, then one from {there}")
    nodes = [ends[0][0], *(to for _, to in ends)]
    if len(set(nodes)) < len(nodes):
        raise PlanError(f"{where}: routes: a loop: {' '.join(nodes)[:80]}")


def _on_circle(where: str, arcs: Sequence[Arc], period_us: int) -> tuple[Arc, ...]:
    """The arcs in order; they begin within the period and do not overlap."""
    ordered = sorted(arcs, key=lambda arc: arc.start_us)
    for arc in ordered:
        if arc.start_us >= period_us or arc.length_us > period_us:
            raise PlanError(
                f"{where}: {arc.start_us / 1000:g} ms + {arc.length_us / 1000:g} ms does not fit "
                f"on a circle of {period_us / 1000:g} ms"
            )
    following = [*ordered[1:], *(replace(a, start_us=a.start_us + period_us) for a in ordered[:1])]
    for arc, after in zip(ordered, following, strict=True):
        if arc.start_us + arc.length_us > after.start_us:
            raise PlanError(f"{where}: two overlap at {after.start_us % period_us / 1000:g} ms")
    return tuple(ordered)


def _rest(arcs: Sequence[Arc], period_us: int) -> tuple[Arc, ...]:
    """The part of the circle that the arcs leave free."""
    starts = [arc.start_us for arc in arcs]
    free = []
    for arc, after in zip(arcs, [*starts[1:], starts[0] + period_us], strict=True):
        end = arc.start_us + arc.length_us
        if after > end:
            free.append(Arc(end % period_us, after - end))
    return tuple(free)
