# SPDX-License-Identifier: GPL-2.0
"""Cross traffic: what it loads, how long flows take, sweeps of loads."""

import json
import unittest
from statistics import median

from common import LINE_BPS, Table, dumbbell, front_end, pairs, run, tcp_pairs
from mlcclab import fct

STORAGE = 40_870  # bytes of a flow, on the average


def cross(load: float, sizes: str = "storage", **more: object) -> Table:
    """The flows."""
    return {"name": "cross", "workload": "background", "load": load, "sizes": sizes} | more


def flows(table: Table, cc: str, stop: str) -> list[list[float]]:
    """Of a scenario of nothing else: when they came, what they took, would take alone, bytes."""
    found: list[list[float]] = run(table, cc, stop=stop)["jobs"][0]["flows"]
    return found


def tcp(load: float, sizes: str = "storage", **more: object) -> Table:
    """Between the hosts of test_tcp's jobs."""
    return tcp_pairs(1, "droptail") | {"job": [cross(load, sizes, **more)]}


class Arrivals(unittest.TestCase):
    """How many flows come, and from where."""

    def test_a_fat_tree_has_the_load_of_each_host(self) -> None:
        topology = {"kind": "fat-tree", "rate": "10gbit", "k": 4}
        table = {"topology": topology, "rdma": {"header": 0}, "job": [cross(0.3)]}
        result = run(table, stop="100ms")
        job = result["jobs"][0]
        bps = 8 * job["delivered"] / result["simulated_s"]
        self.assertAlmostEqual(bps / (16 * LINE_BPS), 0.3, delta=0.03)
        self.assertAlmostEqual(job["delivered"] / len(job["flows"]) / STORAGE, 1, delta=0.1)

    def test_a_dumbbell_has_the_load_from_the_left_to_the_right(self) -> None:
        """Of eight hosts: none stays on its side, where links are faster."""
        table = dumbbell([*pairs(4, 1e-5), cross(0.8)], topology={"bottleneck": "5gbit"})
        found = run(table, stop="100ms")["jobs"][-1]["flows"]
        self.assertAlmostEqual(len(found) / (0.8 * 0.1 * 5e9 / 8 / STORAGE), 1, delta=0.1)
        self.assertTrue(all(alone > 8 * nbytes / 5e9 for _, _, alone, nbytes in found))


class Flows(unittest.TestCase):
    """What they take."""

    def test_alone_they_take_no_longer_than_that(self) -> None:
        """But for switches, which store and forward: that counts for small ones."""
        for table, cc, stop in (
            (dumbbell([cross(0.1, "websearch")]), "dcqcn", "400ms"),
            (tcp(0.03, "websearch"), "cubic", "40s"),
        ):
            with self.subTest(cc):
                found = flows(table, cc, stop)
                large = [took / alone for _, took, alone, nbytes in found if nbytes > 100_000]
                self.assertGreater(len(large), 5)
                self.assertGreater(min(took / alone for _, took, alone, _ in found), 0.5)
                self.assertGreater(median(large), 1)
                self.assertLess(median(large), 1.1)

    def test_they_do_not_care_what_jobs_run(self) -> None:
        """CUBIC and plain DCQCN; a load at which that would be seen."""
        for table, ccs in (
            (dumbbell([cross(0.9)]), ("dcqcn", "interleave")),
            (tcp(0.9), ("cubic", "dctcp", "interleave")),
        ):
            first, *others = (flows(table, cc, "100ms") for cc in ccs)
            self.assertGreater(max(took / alone for _, took, alone, _ in first), 3)
            for other in others:
                self.assertEqual(first, other)


class Summary(unittest.TestCase):
    """Percentiles by size."""

    def test_bins_and_the_part_of_the_time_that_counts(self) -> None:
        times = [0.0, 2.4, 2.5, 5.0, 8.9, 9.0]
        found = fct.summary([[t, 1 + t, 0.5, 10_000] for t in times] + [[5, 1, 1, 10_001]], 10)
        self.assertEqual([b["flows"] for b in found], [3, 1, 0, 0])
        self.assertEqual(found[0]["p50"], 12)
        self.assertAlmostEqual(found[0]["p99"], 19.8 - 0.02 * 7.8)
        self.assertIsNone(found[2]["p99"])

    def test_seeds_are_compared_with_themselves(self) -> None:
        """Twice and half as long is as long."""
        ours, theirs = (
            fct.by_size([[{"flows": 9, "p50": 1, "p99": p99}] * 4 for p99 in p99s])
            for p99s in ((2, 20), (1, 40))
        )
        fct.compare(ours, theirs)
        self.assertAlmostEqual(ours[0]["p99_against_first"]["mean"], 1)
        self.assertGreater(ours[0]["p99_against_first"]["high"], 2)
        self.assertEqual(ours[0]["flows"], 18)


SCENARIO = """
iterations = 8
[topology]
kind = "dumbbell"
rate = "10gbit"
[[job]]
name = "job"
bytes = 1_000_000
compute = "1ms"
"""
FLOWS = """[[job]]
name = "cross"
workload = "background"
load = 0.1
sizes = "storage"
"""


class Sweep(unittest.TestCase):
    """The commands."""

    def test_each_load_has_a_report(self) -> None:
        words = ("--load", "0,0.3,0.6", "--cc", "dcqcn,interleave", "--seeds", "1-2")
        shown = front_end(SCENARIO + FLOWS, *words).stdout
        self.assertRegex(shown, r"interleave +cross +<= 10 kB +\d+ ")
        found = json.loads(front_end(SCENARIO + FLOWS, *words, "--json", "-").stdout)
        self.assertEqual(found["line_gbps"], 10)
        self.assertEqual([part["load"] for part in found["sweep"]], [0, 0.3, 0.6])
        means = [part["results"][0]["jobs"][0]["mean_ms"] for part in found["sweep"]]
        self.assertLess(means[0], means[1])
        self.assertLess(means[1], means[2])
        bins = found["sweep"][2]["results"][1]["jobs"][1]["fct"]
        self.assertEqual([b["to_bytes"] for b in bins], [10**4, 10**5, 10**6, None])
        self.assertGreater(bins[0]["flows"], bins[2]["flows"])
        self.assertIn("mean", bins[0]["p99_against_first"])

    def test_what_is_wrong_is_one_line(self) -> None:
        for text, load, expected in (
            (SCENARIO + FLOWS, "0.5,0.2", "is not rising numbers from 0 to 1"),
            (SCENARIO + FLOWS, "0.5,2", "is not rising numbers from 0 to 1"),
            (SCENARIO, "0.5", "no background flows"),
        ):
            with self.subTest(expected):
                done = front_end(text, "--load", load)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))
                self.assertIn(expected, done.stderr)
