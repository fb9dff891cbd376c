# SPDX-License-Identifier: GPL-2.0
"""Where jobs are placed.

Jain, Kumar, Mao: Characterizing Distributed Deep Learning Training Performance in Datacenters,
figure 8.
"""

import argparse
import random
from dataclasses import replace
from itertools import chain
from statistics import median, quantiles

from .cli import find
from .engine import Run, simulate
from .papers import table, with_half
from .scenario import Scenario

RACKS = 8
CC = "reno"  # of ns-3 when the paper was written
FIRST = 2  # iterations, in which all jobs do the same

# The paper draws how long computing takes, lognormal, and gives no number: beside the scenario's
# mean this part is assumed.
DEVIATION = 0.5


def places(kind: str, seed: int) -> tuple[tuple[int, ...], ...]:
    """Each job's hosts, its server first; a rack's hosts stand next to each other."""
    every, order = range(RACKS), list(range(RACKS**2))
    if kind == "random":
        order = random.Random(seed).sample(order, RACKS**2)
    if kind in {"colocated", "random"}:
        return tuple(tuple(order[job * RACKS : (job + 1) * RACKS]) for job in every)
    turn = kind == "strided"
    return tuple(tuple((i + turn * job) % RACKS * RACKS + job for i in every) for job in every)


KINDS = ("colocated", "random", "strided", "clustered")


def _times(scenario: Scenario, kind: str, seed: int) -> list[float]:
    """Of all iterations of all jobs, in ms."""
    placed = replace(scenario, placed=places(kind, seed))
    jobs = simulate(placed, Run(CC, seed), lognormal=DEVIATION)["jobs"]
    return [1e3 * t for t in chain(*(job["iterations_s"][FIRST:] for job in jobs))]


def placements(options: argparse.Namespace) -> None:
    """The median iteration, and how far the middle 80 % are apart."""
    scenario = find("jain-racks")

    def cell(kind: str) -> str:
        found = [_times(scenario, kind, seed) for seed in options.seeds]
        spread = [q[-1] - q[0] for q in (quantiles(times, n=10) for times in found)]
        middle = with_half([median(times) for times in found], 0)
        return f"{middle}; {sum(spread) / len(spread):.0f}"

    table(KINDS, [list(map(cell, KINDS))])
