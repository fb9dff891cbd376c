# SPDX-License-Identifier: GPL-2.0
"""Feasibility and score against brute force, on random small problems."""

import random
import unittest
from itertools import product
from math import lcm

import numpy as np

from common import Json, answer
from mlccplan import exact

COUNT = 500  # of each kind: any shift, and shifts on a grid
PERIODS = (4, 6, 8, 12)
STEPS = 4
EPSILON = 1e-6


def random_problem(draw: random.Random) -> Json:
    """Two to four jobs of one or two arcs on one or two links, in whole milliseconds."""
    links = [{"name": f"l{i}", "gbps": draw.choice((2, 3, 4))} for i in range(draw.randint(1, 2))]
    jobs = []
    for index in range(draw.randint(2, 4)):
        period = draw.choice(PERIODS)
        cuts = sorted(draw.sample(range(period), draw.choice((2, 2, 4))))
        arcs = [
            {"start_ms": start, "length_ms": end - start, "gbps": draw.randint(1, 3)}
            for start, end in zip(cuts[::2], cuts[1::2], strict=True)
        ]
        names = [link["name"] for link in links]
        route = draw.sample(names, draw.randint(1, len(names)))
        jobs.append({"name": f"j{index}", "period_ms": period, "arcs": arcs, "routes": [route]})
    return {"links": links, "jobs": jobs}


def demand(job: Json, perimeter: int, per_ms: int, shift: int) -> np.ndarray:
    """In each part of a millisecond of the circle."""
    wave = np.zeros(job["period_ms"] * per_ms)
    for arc in job["arcs"]:
        begin = arc["start_ms"] * per_ms
        wave[begin : begin + arc["length_ms"] * per_ms] += arc["gbps"]
    return np.tile(np.roll(wave, shift), perimeter // job["period_ms"])


def brute_force(document: Json, per_ms: int, steps: int | None) -> float:
    """The least sum over the links of excess over capacity, by trying everything."""
    best = np.inf
    jobs = document["jobs"]
    perimeter = lcm(*(job["period_ms"] for job in jobs))
    grids = [
        range(0, j["period_ms"] * per_ms, j["period_ms"] * per_ms // (steps or 10**9) or 1)
        for j in jobs
    ]
    if steps is None:
        grids[0] = range(1)  # turning everything changes nothing
    waves = [
        [demand(job, perimeter, per_ms, shift) for shift in grid]
        for job, grid in zip(jobs, grids, strict=True)
    ]
    users = [
        (link["gbps"], [i for i, job in enumerate(jobs) if link["name"] in job["routes"][0]])
        for link in document["links"]
    ]
    for at in product(*(range(len(grid)) for grid in grids)):
        cost = 0.0
        for gbps, on_it in users:
            total = sum((waves[i][at[i]] for i in on_it), np.zeros(perimeter * per_ms))
            cost += float(np.maximum(0, total - gbps).mean()) / gbps
        best = min(best, cost)
    return float(best)


def cost(document: Json, found: Json) -> float:
    """The same sum, of the shifts in an answer."""
    per_ms = 12
    shifts = [round(job["shift_ms"] * per_ms) for job in found["jobs"]]
    jobs = document["jobs"]
    perimeter = lcm(*(job["period_ms"] for job in jobs))
    total = 0.0
    for link in document["links"]:
        waves = [
            demand(job, perimeter, per_ms, shift)
            for job, shift in zip(jobs, shifts, strict=True)
            if link["name"] in job["routes"][0]
        ]
        wanted = sum(waves, np.zeros(perimeter * per_ms))
        total += float(np.maximum(0, wanted - link["gbps"]).mean()) / link["gbps"]
    return total


class Exactness(unittest.TestCase):
    """What brute force finds, no more and no less."""

    def setUp(self) -> None:
        if not exact.available():
            self.skipTest("OR-tools is not here: make deps")

    def compare(self, seed: int, steps: int | None) -> None:
        document = random_problem(random.Random(seed))
        least = brute_force(document, 1 if steps is None else STEPS, steps)
        found = answer(document, steps=steps, tolerance=0.0, limit_s=60)
        self.assertTrue(found["proven"], f"seed {seed}: {found}")
        self.assertEqual(found["compatible"], least < EPSILON, f"seed {seed}: {least} {found}")
        self.assertAlmostEqual(cost(document, found), least, 6, f"seed {seed}: {found}")
        shared = {name for link in found["links"] for name in [link["name"]]}
        scored = sum(1 - link["score"] for link in found["links"])
        alone = cost(
            {**document, "links": [one for one in document["links"] if one["name"] in shared]},
            found,
        )
        self.assertAlmostEqual(scored, alone, 6, f"seed {seed}: {found}")

    def test_any_shift(self) -> None:
        for seed in range(COUNT):
            self.compare(seed, None)

    def test_shifts_on_a_grid(self) -> None:
        for seed in range(COUNT, 2 * COUNT):
            self.compare(seed, STEPS)
