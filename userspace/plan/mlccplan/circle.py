# SPDX-License-Identifier: BSD-2-Clause
"""The unified circle, and what happens on a link when jobs are rotated on it.

The model (HotNets'22 section 3; CASSINI, NSDI'24):
    a job's demand is a step function of time with the job's period; jobs that share a link are laid
    on one circle whose perimeter L is the LCM of their periods; shift t_j delays job j, that is,
    rotates its demand d_j counter-clockwise by 360 t_j / L degrees
    demand D(x) = sum of d_j(x - t_j), excess E(x) = max(0, D(x) - C) for a link of capacity C
    score = 1 - sum of E over the angles / (number of angles * C)

The sum is the integral here: arcs keep their ends, and no angle lies beside one. A score of 1 means
that the jobs fit; it is negative where more than twice the link is wanted on average.

Periods that differ may have an LCM of millions of iterations. Shifts then mean nothing: in the long
run every phase of one job meets every phase of the other. Such jobs get circles of their own, and
E is the expectation over their independent, uniform phases.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm

import numpy as np
from numpy.typing import NDArray

Ticks = NDArray[np.int64]
Floats = NDArray[np.float64]
Shifts = Sequence[int] | Mapping[int, int]  # by job

# A circle has at most so many iterations of its quickest job, and so many ticks that float64
# holds them all.
TURNS_MAX = 720
PERIMETER_MAX = 1 << 52
# Distinct sums of demand of jobs on other circles; beyond, they are put together.
SUMS_MAX = 256
ZERO = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Demand:
    """A job on a resource: step functions of one height each, in ticks within its period."""

    job: int
    period: int
    starts: Ticks
    lengths: Ticks
    heights: Floats

    @cached_property
    def by_height(self) -> list[tuple[float, Ticks, Ticks]]:
        """Each height with the starts and ends of its arcs."""
        groups = []
        for height in np.unique(self.heights):
            starts = self.starts[self.heights == height]
            groups.append((float(height), starts, starts + self.lengths[self.heights == height]))
        return groups

    @cached_property
    def peak(self) -> float:
        return float(self.heights.max())

    @cached_property
    def mean(self) -> float:
        return float(np.dot(self.lengths, self.heights)) / self.period


@dataclass(frozen=True)
class Steps:
    """A step function on a circle: heights[i] from times[i] to times[i + 1]; times[0] is 0."""

    times: Ticks
    heights: Floats
    perimeter: int

    @cached_property
    def lengths(self) -> Ticks:
        return np.append(self.times[1:], self.perimeter) - self.times

    @cached_property
    def distribution(self) -> tuple[Floats, Floats]:
        """The heights in order, and the part of the circle that each takes."""
        return _merged(self.heights, self.lengths / self.perimeter)

    def folded(self, period: int) -> "Steps":
        """The sum of its parts, laid on a circle of which the perimeter is a multiple."""
        if period == self.perimeter:
            return self
        steps = np.append(self.heights[:1], self.heights[1:] - self.heights[:-1])
        # every part begins at the height that the one before it had
        begins = np.searchsorted(self.times, np.arange(period, self.perimeter, period), "right")
        steps[0] += self.heights[begins - 1].sum()
        begins_with_step = self.times % period == 0
        begins_with_step[0] = False
        times = self.times % period
        steps[begins_with_step] = 0.0
        order = times.argsort(kind="stable")
        return Steps(times[order], steps[order].cumsum(), period)


class Circle:
    """Jobs on one resource whose periods have a small LCM."""

    def __init__(self, demands: Sequence[Demand]) -> None:
        self.demands = {demand.job: demand for demand in demands}
        self.perimeter = lcm(*(demand.period for demand in demands))

    @cached_property
    def _edges(self) -> dict[int, tuple[Ticks, Floats]]:
        """Where each job's demand steps up and down, over all turns, for a shift of 0."""
        edges = {}
        for job, demand in self.demands.items():
            turns = np.arange(0, self.perimeter, demand.period, dtype=np.int64)[:, None]
            up = (turns + demand.starts).ravel()
            down = (turns + demand.starts + demand.lengths).ravel()
            heights = np.tile(demand.heights, len(turns))
            edges[job] = (np.concatenate([up, down]), np.concatenate([heights, -heights]))
        return edges

    def total(self, shifts: Shifts, without: Container[int] = ()) -> Steps:
        """The demand of all jobs but these."""
        at = [(job, shifts[job]) for job in self.demands if job not in without]
        if not at:
            return Steps(np.zeros(1, np.int64), np.zeros(1), self.perimeter)
        raw = np.concatenate([self._edges[job][0] + shift for job, shift in at])
        steps = np.concatenate([self._edges[job][1] for job, _ in at])
        turns, times = np.divmod(raw, self.perimeter)
        order = times.argsort(kind="stable")
        times = np.concatenate([ZERO, times[order]])
        # what is there at time 0 has begun in an earlier turn
        heights = np.concatenate([[-steps.dot(turns)], steps[order]]).cumsum()
        last = np.ones(len(times), bool)
        np.not_equal(times[1:], times[:-1], out=last[:-1])
        return Steps(times[last], heights[last], self.perimeter)


def circles(demands: Sequence[Demand]) -> list[Circle]:
    """As few circles as the bounds on turns and perimeter allow, the most common period first."""
    by_period: dict[int, list[Demand]] = {}
    for demand in demands:
        by_period.setdefault(demand.period, []).append(demand)
    groups: list[list[Demand]] = []
    for period in sorted(by_period, key=lambda one: (-len(by_period[one]), one)):
        for group in groups:
            if fits_one_circle([*{demand.period for demand in group}, period]):
                group += by_period[period]
                break
        else:
            groups.append(list(by_period[period]))
    return [Circle(group) for group in groups]


