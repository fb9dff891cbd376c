# SPDX-License-Identifier: BSD-2-Clause
"""Solves a problem: bounds, search, and what is left to CP-SAT.

A component is proven when its cost is down to a lower bound, however the shifts were found, or when
CP-SAT says so. Everything else is a heuristic's result and is marked so.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import bounds, exact
from .layout import Component, Layout, Options
from .search import EPSILON, Search, price

# Without a limit: time for proofs where there are few jobs; else little, and more for every job
# beyond so many.
LIMIT_FEW_S = 5.0
FEW_JOBS = 20
LIMIT_S = 0.3
LIMIT_JOBS = 100
LIMIT_S_PER_JOB = 0.01
# Importing OR-tools alone takes half a second, and CP-SAT proves little about more jobs than these
# in a few seconds.
EXACT_LIMIT_S = 1.0
CENTRE_SHARE = 0.2
CENTRE_S = 0.1  # even where the time is up
BOUNDS_SHARE = 0.25  # of the time that is left then
EXACT_SHARE = 0.5  # of the limit
EXACT_JOBS = 12
EXACT_JOBS_PER_S = 2


@dataclass
class Outcome:
    """What is known of one component."""

    component: Component
    search: Search
    bound: float  # no plan has a lower cost
    link_bound: float  # the links' part of it
    method: str = "search"  # how the shifts were found
    fits: bool | None = None
    optimal: bool = False

    @property
    def never(self) -> bool:
        """Whether no shifts at all avoid excess, whatever the precision."""
        return self.bound > EPSILON

    def settle(self) -> None:
        """Take in what cost and bound say together."""
        cost = self.search.cost
        if cost <= self.bound + EPSILON:
            self.optimal = True
        if cost <= EPSILON:
            self.fits = True
        elif self.never:
            self.fits = False

    @property
    def least_on_links(self) -> float:
        """What the links' excess adds up to at least."""
        if not self.optimal or not self.feasible:
            return self.link_bound
        links = (one for one in self.component.resources if not one.hard)
        return sum(one.excess(self.search.shifts) * price(one) for one in links)

    @property
    def feasible(self) -> bool:
        """Whether no GPU computes for two jobs at once."""
        hard = (one for one in self.component.resources if one.hard)
        return all(one.excess(self.search.shifts) <= EPSILON for one in hard)


@dataclass(frozen=True)
class Solution:
    """Shifts for all jobs, in ticks."""

    layout: Layout
    shifts: list[int]
    outcomes: Sequence[Outcome]
    seconds: float
    without_cp_sat: bool  # it was wanted, and is not there


def limit_s(options: Options, count: int) -> float:
    """How long to improve and prove so many jobs."""
    if options.limit_s is not None:
        return options.limit_s
    if count <= FEW_JOBS:
        return LIMIT_FEW_S
    return LIMIT_S + LIMIT_S_PER_JOB * max(0, count - LIMIT_JOBS)


def solve(layout: Layout) -> Solution:
    """Find shifts; never worse than those that the jobs have."""
    begun = time.monotonic()
    limit = limit_s(layout.options, len(layout.problem.jobs))
    deadline = begun + limit
    with_cp_sat = limit >= EXACT_LIMIT_S
    outcomes = _search(layout, begun + limit * (1 - CENTRE_SHARE - with_cp_sat * EXACT_SHARE))
    most = EXACT_JOBS + EXACT_JOBS_PER_S * limit
    small = [one for one in outcomes if not one.optimal and len(one.component.jobs) <= most]
    without = with_cp_sat and bool(small) and not exact.available()
    if small and with_cp_sat and not without:
        _prove(layout, small, begun + limit * (1 - CENTRE_SHARE))
    shifts = list(layout.shifts)
    for outcome in outcomes:
        outcome.search.centre(max(deadline, time.monotonic() + CENTRE_S))
        for job, shift in outcome.search.shifts.items():
            shifts[job] = shift % layout.periods[job]
    return Solution(layout, shifts, outcomes, time.monotonic() - begun, without)


def check(layout: Layout) -> Solution:
    """The shifts that the jobs have, and what the bounds say of better ones."""
    begun = time.monotonic()
    deadline = begun + limit_s(layout.options, len(layout.problem.jobs))
    outcomes = []
    for component in layout.components:
        outcome = _outcome(component, Search(layout, component), deadline)
        outcome.settle()
        outcomes.append(outcome)
    seconds = time.monotonic() - begun
    return Solution(layout, list(layout.shifts), outcomes, seconds, without_cp_sat=False)


def _outcome(component: Component, search: Search, deadline: float) -> Outcome:
    least = [(one, bounds.least(one, deadline) * price(one)) for one in component.resources]
    links = sum(cost for one, cost in least if not one.hard)
    return Outcome(component, search, sum(cost for _, cost in least), links)


def _search(layout: Layout, deadline: float) -> list[Outcome]:
    """Greedy in all components; the rest of the search where that is not the best yet."""
    outcomes = []
    for component in layout.components:
        search = Search(layout, component)
        search.lay()
        now = time.monotonic()
        until = now + max(0.0, deadline - now) * BOUNDS_SHARE
        outcomes.append(_outcome(component, search, until))
    for outcome, until in _shares(outcomes, deadline):
        outcome.settle()
        if not outcome.optimal:
            outcome.search.descend(until)
            outcome.settle()
    return outcomes


def _shares(outcomes: Sequence[Outcome], deadline: float) -> Iterator[tuple[Outcome, float]]:
    """Each with the end of its share of the time that is left then."""
    for index, outcome in enumerate(outcomes):
        now = time.monotonic()
        yield outcome, now + (deadline - now) / (len(outcomes) - index)


def _prove(layout: Layout, outcomes: Sequence[Outcome], deadline: float) -> None:
    """CP-SAT for the small ones, the smallest first, each with its share of the time."""
    ordered = sorted(outcomes, key=lambda one: len(one.component.jobs))
    for outcome, until in _shares(ordered, deadline):
        _take(outcome, exact.solve(layout, outcome.component, outcome.search.shifts, until))


def _take(outcome: Outcome, answer: exact.Answer) -> None:
    before = outcome.search.cost
    if answer.shifts is not None:
        kept = dict(outcome.search.shifts)
        outcome.search.adopt(answer.shifts)
        if outcome.search.cost > before + EPSILON:
            outcome.search.adopt(kept)
        elif outcome.search.cost < before - EPSILON:
            outcome.method = "cp-sat"
    outcome.settle()
    outcome.optimal = outcome.optimal or answer.optimal
    if outcome.fits is None:
        outcome.fits = answer.fits
