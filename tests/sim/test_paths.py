# SPDX-License-Identifier: GPL-2.0
"""Paths that senders choose by their source ports."""

import unittest
from collections import Counter
from itertools import pairwise
from statistics import fmean

import common
from common import Table

SEEDS = (1, 2, 3)


def rings(copies: int, hosts: int, spines: int, **rdma: object) -> Table:
    """Rings over two leaves, whose hosts each send to the other leaf."""
    ring = {
        "name": "ring",
        "workload": "ring",
        "copies": copies,
        "hosts": hosts,
        "bytes": 10_000_000,
        "compute": "10ms",
        "stagger": "1ms",
    }
    return {
        "placement": "spread",
        "topology": {
            "kind": "leaf-spine",
            "rate": "10gbit",
            "leaves": 2,
            "spines": spines,
            "hosts": copies * hosts // 2,
            "oversubscription": copies * hosts / 2 / spines,
        },
        "rdma": {"header": 0, "timer": "125us"} | rdma,
        "job": [ring],
    }


def run(table: Table, seed: int, iterations: int = 4) -> Table:
    """With each flow's path."""
    return common.run(table, seed=seed, keys={"detail": 1}, iterations=iterations)


def links(result: Table) -> Counter[tuple[int, int]]:
    """How many flows there are on each link between switches."""
    paths = [flow["path"] for flow in result["network"]["flows"]]
    return Counter(link for path in paths for link in pairwise(path))


class Ports(unittest.TestCase):
    """A job's own flows keep out of each other's way."""

    def test_a_jobs_flows_share_links_evenly(self) -> None:
        """Eight connections each way: as many links, too few of them, queue pairs."""
        for seed in SEEDS:
            self.assertGreater(max(links(run(rings(1, 16, 8), seed)).values()), 1)
            for spines, qps, flows in ((8, 1, 1), (4, 1, 2), (8, 8, 8)):
                with self.subTest(seed=seed, spines=spines, qps=qps):
                    found = links(run(rings(1, 16, spines, qps=qps, ports=256), seed))
                    self.assertEqual(set(found.values()), {flows})

    def test_other_jobs_are_not_known(self) -> None:
        """Each of two chooses as if it were alone."""
        both = run(rings(2, 8, 8, ports=256), 1)["network"]["flows"]
        self.assertEqual(max(links({"network": {"flows": both[:8]}}).values()), 1)
        self.assertGreater(max(links({"network": {"flows": both}}).values()), 1)

    def test_a_job_alone_is_as_fast_as_its_links(self) -> None:
        """10 ms, and two steps for each of four hosts but one, of 2 ms."""
        found = [
            fmean(run(rings(1, 4, 2, ports=ports), seed)["jobs"][0]["iterations_s"])
            for ports in (1, 256)
            for seed in SEEDS
        ]
        self.assertGreater(max(found[:3]), 0.026)
        self.assertLess(max(found[3:]), 0.0225)


class QueuePairs(unittest.TestCase):
    """A connection of several has a part of each message on each of their paths."""

    def test_a_message_is_there_when_all_of_its_parts_are(self) -> None:
        """Of three parts two go by one of two links, whose 5 Gb/s take 10.7 ms for them."""
        table = rings(1, 2, 2, qps=3, ports=256)
        table["topology"]["oversubscription"] = 1
        table["switch"] = {"kmin": 20_000_000, "kmax": 30_000_000}  # more than there is
        table["job"][0] |= {"workload": "pair"}
        del table["job"][0]["hosts"]
        for took in run(table, 1)["jobs"][0]["iterations_s"]:
            self.assertAlmostEqual(took, 0.0207, delta=2e-4)

    def test_by_hash_they_spread_a_jobs_bytes_over_links(self) -> None:
        """Of 16 flows over eight links some have more than two times what others have."""
        for seed in SEEDS:
            with self.subTest(seed=seed):
                found = [
                    max(links(run(rings(1, 16, 8, qps=qps), seed)).values()) / qps
                    for qps in (1, 16)
                ]
                self.assertLess(found[1], found[0])
                self.assertLess(found[1], 2)

    def test_flows_of_no_job_have_one_and_stay_where_the_hash_puts_them(self) -> None:
        flows = {"name": "flow", "workload": "endless", "copies": 8}
        paths = []
        for more in ({}, {"qps": 8, "ports": 256}):
            table = rings(1, 16, 8, **more) | {"job": [flows], "stop": "1ms"}
            paths.append([flow["path"] for flow in run(table, 1)["network"]["flows"]])
        self.assertEqual(paths[0], paths[1])
