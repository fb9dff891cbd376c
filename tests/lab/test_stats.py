# SPDX-License-Identifier: GPL-2.0
"""The figures of the report, on examples small enough to check by hand."""

import unittest

from mlcclab import stats


class Figures(unittest.TestCase):
    """One test per figure."""

    def test_settled(self) -> None:
        self.assertEqual(stats.settled([1, 2, 3, 4, 5, 6, 7, 8]), [3, 4, 5, 6, 7, 8])
        self.assertEqual(stats.settled([1, 2, 3]), [1, 2, 3])

    def test_percentile(self) -> None:
        values = [50.0, 10.0, 30.0, 20.0, 40.0]
        self.assertEqual(stats.percentile(values, 0), 10)
        self.assertEqual(stats.percentile(values, 50), 30)
        self.assertEqual(stats.percentile(values, 100), 50)
        self.assertAlmostEqual(stats.percentile(values, 90), 46)
        self.assertEqual(stats.percentile([7.0], 99), 7)

    def test_slowdown(self) -> None:
        # The first quarter (the 900) does not count: (110+120+130)/3 over 100.
        self.assertAlmostEqual(stats.slowdown([900, 110, 120, 130], [100] * 4), 1.2)
        # The reference changes with the batch size: (110+220)/(100+200) twice.
        self.assertAlmostEqual(stats.slowdown([110, 110, 220], [100, 100, 200]), 1.1)

    def test_ratios(self) -> None:
        # The first of four is not settled.
        self.assertEqual(stats.ratios([900, 110, 120, 300], [100, 100, 100, 200]), [1.1, 1.2, 1.5])

    def test_per_megabyte(self) -> None:
        # 30 in 20 MB; a megabyte is 10^6 bytes.
        self.assertAlmostEqual(stats.per_megabyte(30, 20_000_000) or 0.0, 1.5)
        self.assertIsNone(stats.per_megabyte(0, 0))

    def test_harm(self) -> None:
        # Ware et al.: of throughput, 100 Mb/s alone and 40 beside: 60 % is lost.
        self.assertAlmostEqual(stats.harm_less(100.0, 40.0) or 0.0, 0.6)
        # Of a time, 10 ms alone and 40 beside: three quarters of it are harm.
        self.assertAlmostEqual(stats.harm_more(10.0, 40.0) or 0.0, 0.75)
        self.assertEqual((stats.harm_less(100.0, 100.0), stats.harm_more(10.0, 10.0)), (0, 0))
        # Better beside than alone is less than none.
        self.assertLess(stats.harm_less(100.0, 110.0) or 0.0, 0)
        self.assertLess(stats.harm_more(10.0, 8.0) or 0.0, 0)
        self.assertIsNone(stats.harm_less(0.0, 1.0))
        self.assertIsNone(stats.harm_more(1.0, 0.0))

    def test_converged_at(self) -> None:
        alone = [100.0] * 30
        self.assertEqual(stats.converged_at([104.0] * 30, alone), 0)
        self.assertEqual(stats.converged_at([130.0] * 7 + [105.0] * 23, alone), 7)
        self.assertIsNone(stats.converged_at([106.0] * 30, alone))
        # Nine in a row are not ten.
        self.assertIsNone(stats.converged_at([100.0] * 9 + [120.0] + [100.0] * 9, alone[:19]))
        self.assertEqual(stats.converged_at([100.0] * 12 + [120.0] * 18, alone), 0)

    def test_jain(self) -> None:
        self.assertAlmostEqual(stats.jain([1.3, 1.3, 1.3]), 1.0)
        self.assertAlmostEqual(stats.jain([1.0, 2.0]), 9 / 10)
        self.assertAlmostEqual(stats.jain([1.0, 0.0, 0.0, 0.0]), 1 / 4)

    def test_merge_converged(self) -> None:
        self.assertEqual(stats.merge_converged([4, 6, None]), 6)
        self.assertIsNone(stats.merge_converged([4, None, None]))