def fits_one_circle(periods: Sequence[int]) -> bool:
    """Whether their LCM is small enough for one circle."""
    perimeter = lcm(*periods)
    return perimeter <= TURNS_MAX * min(periods) and perimeter <= PERIMETER_MAX


class Excess:
    """max(0, x - C), or its expectation over what jobs on other circles send meanwhile."""

    def __init__(self, capacity: float, others: Sequence[Steps]) -> None:
        sums, weights = np.zeros(1), np.ones(1)
        for steps in others:
            heights, shares = steps.distribution
            sums = np.add.outer(sums, heights).ravel()
            weights = np.multiply.outer(weights, shares).ravel()
            sums, weights = _merged(sums, weights)
        self._over = sums - capacity
        # of the sums from i on: their weight, and their weighted distance from the capacity
        self._weight = np.append(weights[::-1].cumsum()[::-1], 0.0)
        self._moment = np.append((weights * self._over)[::-1].cumsum()[::-1], 0.0)

    def __call__(self, x: Floats) -> Floats:
        if len(self._over) == 1:
            return np.maximum(0.0, x + self._over[0])
        at = np.searchsorted(self._over, -x, side="right")
        return x * self._weight[at] + self._moment[at]


def _merged(sums: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """In order, equal ones once; neighbours put together, mean kept, where there are too many."""
    distinct, bins = np.unique(sums, return_inverse=True)
    if len(distinct) > SUMS_MAX:
        bins = bins * SUMS_MAX // len(distinct)
    weight = np.bincount(bins, weights)
    return np.bincount(bins, weights * sums) / weight, weight


class Resource:
    """A link, or a GPU that jobs share: a capacity, and the demands on it."""

    def __init__(self, name: str, capacity: float, demands: Sequence[Demand], hard: bool) -> None:
        self.name = name
        self.capacity = capacity
        self.hard = hard  # no excess is allowed
        self.weight = 1.0  # how many such links there are
        self.jobs = [demand.job for demand in demands]
        self.circles = circles(demands)
        self._of_job = {job: circle for circle in self.circles for job in circle.demands}

    @property
    def demands(self) -> list[Demand]:
        return [demand for circle in self.circles for demand in circle.demands.values()]

    def demand(self, job: int) -> Demand:
        """That of one job."""
        return self._of_job[job].demands[job]

    @property
    def contended(self) -> bool:
        """Whether more can be wanted than there is."""
        return sum(one.peak for one in self.demands) > self.capacity

    @property
    def rotatable(self) -> bool:
        """Whether a shift changes anything: two jobs are on the same circle."""
        return any(len(circle.demands) > 1 for circle in self.circles)

    def excess(self, shifts: Shifts) -> float:
        """The mean excess over the capacity: 1 minus the score."""
        first, *others = (circle.total(shifts) for circle in self.circles)
        over = Excess(self.capacity, others)(first.heights)
        return float(np.dot(over, first.lengths)) / first.perimeter / self.capacity

    def busiest(self, shifts: Shifts) -> float:
        """The largest demand that ever occurs."""
        return sum(float(circle.total(shifts).heights.max()) for circle in self.circles)

    def trial(self, job: int, shifts: Shifts, without: Collection[int] = ()) -> "Trial":
        """What the resource costs as a function of one job's shift, all others staying.

        without: jobs that are not there yet.
        """
        circle = self._of_job[job]
        others = [one.total(shifts, without) for one in self.circles if one is not circle]
        rest = circle.total(shifts, {job, *without})
        return Trial(circle, job, rest, Excess(self.capacity, others), self)


class Trial:
    """One job that is rotated on one resource."""

    def __init__(
        self, circle: Circle, job: int, rest: Steps, excess: Excess, resource: Resource
    ) -> None:
        self._demand = circle.demands[job]
        self._rest = rest
        self._scale = circle.perimeter * resource.capacity
        self._excess = excess
        self._alone = excess(rest.heights)

    def costs(self, shifts: Ticks) -> Floats:
        """The mean excess over the capacity, for each of these shifts."""
        rest = self._rest
        result = np.full(len(shifts), np.dot(self._alone, rest.lengths))
        for height, starts, ends in self._demand.by_height:
            more = self._excess(rest.heights + height) - self._alone
            integral = Integral(Steps(rest.times, more, rest.perimeter).folded(self._demand.period))
            result += integral(ends[:, None] + shifts).sum(0)
            result -= integral(starts[:, None] + shifts).sum(0)
        return result / self._scale

    def alignments(self) -> Ticks:
        """Shifts at which an end of one of the job's arcs meets a step of the rest.

        Between two of these the cost is linear, so that one of them is the best of all shifts.
        """
        own = np.concatenate([self._demand.starts, self._demand.starts + self._demand.lengths])
        return np.unique((self._rest.times[:, None] - own).ravel() % self._demand.period)


class Integral:
    """That of a step function from 0 on, round and round the circle."""

    def __init__(self, steps: Steps) -> None:
        self._perimeter = steps.perimeter
        self._times = np.append(steps.times, steps.perimeter).astype(np.float64)
        self._sums = np.concatenate([np.zeros(1), (steps.heights * steps.lengths).cumsum()])

    def __call__(self, x: Ticks) -> Floats:
        turns, within = np.divmod(x, self._perimeter)
        return turns * self._sums[-1] + np.interp(within, self._times, self._sums)
