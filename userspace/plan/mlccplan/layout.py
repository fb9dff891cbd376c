# SPDX-License-Identifier: BSD-2-Clause
"""Lays a problem out for the solvers: times in ticks, components, contended resources.

A tick is a part of a microsecond, so that a job's circle divides into the steps of the precision
without a remainder. A component is a set of jobs that share contended links or GPUs, directly or
through others; components have nothing to do with each other.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TypeVar

import numpy as np

from . import periods
from .circle import Demand, Resource
from .problem import Arc, Job, Problem

TOLERANCE = 0.02

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """How to solve."""

    steps: int | None = 72  # of a job's own circle, 5 degrees each; None: any shift
    strict: bool = False  # two jobs at a time are too many, whatever they send
    tolerance: float = TOLERANCE  # of periods: see periods.py
    limit_s: float | None = None  # for improving and proving; None: as solve.py says
    seed: int = 1


@dataclass(frozen=True)
class Component:
    """Jobs, by index, and the resources that they contend for."""

    jobs: tuple[int, ...]
    resources: tuple[Resource, ...]
    perimeter: int  # of the unified circle, in ticks


class Layout:
    """The problem in ticks."""

    def __init__(self, problem: Problem, options: Options) -> None:
        self.problem = problem
        self.options = options
        self.ticks_per_us = options.steps or 1
        self._on_link = _users(problem.jobs, lambda job: job.links)
        self._on_gpu = _users(problem.jobs, lambda job: job.gpus)
        groups = sorted(map(sorted, connected(self._contended())))
        self.planned_us = self._planned(groups)
        self.periods = [period * self.ticks_per_us for period in self.planned_us]
        self.shifts = [job.shift_us * self.ticks_per_us for job in problem.jobs]
        self.links = {
            link.name: self._link(link.name, link.kbps, options.strict) for link in problem.links
        }
        self.components = self._components(groups)

    def step(self, job: int) -> int:
        """Ticks between two shifts of a job."""
        return self.periods[job] // self.options.steps if self.options.steps else 1

    def reference(self, component: Component) -> int | None:
        """A job that may stay at 0: turning everything by one of its steps changes nothing."""
        if any(self.problem.jobs[job].fixed for job in component.jobs):
            return None
        longest = max(component.jobs, key=lambda job: self.periods[job])
        steps = (self.step(job) for job in component.jobs)
        return longest if all(self.step(longest) % step == 0 for step in steps) else None

    def microseconds(self, ticks: int) -> float:
        """A time in ticks."""
        return ticks / self.ticks_per_us

    def _contended(self) -> Iterable[Sequence[int]]:
        """The jobs of each link and each GPU that is too small for all of them at once."""
        for link in self.problem.links:
            jobs = self._on_link[link.name]
            peaks = sum(
                max(_heights(self.problem.jobs[job].arcs, link.kbps, self.options.strict))
                for job in jobs
            )
            if peaks > link.kbps:
                yield jobs
        yield from (jobs for jobs in self._on_gpu.values() if len(jobs) > 1)

    def _planned(self, groups: Sequence[Sequence[int]]) -> list[int]:
        planned = [job.period_us for job in self.problem.jobs]
        for group in groups:
            nearby = periods.planned([planned[job] for job in group], self.options.tolerance)
            for job in group:
                planned[job] = nearby[planned[job]]
        return planned

    def _demand(self, job: int, arcs: Sequence[Arc], heights: Sequence[int]) -> Demand:
        ticks = self.ticks_per_us
        return Demand(
            job,
            self.periods[job],
            np.array([arc.start_us * ticks for arc in arcs], np.int64),
            np.array([arc.length_us * ticks for arc in arcs], np.int64),
            np.array(heights, np.float64),
        )

    def _link(self, name: str, capacity: int, strict: bool) -> Resource:
        demands = []
        for job in self._on_link[name]:
            arcs = self.problem.jobs[job].arcs
            demands.append(self._demand(job, arcs, _heights(arcs, capacity, strict)))
        return Resource(name, capacity, demands, hard=False)

    def strict_link(self, name: str) -> Resource:
        """A link on which two jobs at a time are too many."""
        return self._link(name, 1, strict=True)

    def _gpu(self, name: str) -> Resource:
        busy = ((job, self.problem.jobs[job].compute) for job in self._on_gpu[name])
        demands = [self._demand(job, arcs, [1] * len(arcs)) for job, arcs in busy if arcs]
        return Resource(name, 1, demands, hard=True)

    def _components(self, groups: Sequence[Sequence[int]]) -> list[Component]:
        of_job = {job: index for index, group in enumerate(groups) for job in group}
        resources = [link for link in self.links.values() if link.contended]
        gpus = (self._gpu(name) for name, jobs in self._on_gpu.items() if len(jobs) > 1)
        resources += [gpu for gpu in gpus if gpu.contended]
        by_group: dict[int, list[Resource]] = defaultdict(list)
        for resource in _merged(resources):
            by_group[of_job[resource.jobs[0]]].append(resource)
        return [
            Component(
                tuple(group),
                tuple(by_group[index]),
                lcm(*(self.periods[job] for job in group)),
            )
            for index, group in enumerate(groups)
        ]


def _heights(arcs: Sequence[Arc], capacity: int, strict: bool) -> list[int]:
    return [capacity if strict or arc.kbps is None else arc.kbps for arc in arcs]


def _users(jobs: Sequence[Job], things: Callable[[Job], Iterable[str]]) -> dict[str, list[int]]:
    users: dict[str, list[int]] = defaultdict(list)
    for index, job in enumerate(jobs):
        for thing in things(job):
            users[thing].append(index)
    return users


def connected(groups: Iterable[Sequence[T]]) -> list[set[T]]:
    """The components that these groups make; what is joined goes into the largest."""
    part_of: dict[T, set[T]] = {}
    for group in groups:
        parts = {id(part): part for one in group if (part := part_of.get(one))}
        whole = max(parts.values(), key=len, default=set())
        for more in (*parts.values(), group):
            if more is not whole:
                whole.update(more)
                part_of.update(dict.fromkeys(more, whole))
    return list({id(part): part for part in part_of.values()}.values())


def _merged(resources: Sequence[Resource]) -> list[Resource]:
    """Links that the same jobs load in the same way, as the hops of a path, are one, and count."""
    first: dict[object, Resource] = {}
    for resource in resources:
        loads = tuple(
            (demand.job, tuple(demand.heights / resource.capacity)) for demand in resource.demands
        )
        same = first.setdefault((resource.hard, loads), resource)
        if same is not resource:
            same.weight += 1.0
    return list(first.values())
