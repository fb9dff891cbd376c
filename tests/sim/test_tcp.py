# SPDX-License-Identifier: GPL-2.0
"""TCP hosts: ns-3's congestion controls, and mlcc's core around its sockets."""

import unittest
from statistics import fmean

from common import PERIOD_S, Table, run, slowdown, tcp_pairs


def late(result: Table) -> float:
    """Mean slowdown of the last third."""
    times = [job["iterations_s"] for job in result["jobs"]]
    return fmean(fmean(took[len(took) * 2 // 3 :]) for took in times) / PERIOD_S


def rings(copies: int) -> Table:
    """The same link, of two hosts each, which send as much one way as the other."""
    table = tcp_pairs(1, "droptail")
    ring = {"workload": "ring", "hosts": 2, "bytes": 1_000_000, "compute": "55ms"}
    table["job"] = [{"name": "ring", "copies": copies, "noise": 0.02} | ring]
    return table


class Tcp(unittest.TestCase):
    """Two jobs that need the link for 45 % of their time."""

    def compare(self, queue: str, base: str) -> tuple[Table, Table]:
        table = tcp_pairs(2, queue)
        plain, ours = (run(table, cc, iterations=16) for cc in (base, "interleave"))
        self.assertLess(late(ours), 1.02)
        self.assertLess(slowdown(ours), slowdown(plain) - 0.05)
        return plain, ours

    def test_they_come_apart_where_packets_are_dropped(self) -> None:
        for result in self.compare("droptail", "cubic"):
            network = result["network"]
            self.assertEqual(network["marked"], 0)
            self.assertGreater(network["dropped"], 0)
            self.assertGreaterEqual(network["again"], network["dropped"])

    def test_they_come_apart_where_packets_are_marked(self) -> None:
        for result in self.compare("ecn", "dctcp"):
            network = result["network"]
            self.assertEqual((network["dropped"], network["again"]), (0, 0))
            self.assertGreater(network["marked"], 0)

    def test_a_job_alone_has_the_link(self) -> None:
        """After a first slow start, which may cost a time-out."""
        for cc in ("cubic", "reno", "dctcp", "interleave"):
            with self.subTest(cc):
                result = run(tcp_pairs(1, "droptail"), cc, iterations=4)
                self.assertAlmostEqual(slowdown(result), 1, delta=0.02)
                self.assertEqual(
                    result["jobs"][0]["delivered"], 4 * tcp_pairs(1, "")["job"][0]["bytes"]
                )

    def test_no_ring_waits_for_a_time_out(self) -> None:
        """Retransmissions are lost, too, and the last segments of a step."""
        for seed in (1, 2):
            result = run(rings(2), "cubic", seed=seed, iterations=12)
            self.assertGreater(result["network"]["dropped"], 0)
            for job in result["jobs"]:
                # of 98 ms alone, of 162 ms if they share the link; a time-out takes 200
                self.assertLess(max(job["iterations_s"]), 0.18)

    def test_a_hosts_own_queue_neither_marks_nor_drops(self) -> None:
        for queue, cc in (("droptail", "cubic"), ("ecn", "dctcp")):
            with self.subTest(queue):
                table = tcp_pairs(1, queue)
                table["topology"]["rate"] = table["topology"]["bottleneck"]
                network = run(table, cc, iterations=4)["network"]
                self.assertEqual((network["dropped"], network["marked"]), (0, 0))

    def test_rings_find_their_ways(self) -> None:
        ring = {"name": "r", "workload": "ring", "hosts": 4, "bytes": 400_000, "compute": "5ms"}
        topology = {"kind": "fat-tree", "rate": "1gbit", "k": 4, "delay": "2us"}
        table = {"transport": "tcp", "topology": topology, "job": [ring | {"copies": 2}]}
        result = run(table, "interleave", placement="spread", iterations=5)
        self.assertTrue(result["over"])
        # in six steps of 100 kB, each of which has to be there before the next one
        for job in result["jobs"]:
            self.assertGreater(min(job["iterations_s"][1:]), 5e-3 + 6 * 8e5 / 1e9)
            self.assertLess(max(job["iterations_s"][1:]), 0.05)
