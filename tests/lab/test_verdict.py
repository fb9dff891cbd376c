# SPDX-License-Identifier: GPL-2.0
"""What a comparison may say, and how often it is wrong."""

import random
import unittest
from math import sqrt

from mlcclab import verdict
from mlcclab.verdict import BETTER, CANNOT_TELL, SLOWDOWN, WORSE, Comparison

SEEDS = 10
CASES = 1000
# Of the shipped scenarios some vary by a thousandth from seed to seed, and some by a tenth.
NOISES = (0.001, 0.01, 0.1)


def slowdowns(*differences: float) -> Comparison:
    """A second build that is slower by so much, seed by seed."""
    first = [1.1] * len(differences)
    return Comparison(SLOWDOWN, first, [1.1 + difference for difference in differences])


class Verdict(unittest.TestCase):
    """Sure, and large enough."""

    def test_less_is_better(self) -> None:
        self.assertEqual(slowdowns(0.02, 0.03, 0.025).verdict, WORSE)
        self.assertEqual(slowdowns(-0.02, -0.03, -0.025).verdict, BETTER)

    def test_unsure(self) -> None:
        self.assertEqual(slowdowns(0.01, 0.02, 0.03).verdict, CANNOT_TELL)

    def test_pairs_count(self) -> None:
        # Seeds differ by 0.5 from each other, the builds by 0.01 with each of them.
        first = [1.1, 1.6, 2.1]
        second = [1.11, 1.6101, 2.1102]
        self.assertEqual(Comparison(SLOWDOWN, first, second).verdict, WORSE)

    def test_too_small_to_act_on(self) -> None:
        self.assertEqual(slowdowns(0.003, 0.0031, 0.0029).verdict, CANNOT_TELL)
        self.assertEqual(slowdowns(0.0052, 0.0053, 0.0051).verdict, WORSE)

    def test_no_variance(self) -> None:
        self.assertEqual(slowdowns(0.0, 0.0, 0.0).verdict, CANNOT_TELL)
        self.assertEqual(slowdowns(0.25, 0.25, 0.25).verdict, WORSE)

    def test_too_few(self) -> None:
        self.assertEqual(slowdowns(0.5).verdict, CANNOT_TELL)
        self.assertEqual(slowdowns().verdict, CANNOT_TELL)

    def test_unknown_values_leave_in_pairs(self) -> None:
        pairs = verdict.paired(verdict.HARM, [0.1, None, 0.3, 0.4], [0.2, 0.2, None, 0.5])
        self.assertEqual((pairs.first, pairs.second), ([0.1, 0.4], [0.2, 0.5]))

    def test_mean_of_scenarios(self) -> None:
        one = Comparison(SLOWDOWN, [1.0, 1.2], [1.1, 1.3])
        other = Comparison(SLOWDOWN, [2.0, 2.2], [2.2, 2.4])
        both = verdict.mean_of([one, other])
        for found, wanted in ((both.first, [1.5, 1.7]), (both.second, [1.65, 1.85])):
            for a, b in zip(found, wanted, strict=True):
                self.assertAlmostEqual(a, b)


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

    def test_equal_builds_cannot_be_told(self) -> None:
        for noise in NOISES:
            cannot = self.verdicts(noise, 0.0).count(CANNOT_TELL) / CASES
            # 95 % are due; three standard errors of the simulation below that is a defect
            self.assertGreaterEqual(cannot, 0.95 - 3 * sqrt(0.95 * 0.05 / CASES), noise)

    def test_equal_builds_with_heavy_tails(self) -> None:
        """Retransmits: with some seeds ten times what they are with others."""
        rng, cannot = random.Random(21), 0
        for _ in range(CASES):
            runs = [[rng.lognormvariate(1.0, 1.0) for _ in range(SEEDS)] for _ in range(2)]
            cannot += Comparison(verdict.RETRANSMITS, *runs).verdict == CANNOT_TELL
        self.assertGreaterEqual(cannot / CASES, 0.95)

    def test_a_real_difference_is_found(self) -> None:
        for noise in NOISES:
            # The standard error of the mean of ten differences of two runs each, three times.
            effect = max(3 * noise * sqrt(2 / SEEDS), 2 * SLOWDOWN.least)
            found = self.verdicts(noise, effect)
            self.assertGreater(found.count(WORSE) / CASES, 0.7, noise)
            self.assertEqual(found.count(BETTER), 0, noise)
