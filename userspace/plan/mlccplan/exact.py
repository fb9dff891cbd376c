# SPDX-License-Identifier: BSD-2-Clause
"""The exact problem, for OR-tools' CP-SAT.

There is a literal x[j, k] for each shift k of each job j, and one of a job's is true. All ends of
arcs under all shifts cut a circle into sectors in which nothing changes, so with cover[j, k] the
demand that j at k has in a sector

    minimise  sum over sectors of length * excess / (perimeter * capacity)
    excess >= sum over j, k of cover[j, k] * x[j, k] - capacity,  excess >= 0;  0 where it is hard

Where any shift is allowed, there is an optimum in which ends of arcs meet, so all shifts are
multiples of g, the greatest common divisor of all lengths, and g is the step, if that is not too
fine.
"""

import os
import sys
import time
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from .circle import Circle, Demand, Resource
from .layout import Component, Layout
from .search import price

SHIFTS_MAX = 720  # of one job
SECTORS_MAX = 20_000  # of one circle
# sectors times shifts, of all circles: what is worth building, for a second that it may take
ENTRIES_PER_S = 400_000
ENTRIES_MAX = 20_000_000
OBJECTIVE_MAX = 1 << 55  # CP-SAT counts in whole numbers, up to 2^63


@dataclass(frozen=True)
class Answer:
    """What has been found out."""

    shifts: dict[int, int] | None  # better ones, in ticks, where there are any
    optimal: bool
    fits: bool | None  # whether there is a plan without excess


NOTHING = Answer(None, False, None)


def available() -> bool:
    """Whether OR-tools can be imported, here or from the cache that "make deps" fills."""
    try:
        import ortools  # noqa: F401
    except ImportError:
        # before Debian's own: its protobuf and pandas are too old for OR-tools
        sys.path[:0] = map(str, _site_packages())
    try:
        import ortools  # noqa: F401
    except ImportError:
        return False
    return True


def _site_packages() -> list[Path]:
    """Where "make deps" puts OR-tools, which Debian does not have: tests/deps/install.sh."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("MLCC_CACHE") or Path(base) / "mlcc")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    done = sorted(mark.parent for mark in cache.glob("plan-*/complete"))
    return [folder / "lib" / version / "site-packages" for folder in done]


def solve(layout: Layout, component: Component, start: dict[int, int], deadline: float) -> Answer:
    """Solve a component whose best known shifts are start; NOTHING where it is too large."""
    if any(len(resource.circles) > 1 for resource in component.resources):
        return NOTHING
    steps = _steps(layout, component)
    if steps is None:
        return NOTHING
    model = _Sectors(layout, component, steps)
    if not model.build(min(ENTRIES_MAX, ENTRIES_PER_S * (deadline - time.monotonic()))):
        return NOTHING
    return model.solve(_turned(layout, component, start), deadline)


def _turned(layout: Layout, component: Component, start: dict[int, int]) -> dict[int, int]:
    """The same plan with the reference at 0."""
    reference = layout.reference(component)
    by = 0 if reference is None else start[reference]
    return {job: (shift - by) % layout.periods[job] for job, shift in start.items()}


def _steps(layout: Layout, component: Component) -> dict[int, int] | None:
    """The step of each job's shifts, if there are not too many shifts."""
    if layout.options.steps:
        return {job: layout.step(job) for job in component.jobs}
    times = [layout.periods[job] for job in component.jobs]
    for resource in component.resources:
        for demand in resource.demands:
            times += [*demand.starts.tolist(), *demand.lengths.tolist()]
    times += [layout.shifts[job] for job in component.jobs if layout.problem.jobs[job].fixed]
    unit = gcd(*times)
    if max(layout.periods[job] for job in component.jobs) > SHIFTS_MAX * unit:
        return None
    return dict.fromkeys(component.jobs, unit)


