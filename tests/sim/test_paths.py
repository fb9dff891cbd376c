# SPDX-License-Identifier: GPL-2.0
"""Paths that senders choose by their source ports."""

import unittest
from collections import Counter
from itertools import pairwise
from statistics import fmean

from common import Table
from mlcclab.errors import UsageError
from mlccsim.engine import simulate_settings
from mlccsim.scenario import parse, settings

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
    lines = settings(parse("test", table | {"iterations": iterations}), "dcqcn", seed)
    return simulate_settings(lines.replace("detail 0", "detail 1"))


def links(result: Table) -> Counter[tuple[int, int]]:
    """How many flows there are on each link between switches."""
    paths = [flow["path"] for flow in result["network"]["flows"]]
    return Counter(link for path in paths for link in pairwise(path))


class Ports(unittest.TestCase):
    """A job's own flows keep out of each other's way."""

    def test_from_one_port_the_hash_decides(self) -> None:
        """These are the spines that it has chosen ever since."""
        flows = run(rings(1, 16, 8), 1)["network"]["flows"]
        spines = [flow["path"][1] - 18 for flow in flows]
        self.assertEqual(spines, [6, 2, 6, 3, 4, 3, 2, 1, 2, 6, 2, 6, 3, 7, 4, 5])

    def test_a_jobs_flows_share_no_link(self) -> None:
        """Eight of them each way, by eight spines."""
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.assertGreater(max(links(run(rings(1, 16, 8), seed)).values()), 1)
                apart = links(run(rings(1, 16, 8, ports=256), seed))
                self.assertEqual(set(apart.values()), {1})

    def test_where_there_are_too_few_links_they_share_them_evenly(self) -> None:
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.assertEqual(set(links(run(rings(1, 16, 4, ports=256), seed)).values()), {2})

    def test_other_jobs_are_not_known(self) -> None:
        """Each of two chooses as if it were alone."""
        both = run(rings(2, 8, 8, ports=256), 1)["network"]["flows"]
        self.assertEqual(max(links({"network": {"flows": both[:8]}}).values()), 1)
        self.assertGreater(max(links({"network": {"flows": both}}).values()), 1)

    def test_flows_of_no_job_stay_where_the_hash_puts_them(self) -> None:
        flows = {"name": "flow", "workload": "endless", "copies": 8}
        paths = [
            [
                flow["path"]
                for flow in run(rings(1, 16, 8, ports=ports) | {"job": [flows], "stop": "1ms"}, 1)[
                    "network"
                ]["flows"]
            ]
            for ports in (1, 256)
        ]
        self.assertEqual(paths[0], paths[1])

    def test_a_job_alone_is_as_fast_as_its_links(self) -> None:
        """10 ms, and two steps for each of four hosts but one, of 2 ms."""
        found = [
            fmean(run(rings(1, 4, 2, ports=ports), seed)["jobs"][0]["iterations_s"])
            for ports in (1, 256)
            for seed in SEEDS
        ]
        self.assertGreater(max(found[:3]), 0.026)
        self.assertLess(max(found[3:]), 0.0225)


class Repath(unittest.TestCase):
    """A flow that another job has slowed down takes another path."""

    def late_s(self, seed: int, **rdma: object) -> float:
        """Iterations 19 to 24 of two rings, of which each could have half of the links."""
        jobs = run(rings(2, 4, 4, ports=256, **rdma), seed, 24)["jobs"]
        return fmean(fmean(job["iterations_s"][18:]) for job in jobs)

    def test_two_jobs_find_links_of_their_own(self) -> None:
        self.assertGreater(self.late_s(1), 0.03)
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.assertLess(self.late_s(seed, repath=True), 0.0225)

    def test_who_is_alone_stays(self) -> None:
        for seed in SEEDS:
            table = rings(1, 16, 8, ports=256, repath=True)
            self.assertEqual(run(table, seed, 8)["network"]["moved"], 0)


class Via(unittest.TestCase):
    """A flow takes the switch that it is told to."""

    def lines(self, via: str, **rdma: object) -> str:
        """A ring of four, whose switches are 4 and 5, spines 6 to 9."""
        table = rings(1, 4, 4, **rdma) | {"iterations": 4}
        found = settings(parse("test", table), "dcqcn", 1)
        return found.replace("via 0", f"via {via}").replace("detail 0", "detail 1")

    def spines(self, via: str) -> list[int]:
        flows = simulate_settings(self.lines(via, ports=256))["network"]["flows"]
        return [flow["path"][1] for flow in flows]

    def test_a_flow_goes_by_that_switch(self) -> None:
        self.assertEqual(self.spines("9 9 6 7"), [9, 9, 6, 7])

    def test_the_others_keep_out_of_its_way(self) -> None:
        """The first flow and the third go the same way, as do the second and the fourth."""
        for spine in (6, 7, 8, 9):
            found = self.spines(f"0 0 {spine} 0")
            self.assertEqual(found[2], spine)
            self.assertNotEqual(found[1], found[3])

    def test_a_switch_that_no_port_leads_to_is_refused(self) -> None:
        for via, ports in (("3", 256), ("100", 256), ("9 8 7 6", 1)):
            with self.assertRaisesRegex(UsageError, "^mlcc-sim: via: no port leads from host"):
                simulate_settings(self.lines(via, ports=ports))


if __name__ == "__main__":
    unittest.main()
