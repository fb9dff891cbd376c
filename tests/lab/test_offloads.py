# SPDX-License-Identifier: GPL-2.0
"""Who has which offload, and what makes frames."""

import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from mlcclab import bottleneck, features, link, machine, offloads
from mlcclab.errors import UsageError


def parsed(**more: Any) -> link.Link:
    """A link of 1 Gb/s, and more."""
    return link.parse({"rate": "1gbit"} | more)


def features_of(item: link.Link, device: str) -> str:
    """What the lines of sh set for a device."""
    lines = [line for line in offloads.tuning(item) if f"{device})" in line or "  *)" in line]
    return (lines or offloads.tuning(item))[0].split("'")[1]


class Parsed(unittest.TestCase):
    """What is said, and what is meant when nothing is."""

    def test_default(self) -> None:
        self.assertTrue(parsed().offloads)
        self.assertTrue(parsed(limit="128KiB").offloads)
        # one hand-over does not fit twice
        self.assertFalse(parsed(limit="100KiB").offloads)
        self.assertTrue(parsed(limit="100KiB", offloads=True).offloads)
        self.assertFalse(parsed(offloads=False).offloads)

    def test_rdma(self) -> None:
        self.assertFalse(link.parse({"rate": "60mbit"}, offloads=False).offloads)
        with self.assertRaisesRegex(UsageError, "^link.offloads: only with transport = tcp or net"):
            link.parse({"rate": "60mbit", "offloads": True}, offloads=False)

    def test_gso_bytes(self) -> None:
        self.assertEqual(parsed().gso_bytes, 65_536)
        self.assertEqual(parsed().scaled(0.2).gso_bytes, 13_107)
        self.assertEqual(parsed().scaled(0.01).gso_bytes, 3_100)
        self.assertEqual(parsed().scaled(2.0).gso_bytes, 65_536)
        self.assertEqual(parsed(offloads=False).gso_bytes, 3_100)
        self.assertEqual(parsed(offloads=False, mtu=9000).gso_bytes, 18_100)


class Moderated(unittest.TestCase):
    """Interrupts at the ends of the link."""

    def refused(self, words: str, **more: Any) -> None:
        """A link that cannot have them."""
        with self.assertRaisesRegex(UsageError, f"^link.coalesce: {words}"):
            parsed(coalesce="60us", **more)

    def test_parsed(self) -> None:
        item = parsed(coalesce="30us")
        self.assertAlmostEqual(item.coalesce, 30e-6)
        self.assertEqual(item.needs, {"coalesce"})
        self.assertEqual(parsed(coalesce="0us").needs, set())

    def test_refused(self) -> None:
        self.refused("needs offloads", offloads=False)
        # 256 frames at 10 Gb/s are 310 us, and a burst is 500
        self.refused("0us at most at this rate and MTU", rate="10gbit")
        self.assertTrue(parsed(rate="10gbit", mtu=9000, coalesce="60us").coalesce)
        with self.assertRaisesRegex(UsageError, "link.coalesce: only with transport"):
            link.parse({"rate": "60mbit", "coalesce": "30us"}, offloads=False)

    def test_timers(self) -> None:
        """Late, but not by a tick of the clock."""
        self.assertTrue(0.0 <= machine.timer_lateness_s(30e-6) < 0.05)


class Frames(unittest.TestCase):
    """Where they are made."""

    def test_token_bucket(self) -> None:
        self.assertIn("mtu 1600", offloads.cutter(parsed()))
        self.assertIn("mtu 9100", offloads.cutter(parsed(mtu=9000)))
        self.assertEqual(offloads.cutter(parsed(offloads=False)), "")

    def test_by_hosts(self) -> None:
        """Where BPF looks at packets before the queue has them."""
        for red, queue, there in (
            (True, "red-ecn", False),
            (False, "red-ecn", True),
            (False, "policer", True),
            (False, "droptail", False),
        ):
            with mock.patch.object(features, "has_qdisc", return_value=red):
                item = parsed(queue=queue)
                self.assertEqual(offloads.cut_by_hosts(item), there)
                self.assertFalse(offloads.cut_by_hosts(replace(item, offloads=False)))
                tso = "tso off" if there else "tso on"
                self.assertIn(tso, features_of(item, "eth*"))

    def test_joined(self) -> None:
        """At the end of the link, but for frames that are yet to be lost."""
        self.assertIn("tso off gso on gro on", features_of(parsed(), "core*"))
        self.assertIn("gro off", features_of(parsed(loss=0.01), "core*"))
        self.assertIn("gro off", features_of(parsed(), "h0p0"))
        self.assertIn("gro off", features_of(parsed(offloads=False), "core*"))

    def test_burst(self) -> None:
        """Half a millisecond of the rate, and never less than a few frames."""
        self.assertEqual(bottleneck.burst(1e9), 62_500)
        self.assertEqual(bottleneck.burst(8e9), 500_000)
        self.assertEqual(bottleneck.burst(1e6), 5_000)
        self.assertEqual(bottleneck.burst(1e6, 9000), 27_000)
