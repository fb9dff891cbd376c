# SPDX-License-Identifier: BSD-2-Clause
"""Finds good shifts for a component of any size: greedy, descent, then iterated local search.

    greedy      jobs are laid one after the other where they cost least, the busiest first
    descent     one job at a time moves to where it costs least, until none wants to move
    iterated    one job of a crowded resource goes anywhere, a few others are laid around it, then
                descent; kept unless it got worse

Moving one job is exact: the cost of each of its shifts is known, not sampled (circle.Trial). The
whole is a heuristic. It draws from a generator with a fixed seed, but how far it comes depends on
the time that it has.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from .circle import Floats, Resource, Ticks, Trial
from .layout import Component, Layout

Progress = Callable[[str, float], None]
Trials = Sequence[tuple[Resource, Trial]]

EPSILON = 1e-9  # costs nearer than this are the same
SAME = 1e-12  # of two costs that only differ by rounding
HARD_COST = 1e3  # of a resource that allows no excess
ALIGNMENTS_MAX = 4096  # candidates for one move of one job
TAKEN_MAX = 4  # jobs that one round of the iterated search lays again
ALL_MAX = 100  # moves of the last job: how many plans for the others are few
STALE_ROUNDS = 60  # per job, without an improvement, before it gives up


class Search:
    """Shifts of one component's jobs, and what they cost."""

    def __init__(self, layout: Layout, component: Component, progress: Progress) -> None:
        self._layout = layout
        self._progress = progress
        self._random = np.random.default_rng(layout.options.seed)
        jobs = layout.problem.jobs
        self.free = [job for job in component.jobs if not jobs[job].fixed]
        self._is_free = set(self.free)
        self._reference = layout.reference(component)
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
        self._lay(sorted(self.free, key=lambda job: (-self._load(job), job)))
        if cost < self.cost - EPSILON:
            self._restore(before)

    def descend(self, deadline: float) -> None:
        """The descent, of all jobs."""
        self._progress("improving", 0.0)
        self._descend(self.free, deadline)

    def try_all(self) -> bool:
        """Try every plan there is, if these are few; whether they were."""
        movable = [job for job in self.free if job != self._reference]
        *outer, last = movable or [None]
        steps = self._layout.options.steps
        if last is None or (outer if steps is None else steps ** len(outer) > ALL_MAX):
            return last is None
        best, cost = dict(self.shifts), self.cost
        if self._reference is not None:
            self.shifts[self._reference] = 0
        for at in product(*(self._grid(job).tolist() for job in outer)):
            self.shifts.update(zip(outer, at, strict=True))
            self._move(last)
            self._reprice(self.free)
            if self.cost < cost - EPSILON:
                best, cost = dict(self.shifts), self.cost
        self._restore(best)
        return True

    def iterate(self, deadline: float, target: float, rounds: int = STALE_ROUNDS) -> None:
        """The iterated part, down to a cost that cannot be less; rounds: see STALE_ROUNDS."""
        stale, begun = 0, time.monotonic()
        while self.cost > target + EPSILON and stale < rounds * len(self.free):
            now = time.monotonic()
            if now > deadline:
                return
            self._progress("improving", (now - begun) / (deadline - begun))
            stale = 0 if self._round(deadline) else stale + 1

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

    def _lay(self, order: Sequence[int]) -> None:
        """Take these jobs off, and put them back one by one."""
        missing = set(order)
        for index, job in enumerate(order):
            if len(order) > TAKEN_MAX:
                self._progress("laying jobs", index / len(order))
            missing.discard(job)
            self._move(job, missing)
        self._reprice(order)

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
            shifts = self._random.choice(shifts, ALIGNMENTS_MAX, replace=False)
        return shifts

    def _descend(self, jobs: Iterable[int], deadline: float) -> list[int]:
        """Returns who has moved."""
        waiting, moved = deque(jobs), []
        queued = set(waiting)
        while waiting and time.monotonic() < deadline:
            job = waiting.popleft()
            queued.discard(job)
            if not self._move(job):
                continue
            moved.append(job)
            self._reprice([job])
            nearby = [one for one in self._nearby([job]) if one != job and one not in queued]
            waiting.extend(nearby)
            queued.update(nearby)
        return moved

    def _round(self, deadline: float) -> bool:
        """One round of the iterated search; whether it got better."""
        before, cost = dict(self.shifts), self.cost
        taken = self._pick()
        if not taken:
            return False
        self._kick(taken[0])
        self._lay(taken[1:])
        moved = self._descend(self._nearby(taken), deadline)
        if self.cost > cost + EPSILON:
            self._restore(before, {*taken, *moved})
        return self.cost < cost - EPSILON

    def _pick(self) -> list[int]:
        """Some free jobs of a resource, one with much excess more likely, in a random order."""
        costs = np.array([self._cost[id(resource)] for resource in self._resources])
        if costs.sum() <= 0:
            return []
        chosen = self._resources[self._random.choice(len(costs), p=costs / costs.sum())]
        jobs = [job for job in chosen.jobs if job in self._is_free]
        count = min(len(jobs), int(self._random.integers(1, TAKEN_MAX + 1)))
        return [jobs[index] for index in self._random.permutation(len(jobs))[:count]]

    def _kick(self, job: int) -> None:
        """Put it anywhere; the others are laid around it."""
        count = self._layout.options.steps or self._layout.periods[job]
        self.shifts[job] = int(self._random.integers(count)) * self._layout.step(job)
        self._reprice([job])

    def _nearby(self, jobs: Iterable[int]) -> list[int]:
        found: dict[int, None] = {}
        for job in jobs:
            for resource in self._of_job[job]:
                found.update((one, None) for one in resource.jobs if one in self._is_free)
        return list(found)

    def _restore(self, shifts: dict[int, int], moved: Iterable[int] | None = None) -> None:
        self.shifts = shifts
        self._reprice(self.free if moved is None else moved)

    def adopt(self, shifts: dict[int, int]) -> None:
        """Take shifts that somebody else has found."""
        self._restore(dict(shifts))

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
