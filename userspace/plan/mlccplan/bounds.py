# SPDX-License-Identifier: BSD-2-Clause
"""What no rotation can avoid: lower bounds of the excess on a resource.

    load    the mean demand beyond the capacity: max(0, x - C) is convex in x
    pairs   the least that two jobs alone exceed the capacity; for demands a, b >= 0 the excess of
            a + b is at least that of a and that of b together, so disjoint pairs add up

Both are cheap, and where a search comes down to them, it is proven to have found the best.
"""

import time
from itertools import combinations
from math import gcd, lcm

import numpy as np

from .circle import Demand, Resource, fits_one_circle


class Bounds:
    """Remembers pairs: most links of a cluster see the same few kinds of job."""

    def __init__(self) -> None:
        self._known: dict[object, float] = {}

    def of(self, resource: Resource, deadline: float) -> float:
        """A lower bound of excess(), whatever the shifts; without pairs after the deadline."""
        if not resource.rotatable:
            return resource.excess(dict.fromkeys(resource.jobs, 0))
        load = sum(demand.mean for demand in resource.demands) / resource.capacity - 1
        return max(0.0, load, self._pairs(resource, deadline))

    def _pairs(self, resource: Resource, deadline: float) -> float:
        """A matching of the worst pairs, the worst first."""
        pairs = []
        for a, b in combinations(resource.demands, 2):
            if time.monotonic() > deadline:
                break
            least = self._pair(a, b, resource)
            if least > 0:
                pairs.append((least, a.job, b.job))
        total, taken = 0.0, set()
        for least, a, b in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
            if not {a, b} & taken:
                taken |= {a, b}
                total += least
        return total

    def _pair(self, a: Demand, b: Demand, resource: Resource) -> float:
        if a.peak + b.peak <= resource.capacity:
            return 0.0
        if len(a.starts) == len(b.starts) == 1 and max(a.peak, b.peak) <= resource.capacity:
            return one_arc_excess(a, b, resource.capacity)
        key = (resource.capacity, _shape(a), _shape(b))
        if key not in self._known:
            self._known[key] = pair_excess(a, b, resource.capacity)
        return self._known[key]


def one_arc_excess(a: Demand, b: Demand, capacity: float) -> float:
    """The same for two jobs of one arc each, neither of which is too much alone: without a search.

    With g = gcd of the periods, each turn of one meets the other at every multiple of g, so what
    counts is both arcs laid on a circle of g: whole rounds, which meet whatever comes, and rests,
    which can keep apart as long as there is room.
    """
    over = (a.peak + b.peak - capacity) / capacity
    length_a, length_b = int(a.lengths[0]), int(b.lengths[0])
    if not fits_one_circle([a.period, b.period]):
        return over * (length_a / a.period) * (length_b / b.period)
    common = gcd(a.period, b.period)
    (rounds_a, rest_a), (rounds_b, rest_b) = divmod(length_a, common), divmod(length_b, common)
    meet = rounds_a * length_b + rounds_b * rest_a + max(0, rest_a + rest_b - common)
    return over * meet / lcm(a.period, b.period)


def _shape(demand: Demand) -> object:
    arrays = (demand.starts, demand.lengths, demand.heights)
    return (demand.period, *(tuple(array.tolist()) for array in arrays))


def pair_excess(a: Demand, b: Demand, capacity: float) -> float:
    """The least excess of two jobs over all rotations, exactly."""
    both = Resource("", capacity, [a, b], hard=False)
    shifts = {a.job: 0, b.job: 0}
    trial = both.trial(b.job, shifts)
    candidates = trial.alignments() if len(both.circles) == 1 else np.zeros(1, np.int64)
    return float(trial.costs(candidates).min())
