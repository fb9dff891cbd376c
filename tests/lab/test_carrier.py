# SPDX-License-Identifier: GPL-2.0
"""Tests for how a congestion control is written."""

import unittest

from mlcclab.carrier import is_announced, is_led, is_mlcc, profile_of


class Names(unittest.TestCase):
    """mlcc, its profiles, and announced phases."""

    def test_mlcc(self) -> None:
        """What comes from a carrier."""
        for cc in ("mlcc", "mlcc:mltcp", "mlcc+hints", "mlcc:mltcp+hints", "mlcc+led"):
            self.assertTrue(is_mlcc(cc), cc)
        for cc in ("cubic", "mlccx", "xmlcc"):
            self.assertFalse(is_mlcc(cc), cc)

    def test_profile(self) -> None:
        """The profile is what stands between."""
        names = {"mlcc": "", "mlcc+hints": "", "mlcc:mltcp": "mltcp", "mlcc:mltcp+hints": "mltcp"}
        names |= {"mlcc+led": "", "mlcc:mltcp+led": "mltcp"}
        self.assertEqual({cc: profile_of(cc) for cc in names}, names)

    def test_announced(self) -> None:
        """Only with the suffix."""
        self.assertTrue(is_announced("mlcc+hints") and is_announced("mlcc:mltcp+hints"))
        self.assertFalse(is_announced("mlcc") or is_announced("mlcc:mltcp"))
        self.assertTrue(is_led("mlcc+led") and not is_announced("mlcc+led"))
        self.assertFalse(is_led("mlcc") or is_led("mlcc+hints"))
