# SPDX-License-Identifier: GPL-2.0
"""Measured noise: the table, what is drawn from it, and how a scenario says it."""

import unittest
from statistics import median

from mlcclab import noise, stats


class Measured(unittest.TestCase):
    """Against the table's own figures."""

    def test_quantile(self) -> None:
        for part, cov in ((0.5, 0.0935), (0.03, 0.0191), (0.0, 0.0143), (1.0, 3.0136)):
            self.assertAlmostEqual(stats.interpolated(noise.QUANTILES, part), cov)

    def test_table_ascends(self) -> None:
        for column in zip(*noise.QUANTILES, strict=True):
            self.assertEqual(list(column), sorted(column))

    def test_drawn(self) -> None:
        values = [noise.drawn(seed) for seed in range(1000)]
        self.assertEqual(values[7], noise.drawn(7))
        self.assertAlmostEqual(median(values), 0.0935, delta=0.02)
        self.assertGreater(max(values), 2.0)

    def test_said(self) -> None:
        self.assertEqual((noise.parse("measured"), noise.parse(0)), (noise.MEASURED, 0.0))
        for wrong in ("much", 0.7, True, None):
            with self.assertRaisesRegex(ValueError, 'from 0 to 0.5 is wanted, or "measured"$'):
                noise.parse(wrong)
