# SPDX-License-Identifier: GPL-2.0
"""Sizes of cross traffic: the published means."""

import unittest

from mlcclab import sizes


class Sizes(unittest.TestCase):
    """As published."""

    def test_mean(self) -> None:
        self.assertEqual(sizes.mean_bytes([[0, 0], [1000, 50], [3000, 100]]), 1250)
        for name, mean in (("websearch", 1.7e6), ("storage", 41e3), ("hadoop", 122e3)):
            found = sizes.mean_bytes(sizes.SIZES[name])
            self.assertAlmostEqual(found / mean, 1, delta=0.05, msg=name)
