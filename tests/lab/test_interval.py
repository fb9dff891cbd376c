# SPDX-License-Identifier: GPL-2.0
"""Student's interval, against tables and by hand."""

import unittest

from mlcclab.interval import Estimate, estimate, quantile

# Two-sided 95 %: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 30: 2.042}
TABLE |= {60: 2.000, 100: 1.984, 999: 1.962}


class Interval(unittest.TestCase):
    """What it is; test_verdict has how often it is right."""

    def test_quantile(self) -> None:
        for freedom, value in TABLE.items():
            self.assertAlmostEqual(quantile(freedom), value, delta=0.0006, msg=str(freedom))

    def test_by_hand(self) -> None:
        # Mean 2, standard deviation 1, three values: 4.303 / sqrt(3).
        found = estimate([1.0, 2.0, 3.0])
        self.assertAlmostEqual(found.mean, 2.0)
        self.assertAlmostEqual(found.half or 0.0, 2.484, delta=0.001)
        low, high = found.bounds or (0.0, 0.0)
        self.assertAlmostEqual(low, -0.484, delta=0.001)
        self.assertAlmostEqual(high, 4.484, delta=0.001)

    def test_equal_values(self) -> None:
        self.assertEqual(estimate([5.0, 5.0, 5.0]).bounds, (5.0, 5.0))

    def test_one_value_has_none(self) -> None:
        self.assertEqual(estimate([5.0]), Estimate(5.0, None))
        self.assertIsNone(estimate([5.0]).bounds)
