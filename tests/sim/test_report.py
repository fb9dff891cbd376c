# SPDX-License-Identifier: GPL-2.0
"""The report, of runs that are made up."""

import unittest

from common import Table, dumbbell, made_up, pairs
from mlccsim.engine import Run
from mlccsim.report import build, lines
from mlccsim.scenario import parse

ITERATIONS = 16
COLLIDE, APART = 1.5, 1.0


def report() -> Table:
    """Two jobs, two seeds; in the second one iterations take twice as long, alone as well."""
    scenario = parse("test", dumbbell(pairs(2, 0.01)) | {"iterations": ITERATIONS})
    results = {}
    for seed in (1, 2):
        collide, apart = [seed * COLLIDE] * ITERATIONS, [seed * APART] * ITERATIONS
        results[Run("dcqcn", seed)] = made_up(collide, collide)
        results[Run("interleave", seed)] = made_up(collide[:3] + apart[3:], apart)
        for job in range(2):
            results[Run("dcqcn", seed, job)] = made_up(apart)
    return build(scenario, "dcqcn", ["dcqcn", "interleave"], [1, 2], results)


class Report(unittest.TestCase):
    """Its figures."""

    def setUp(self) -> None:
        self.plain, self.ours = report()["results"]

    def test_slowdown_leaves_out_the_beginning(self) -> None:
        self.assertEqual(self.plain["slowdown_mean"]["mean"], COLLIDE)
        self.assertEqual([job["slowdown"]["mean"] for job in self.ours["jobs"]], [1, 1])

    def test_seeds_are_compared_with_themselves(self) -> None:
        """So what differs between seeds leaves the ratio's interval alone."""
        self.assertAlmostEqual(self.ours["against_first"]["mean"], APART / COLLIDE)
        self.assertAlmostEqual(self.ours["against_first"]["half"], 0)

    def test_the_table_says_it_all(self) -> None:
        shown = lines(report())
        self.assertEqual(shown[3].split()[:3], ["interleave", "job-1", "1500.00"])
        self.assertIn("interleave: 0.667 ± 0.000 times that of dcqcn, seed by seed", shown)
