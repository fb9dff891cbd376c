# SPDX-License-Identifier: BSD-2-Clause
"""Finds good shifts for a component of any size: greedy, then descent.

    greedy      jobs are laid one after the other where they cost least, the busiest first
    descent     one job at a time moves to where it costs least, until none wants to move

Moving one job is exact: the cost of each of its shifts is known, not sampled (circle.Trial). The
whole is a heuristic.
"""

import time
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .circle import Floats, Resource, Ticks, Trial
from .layout import Component, Layout

Trials = Sequence[tuple[Resource, Trial]]

EPSILON = 1e-9  # costs nearer than this are the same
SAME = 1e-12  # of two costs that only differ by rounding
HARD_COST = 1e3  # of a resource that allows no excess
ALIGNMENTS_MAX = 4096  # candidates for one move of one job


class Search:
    """Shifts of one component's jobs, and what they cost."""

    def __init__(self, layout: Layout, component: Component) -> None:
        self._layout = layout
        jobs = layout.problem.jobs
        self.free = [job for job in component.jobs if not jobs[job].fixed]
        self._is_free = set(self.free)
        self.shifts = {job: layout.shifts[job] for job in component.jobs}
        self._resources = component.resources
        self._of_job: dict[int, list[Resource]] = defaultdict(list)
        for resource in component.resources:
            if resource.rotatable:
                for job in resource.jobs:
                    self._of_job[job].append(resource)
        self._cost = {id(resource): self._price(resource) for resource in self._resources}

    @property
    def cost(self) -> float:
        """The sum of the mean excess over all resources; what HARD_COST stands for included."""
        return sum(self._cost.values())

    def _price(self, resource: Resource) -> float:
        return resource.excess(self.shifts) * price(resource)

    def lay(self) -> None:
        """Greedy; but never worse than what was there before."""
        before, cost = dict(self.shifts), self.cost
        order = sorted(self.free, key=lambda job: (-self._load(job), job))
        missing = set(order)
        for job in order:
            missing.discard(job)
            self._move(job, missing)
        self._reprice(order)
        if cost < self.cost - EPSILON:
            self.adopt(before)

    def centre(self, deadline: float) -> None:
        """Give each job, in turn, as much room on one side as on the other; the cost stays.

        Phases are a little longer at times, and slots drift: what fits tightly hardly fits.
        """
        for job in self.free:
            resources = self._of_job[job]
            if not resources or time.monotonic() > deadline:
                continue
            trials = [(resource, resource.trial(job, self.shifts)) for resource in resources]
            shifts = np.union1d(self._candidates(job, trials), [self.shifts[job]])
            costs = _costs(trials, shifts)
            here = int(np.searchsorted(shifts, self.shifts[job]))
            middle = self._middle(job, shifts, costs <= costs[here] + SAME, here)
            # on a grid it is one of those; between alignments it is, unless some were left out
            if self._layout.options.steps or _cost_at(trials, middle) <= costs[here] + SAME:
                self.shifts[job] = middle

    def _middle(self, job: int, shifts: Ticks, good: NDArray[np.bool_], here: int) -> int:
        """Of the run of good shifts around one of them."""
        if good.all():
            return self.shifts[job]
        bad = np.flatnonzero(~np.roll(good, -here))
        period, step = self._layout.periods[job], self._layout.step(job)
        low = int(shifts[(here + bad[-1] + 1) % len(shifts)])
        high = int(shifts[(here + bad[0] - 1) % len(shifts)])
        middle = low + (high - low) % period // 2 // step * step
        return middle % period

    def _load(self, job: int) -> float:
        resources = self._of_job[job]
        loads = (r.demand(job).mean / r.capacity * price(r) for r in resources)
        return sum(loads)

    def _move(self, job: int, without: Collection[int] = ()) -> bool:
        """Move one job to where it costs least; where it is, if that is as good."""
        resources = self._of_job[job]
        if not resources:
            return False
        trials = [(resource, resource.trial(job, self.shifts, without)) for resource in resources]
        shifts = np.append(self.shifts[job], self._candidates(job, trials))
        costs = _costs(trials, shifts)
        best = int(costs.argmin())
        if costs[best] >= costs[0] - EPSILON:
            return False
        self.shifts[job] = int(shifts[best])
        return True

    def _grid(self, job: int) -> Ticks:
        steps = self._layout.options.steps or 0
        return np.arange(steps, dtype=np.int64) * self._layout.step(job)

    def _candidates(self, job: int, trials: Trials) -> Ticks:
        if self._layout.options.steps:
            return self._grid(job)
        shifts = np.unique(np.concatenate([trial.alignments() for _, trial in trials]))
        if len(shifts) > ALIGNMENTS_MAX:
            shifts = shifts[:: len(shifts) // ALIGNMENTS_MAX + 1]
        return shifts

    def descend(self, deadline: float) -> None:
        """Whoever shares something with a job that has moved is looked at again."""
        waiting = deque(self.free)
        queued = set(waiting)
        while waiting and time.monotonic() < deadline:
            job = waiting.popleft()
            queued.discard(job)
            if not self._move(job):
                continue
            self._reprice([job])
            nearby = [one for one in self._nearby(job) if one not in queued]
            waiting.extend(nearby)
            queued.update(nearby)

    def _nearby(self, job: int) -> list[int]:
        found = dict.fromkeys(one for resource in self._of_job[job] for one in resource.jobs)
        return [one for one in found if one in self._is_free and one != job]

    def adopt(self, shifts: dict[int, int]) -> None:
        """Take these."""
        self.shifts = dict(shifts)
        self._reprice(self.free)

    def _reprice(self, jobs: Iterable[int]) -> None:
        touched = {id(resource): resource for job in jobs for resource in self._of_job[job]}
        for key, resource in touched.items():
            self._cost[key] = self._price(resource)


def _costs(trials: Trials, shifts: Ticks) -> Floats:
    costs = np.zeros(len(shifts))
    for resource, trial in trials:
        costs += trial.costs(shifts) * price(resource)
    return costs


def _cost_at(trials: Trials, shift: int) -> float:
    return float(_costs(trials, np.array([shift]))[0])


def price(resource: Resource) -> float:
    """What the mean excess of a resource is multiplied by in the cost of a plan."""
    return resource.weight * (HARD_COST if resource.hard else 1.0)
