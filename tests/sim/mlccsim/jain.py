# SPDX-License-Identifier: GPL-2.0
"""Where jobs are placed.

Jain, Kumar, Mao: Characterizing Distributed Deep Learning Training Performance in Datacenters,
figures 8 to 10.
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
CC = "reno"  # ns-3's TCP when the paper was written
FIRST = 2  # iterations, in which all jobs do the same

# The paper draws how long computing takes, and gives no number: these are assumed.
MEAN_S, DEVIATION = 0.4, 0.5
# figure, distribution, its mean and its standard deviation as parts of these
FIGURES = [
    ("8", "lognormal", 1, 1),
    ("9", "normal", 1, 1),
    ("9", "normal", 1, 1 / 2),
    ("9, 10", "normal", 1, 1 / 4),
    ("10", "normal", 1 / 2, 1 / 4),
    ("10", "normal", 1 / 4, 1 / 4),
]


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


def _times(
    scenario: Scenario, kind: str, seed: int, figure: tuple[str, str, float, float]
) -> list[float]:
    """Of all iterations of all jobs, in ms."""
    _, law, mean, deviation = figure
    part = DEVIATION * deviation / mean
    size = round(scenario.jobs[0].steps[0].bytes)
    jobs = simulate(
        replace(scenario, placed=places(kind, seed)),
        Run(CC, seed),
        steps=f"{MEAN_S * mean} {size} 0",
        noise=part if law == "normal" else 0,
        lognormal=part if law == "lognormal" else 0,
    )["jobs"]
    return [1e3 * t for t in chain(*(job["iterations_s"][FIRST:] for job in jobs))]


def placements(options: argparse.Namespace) -> None:
    """The median iteration, and how far the middle 80 % are apart."""
    scenario = find("jain-racks")

    def row(figure: tuple[str, str, float, float]) -> list[str]:
        cells = [
            figure[0],
            f"{figure[1]}, {MEAN_S * figure[2] * 1e3:.0f} ± "
            f"{1e3 * MEAN_S * DEVIATION * figure[3]:.0f}",
        ]
        for kind in KINDS:
            found = [_times(scenario, kind, seed, figure) for seed in options.seeds]
            spread = [q[-1] - q[0] for q in (quantiles(times, n=10) for times in found)]
            middle = with_half([median(times) for times in found], 0)
            cells.append(f"{middle}; {sum(spread) / len(spread):.0f}")
        return cells

    table(["figure", "computing, ms", *KINDS], map(row, FIGURES))
