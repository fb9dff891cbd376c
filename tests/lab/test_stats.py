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

    def test_converged_at(self) -> None:
        alone = [100.0] * 30
        self.assertEqual(stats.converged_at([104.0] * 30, alone), 0)
        self.assertEqual(stats.converged_at([130.0] * 7 + [105.0] * 23, alone), 7)
        self.assertIsNone(stats.converged_at([106.0] * 30, alone))
        # Nine in a row are not ten.
        self.assertIsNone(stats.converged_at([100.0] * 9 + [120.0] + [100.0] * 9, alone))
        self.assertEqual(stats.converged_at([100.0] * 12 + [120.0] * 18, alone), 0)
        self.assertEqual(stats.converged_at([100.0] * 30, alone, start=12), 12)

    def test_jain(self) -> None:
        self.assertAlmostEqual(stats.jain([1.3, 1.3, 1.3]), 1.0)
        self.assertAlmostEqual(stats.jain([1.0, 2.0]), 9 / 10)
        self.assertAlmostEqual(stats.jain([1.0, 0.0, 0.0, 0.0]), 1 / 4)

    def test_merge_converged(self) -> None:
        self.assertEqual(stats.merge_converged([4, 6, None]), 6)
        self.assertIsNone(stats.merge_converged([4, None, None]))


if __name__ == "__main__":
    unittest.main()
