# SPDX-License-Identifier: BSD-2-Clause
"""What no rotation can avoid: lower bounds of the excess on a resource.

    load    the mean demand beyond the capacity: max(0, x - C) is convex in x
    pairs   the least that two jobs alone exceed the capacity; for demands a, b >= 0 the excess of
            a + b is at least that of a and that of b together, so disjoint pairs add up

Both are cheap, and where a search comes down to them, it is proven to have found the best.
"""

import time
from itertools import combinations

import numpy as np

from .circle import Demand, Resource


def least(resource: Resource, deadline: float) -> float:
    """A lower bound of excess(), whatever the shifts; without pairs after the deadline."""
    if not resource.rotatable:
        return resource.excess(dict.fromkeys(resource.jobs, 0))
    load = sum(demand.mean for demand in resource.demands) / resource.capacity - 1
    return max(0.0, load, _pairs(resource, deadline))


def _pairs(resource: Resource, deadline: float) -> float:
    """A matching of the worst pairs, the worst first."""
    pairs = []
    for a, b in combinations(resource.demands, 2):
        if time.monotonic() > deadline:
            break
        if a.peak + b.peak > resource.capacity:
            pairs.append((pair_excess(a, b, resource.capacity), a.job, b.job))
    total, taken = 0.0, set()
    for excess, a, b in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        if not {a, b} & taken:
            taken |= {a, b}
            total += excess
    return total


def pair_excess(a: Demand, b: Demand, capacity: float) -> float:
    """The least excess of two jobs over all rotations, exactly."""
    both = Resource("", capacity, [a, b], hard=False)
    trial = both.trial(b.job, {a.job: 0, b.job: 0})
    candidates = trial.alignments() if len(both.circles) == 1 else np.zeros(1, np.int64)
    return float(trial.costs(candidates).min())
