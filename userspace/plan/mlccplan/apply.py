# SPDX-License-Identifier: BSD-2-Clause
"""From a solution to what mlccd is asked for: time-shifts and DSCPs of the jobs that it has.

A shift says when iterations begin. What a client can delay is a phase, so mlccd gets the phase's
slot: the shift, and the beginning of the job's first arc after it.
"""

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .classes import DSCP_PER_CLASS
from .daemon import connected
from .errors import PlanError, UsageError
from .layout import Layout
from .problem import Arc, Job, Problem
from .report import Json, align
from .solve import Solution

# as mlccd has them: userspace/mlccd/plan.c
PERIOD_MIN_US, PERIOD_MAX_US = 1000, 60_000_000
JOBS_MAX = 256


@dataclass(frozen=True)
class Slot:
    """When a job's phases begin: at offset_us modulo period_us, lead_us after its iterations."""

    period_us: int
    offset_us: int
    lead_us: int


def widened(problem: Problem, guard_us: int) -> Problem:
    """The same with all arcs longer on either side, as far as there is room between them.

    Two hosts whose clocks are off by up to guard_us each then still keep out of each other's way.
    """
    if not guard_us:
        return problem
    jobs = tuple(replace(job, arcs=_widened(job, guard_us)) for job in problem.jobs)
    return replace(problem, jobs=jobs)


def _widened(job: Job, guard_us: int) -> tuple[Arc, ...]:
    arcs = job.arcs
    following = [*arcs[1:], replace(arcs[0], start_us=arcs[0].start_us + job.period_us)]
    gaps = [
        after.start_us - arc.start_us - arc.length_us
        for arc, after in zip(arcs, following, strict=True)
    ]
    room = [min(guard_us, gap // 2) for gap in gaps]
    return tuple(
        replace(
            arc,
            start_us=(arc.start_us - room[index - 1]) % job.period_us,
            length_us=arc.length_us + room[index - 1] + room[index],
        )
        for index, arc in enumerate(arcs)
    )


def slots(original: Problem, solution: Solution) -> dict[str, Slot]:
    """Of the jobs that contend with others; the rest may send whenever they like."""
    layout = solution.layout
    contending = {job for outcome in solution.outcomes for job in outcome.component.jobs}
    found = {}
    for index in sorted(contending):
        job, period = original.jobs[index], layout.planned_us[index]
        if not PERIOD_MIN_US <= period <= PERIOD_MAX_US:
            raise PlanError(
                f"{job.name}: a period of {period / 1000:g} ms; mlccd shifts jobs of "
                f"{PERIOD_MIN_US / 1000:g} to {PERIOD_MAX_US / 1000:g} ms"
            )
        shift = round(layout.microseconds(solution.shifts[index]))
        lead = job.arcs[0].start_us % period
        found[job.name] = Slot(period, (shift + lead) % period, lead)
    return found


def dscps(assigned: Json, values: Sequence[int]) -> dict[str, int]:
    """From what classes.assign() says; values: by class, the lowest first."""
    return {job["name"]: values[job["class"]] for job in assigned["jobs"]}


def known(jobs: Iterable[Json], names: Sequence[str], here: bool) -> dict[str, list[int]]:
    """The ids that mlccd has for each name: several where a host has several parts of a job.

    here: leave out what this mlccd does not know, as on a host that has only some of the jobs.
    """
    ids: dict[str, list[int]] = {}
    for job in jobs:
        ids.setdefault(job["name"] or str(job["id"]), []).append(job["id"])
    lacking = [name for name in names if name not in ids]
    if lacking and not here:
        raise PlanError(
            f"mlccd has no job {lacking[0]}"
            + (f", and lacks {len(lacking) - 1} more" if len(lacking) > 1 else "")
            + "; --here leaves out those that are not on this host"
        )
    if len(lacking) == len(names):
        raise PlanError("mlccd has none of these jobs")
    found = {name: ids[name] for name in names if name in ids}
    if (count := sum(map(len, found.values()))) > JOBS_MAX:
        raise PlanError(f"{count} jobs of one mlccd; at most {JOBS_MAX} can be planned")
    return found


def class_values(arguments: Namespace) -> list[int]:
    """The DSCP of each class, or none."""
    if arguments.clear and (arguments.classes or arguments.no_shifts):
        raise UsageError("--clear takes all away: neither --classes nor --no-shifts goes with it")
    if arguments.no_shifts and not arguments.classes:
        raise UsageError("--no-shifts leaves nothing to apply without --classes")
    if arguments.dscp and len(arguments.dscp) != arguments.classes:
        raise UsageError(f"--dscp: {len(arguments.dscp)} values; as many as --classes are wanted")
    if not arguments.classes:
        return []
    return arguments.dscp or [DSCP_PER_CLASS * k for k in range(arguments.classes)]


def tell(
    arguments: Namespace,
    names: Sequence[str],
    shifts: Mapping[str, Slot],
    marks: Mapping[str, int],
) -> list[Json]:
    """Ask mlccd for all of it; returns an entry for each job, those that are not here with no ids.

    A job that has neither shift nor mark loses what an earlier plan gave it.
    """
    asked, entries = [], []
    with connected(arguments.socket) as mlccd:
        ids = known(list(mlccd.jobs()), names, arguments.here)
        for name in names:
            wanted: Json = {}
            entry: Json = {"name": name, "ids": ids.get(name, [])}
            if slot := shifts.get(name):
                wanted |= {"period_us": slot.period_us, "offset_us": slot.offset_us}
                wanted |= {"lead_us": slot.lead_us}
                entry |= {"period_ms": slot.period_us / 1000, "slot_ms": slot.offset_us / 1000}
            if name in marks:
                wanted["dscp"] = marks[name]
                entry |= {"dscp": marks[name], "traffic_class": marks[name] << 2}  # of RDMA
            asked += [{"job": number, **wanted} for number in entry["ids"]]
            entries.append(entry)
        dry_run = {"dry_run": True} if arguments.dry_run else {}
        mlccd.ask({"op": "set-plan", "jobs": asked, **dry_run})
    return entries


def several_arcs(layout: Layout, shifts: Mapping[str, Slot]) -> list[str]:
    """Notes on jobs of which a client could take the wrong phase for the one that is planned."""
    names = [j.name for j in layout.problem.jobs if len(j.arcs) > 1 and j.name in shifts]
    if not names:
        return []
    return [
        f"{len(names)} jobs ({names[0]}...) have several arcs: their clients have to announce an "
        "iteration as one phase, or nothing is delayed"
    ]


def text(result: Json) -> str:
    """The report for people."""
    rows = [["JOB", "MLCCD'S", "SLOT ms", "PERIOD ms", "DSCP"]]
    for job in result["jobs"]:
        ids = ",".join(map(str, job["ids"])) or "not here"
        times = [f"{job[key]:.3f}" if key in job else "-" for key in ("slot_ms", "period_ms")]
        rows.append([job["name"], ids, *times, str(job.get("dscp", "-"))])
    done = "would set" if result["dry_run"] else "set"
    lines = [align(rows), "", *(f"note: {note}" for note in result["notes"])]
    count = sum(len(job["ids"]) for job in result["jobs"])
    return "\n".join([*lines, f"{done} the plan of {count} of mlccd's jobs"])
