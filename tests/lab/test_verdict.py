# SPDX-License-Identifier: GPL-2.0
"""The figures of a report, on examples small enough to check by hand; what may be said of two."""

import random
import unittest
from math import sqrt

from mlcclab import stats, verdict
from mlcclab.interval import Estimate, estimate, quantile
from mlcclab.verdict import BETTER, CANNOT_TELL, SLOWDOWN, WORSE, Comparison

SEEDS = 10
CASES = 1000
# Of the shipped scenarios some vary by a thousandth from seed to seed, and some by a tenth.
NOISES = (0.001, 0.01, 0.1)

# Two-sided 95 %: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 30: 2.042, 999: 1.962}


class Figures(unittest.TestCase):
    """Those that test_report does not follow."""

    def test_quantile(self) -> None:
        for freedom, value in TABLE.items():
            self.assertAlmostEqual(quantile(freedom), value, delta=0.0006, msg=str(freedom))

    def test_interval(self) -> None:
        # Mean 2, standard deviation 1, three values: 4.303 / sqrt(3).
        low, high = estimate([1.0, 2.0, 3.0]).bounds or (0.0, 0.0)
        self.assertAlmostEqual(low, -0.484, delta=0.001)
        self.assertAlmostEqual(high, 4.484, delta=0.001)
        self.assertEqual(estimate([5.0, 5.0, 5.0]).bounds, (5.0, 5.0))
        self.assertEqual(estimate([5.0]), Estimate(5.0, None))

    def test_percentile(self) -> None:
        values = [50.0, 10.0, 30.0, 20.0, 40.0]
        for percent, value in ((0, 10), (50, 30), (90, 46), (100, 50)):
            self.assertAlmostEqual(stats.percentile(values, percent), value)

    def test_harm(self) -> None:
        # Better beside than alone is less than none.
        self.assertLess(stats.harm_less(100.0, 110.0) or 0.0, 0)
        self.assertLess(stats.harm_more(10.0, 8.0) or 0.0, 0)
        self.assertIsNone(stats.harm_less(0.0, 1.0))
        self.assertIsNone(stats.harm_more(1.0, 0.0))

    def test_converged_at(self) -> None:
        alone = [100.0] * 30
        self.assertEqual(stats.converged_at([130.0] * 7 + [105.0] * 23, alone), 7)
        self.assertIsNone(stats.converged_at([106.0] * 30, alone))
        # Nine in a row are not ten.
        self.assertIsNone(stats.converged_at([100.0] * 9 + [120.0] + [100.0] * 9, alone[:19]))
        self.assertEqual(stats.merge_converged([4, 6, None]), 6)
        self.assertIsNone(stats.merge_converged([4, None, None]))

    def test_jain(self) -> None:
        self.assertAlmostEqual(stats.jain([1.0, 2.0]), 9 / 10)


def slowdowns(*differences: float) -> Comparison:
    """A second build that is slower by so much, seed by seed."""
    first = [1.1] * len(differences)
    return Comparison(SLOWDOWN, first, [1.1 + difference for difference in differences])


class Verdict(unittest.TestCase):
    """Sure, and large enough."""

    def test_differences(self) -> None:
        for differences, said in (
            ((0.02, 0.03, 0.025), WORSE),
            ((-0.02, -0.03, -0.025), BETTER),
            ((0.01, 0.02, 0.03), CANNOT_TELL),  # unsure
            ((0.003, 0.0031, 0.0029), CANNOT_TELL),  # too small to act on
            ((0.25, 0.25, 0.25), WORSE),
            ((0.0, 0.0, 0.0), CANNOT_TELL),
            ((0.5,), CANNOT_TELL),
            ((), CANNOT_TELL),
        ):
            self.assertEqual(slowdowns(*differences).verdict, said, differences)

    def test_pairs_count(self) -> None:
        # Seeds differ by 0.5 from each other, the builds by 0.01 with each of them.
        self.assertEqual(
            Comparison(SLOWDOWN, [1.1, 1.6, 2.1], [1.11, 1.6101, 2.1102]).verdict, WORSE
        )

    def test_unknown_values_leave_in_pairs(self) -> None:
        pairs = verdict.paired(verdict.HARM, [0.1, None, 0.3, 0.4], [0.2, 0.2, None, 0.5])
        self.assertEqual((pairs.first, pairs.second), ([0.1, 0.4], [0.2, 0.5]))


class Errors(unittest.TestCase):
    """By simulation: a seed does much to both builds, and chance something to each run."""

    def verdicts(self, noise: float, effect: float) -> list[str]:
        """Of many comparisons, the second build slower by so much."""
        rng, found = random.Random(20), []
        for _ in range(CASES):
            by_seed = [1.2 + abs(rng.gauss(0.0, 0.1)) for _ in range(SEEDS)]
            first = [value + rng.gauss(0.0, noise) for value in by_seed]
            second = [value + effect + rng.gauss(0.0, noise) for value in by_seed]
            found.append(Comparison(SLOWDOWN, first, second).verdict)
        return found

    def test_equal_builds_cannot_be_told_and_a_difference_is_found(self) -> None:
        for noise in NOISES:
            cannot = self.verdicts(noise, 0.0).count(CANNOT_TELL) / CASES
            # 95 % are due; three standard errors of the simulation below that is a defect
            self.assertGreaterEqual(cannot, 0.95 - 3 * sqrt(0.95 * 0.05 / CASES), noise)
            # The standard error of the mean of ten differences of two runs each, three times.
            effect = max(3 * noise * sqrt(2 / SEEDS), 2 * SLOWDOWN.least)
            found = self.verdicts(noise, effect)
            self.assertGreater(found.count(WORSE) / CASES, 0.7, noise)
            self.assertEqual(found.count(BETTER), 0, noise)