class _Sectors:
    """The model."""

    def __init__(self, layout: Layout, component: Component, steps: dict[int, int]) -> None:
        from ortools.sat.python import cp_model

        self._cp = cp_model
        self._model = cp_model.CpModel()
        self._component = component
        self._seed = layout.options.seed
        self._entries = 0
        self._terms: list[Any] = []
        self._weights: list[float] = []
        self._worst = 0.0
        self._shifts = {job: _shifts(layout, component, job, steps[job]) for job in component.jobs}
        self._x = {
            job: [self._model.new_bool_var(f"{job} at {shift}") for shift in shifts]
            for job, shifts in self._shifts.items()
        }

    def build(self, entries: float) -> bool:
        """Whether the model is small enough."""
        for literals in self._x.values():
            self._model.add_exactly_one(literals)
        return all(self._add(resource, entries) for resource in self._component.resources)

    def _add(self, resource: Resource, entries: float) -> bool:
        circle = resource.circles[0]
        times = np.unique(np.concatenate([self._ends(d, circle) for d in circle.demands.values()]))
        self._entries += len(times) * sum(len(self._x[job]) for job in circle.demands)
        if len(times) > SECTORS_MAX or self._entries > entries:
            return False
        lengths = np.diff(times, append=times[0] + circle.perimeter)
        covers = [_cover(d, self._shifts[d.job], times) for d in circle.demands.values()]
        literals = [x for job in circle.demands for x in self._x[job]]
        # rows that are the same are one sector
        heights = [height for d in circle.demands.values() for height in d.heights]
        unit = gcd(int(resource.capacity), *map(int, heights))
        capacity = int(resource.capacity) // unit
        cover = np.concatenate(covers, axis=1) // unit
        rows, index = np.unique(cover, axis=0, return_inverse=True)
        length = np.bincount(index.ravel(), lengths)
        jobs_at = np.cumsum([0, *(len(self._x[job]) for job in circle.demands)])[:-1]
        peaks = np.maximum.reduceat(rows, jobs_at, axis=1).sum(axis=1)
        for row, ticks, peak in zip(rows, length, peaks, strict=True):
            if peak <= capacity:
                continue
            used = np.flatnonzero(row)
            demand = self._cp.LinearExpr.weighted_sum(
                [literals[at] for at in used], [int(row[at]) for at in used]
            )
            if resource.hard:
                self._model.add(demand <= capacity)
            else:
                weight = ticks / circle.perimeter * price(resource) / capacity
                self._add_excess(demand, capacity, int(peak) - capacity, weight)
        return True

    def _add_excess(self, demand: Any, capacity: int, most: int, weight: float) -> None:
        excess = self._model.new_int_var(0, most, "")
        self._model.add(excess >= demand - capacity)
        self._terms.append(excess)
        self._weights.append(weight)
        self._worst += weight * most

    def _ends(self, demand: Demand, circle: Circle) -> np.ndarray:
        own = np.concatenate([demand.starts, demand.starts + demand.lengths])
        turns = np.arange(0, circle.perimeter, demand.period, dtype=np.int64)
        ends = np.unique((own[:, None] + np.array(self._shifts[demand.job])) % demand.period)
        return (ends[:, None] + turns).ravel()

    def solve(self, start: dict[int, int], deadline: float) -> Answer:
        """Search until the deadline."""
        cp_model = self._cp
        scale = OBJECTIVE_MAX / (self._worst or 1.0)
        self._model.minimize(
            cp_model.LinearExpr.weighted_sum(
                self._terms, [max(1, round(weight * scale)) for weight in self._weights]
            )
        )
        for job, literals in self._x.items():
            for shift, literal in zip(self._shifts[job], literals, strict=True):
                self._model.add_hint(literal, shift == start[job])
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = self._seed
        solver.parameters.max_time_in_seconds = max(0.01, deadline - time.monotonic())
        status = solver.solve(self._model)
        if status == cp_model.INFEASIBLE:
            return Answer(None, True, False)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return NOTHING
        shifts = {
            job: next(
                shift
                for shift, literal in zip(self._shifts[job], literals, strict=True)
                if solver.boolean_value(literal)
            )
            for job, literals in self._x.items()
        }
        fits = True if solver.objective_value == 0 else None
        if fits is None and solver.best_objective_bound > 0:
            fits = False
        return Answer(shifts, status == cp_model.OPTIMAL, fits)


def _shifts(layout: Layout, component: Component, job: int, step: int) -> list[int]:
    """Those that a job may have: one if it is fixed, or if all others may turn against it."""
    jobs, period = layout.problem.jobs, layout.periods[job]
    if jobs[job].fixed:
        return [layout.shifts[job]]
    if job == layout.reference(component):
        return [0]
    return list(range(0, period, step))


def _cover(demand: Demand, shifts: list[int], times: np.ndarray) -> np.ndarray:
    """The demand in the sectors that begin at these times, a column for each shift."""
    cover = np.zeros((len(times), len(shifts)))
    within = (times[:, None] - np.array(shifts)[None, :]) % demand.period
    for start, length, height in zip(demand.starts, demand.lengths, demand.heights, strict=True):
        cover += np.where((within - start) % demand.period < length, height, 0.0)
    return cover
