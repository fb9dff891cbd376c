# SPDX-License-Identifier: GPL-2.0
"""Clusters whose jobs are drawn."""

import unittest
from statistics import fmean
from unittest import mock

from common import Table, made_up
from mlcclab.errors import UsageError
from mlccsim import cli, cluster, engine
from mlccsim.engine import Run

# Two kinds on four racks of two servers: rings of each GPU's, and one through all GPUs.
TENSOR = {
    "name": "tensor",
    "weight": 1,
    "gpus": [4, 8],
    "rings": 2,
    "bytes": 10**9,
    "compute": "20ms",
}
DATA = {"name": "data", "weight": 3, "gpus": [6], "bytes": 2 * 10**9, "compute": "20ms"}
SMALL = {
    "stop": "2s",
    "topology": {
        "kind": "leaf-spine",
        "rate": "10gbit",
        "leaves": 4,
        "spines": 2,
        "hosts": 4,
        "oversubscription": 2,
    },
    "rdma": {"header": 0},
    "cluster": {
        "load": 1.0,
        "arrivals": 50,
        "iterations": [10, 30],
        "server": 2,
        "rate": "400gbit",
        "scale": 10,
    },
    "job": [TENSOR, DATA],
}


def small(**tables: Table) -> cluster.Cluster:
    """The same; tables: what is to be different."""
    return cluster.parse("test", SMALL | {key: SMALL[key] | new for key, new in tables.items()})


class Drawing(unittest.TestCase):
    """Who is there."""

    def test_a_job_takes_the_fullest_rack_that_it_fits_into(self) -> None:
        racks = cluster._Racks(3, 4)
        self.assertEqual(racks.take(3), [0, 1, 2])
        self.assertEqual(racks.take(2), [4, 5])
        self.assertEqual(racks.take(1), [3])
        self.assertEqual(racks.take(2), [6, 7])
        self.assertEqual(racks.take(4), [8, 9, 10, 11])
        self.assertIsNone(racks.take(1))
        racks.give([2, 4, 5])
        self.assertEqual(racks.take(3), [4, 5, 2], "the emptiest rack first")

    def test_the_load_is_that_of_the_gpus(self) -> None:
        """Where nobody waits, so many are busy on the average."""
        light = small(cluster={"load": 0.3}, topology={"hosts": 16})
        busy = [sum(job.gpus for job, _ in cluster.running(light, seed)) for seed in range(400)]
        self.assertAlmostEqual(fmean(busy) / 64, 0.3, delta=0.03)

    def test_only_rings_that_cross_racks_are_simulated(self) -> None:
        for seed in range(1, 20):
            shot = cluster.snapshot(small(), seed)
            for job in shot.jobs:
                self.assertEqual(job.racks > 1, len(job.rings) > 0)
            for hosts in shot.scenario.placed:
                self.assertGreater(len({host // 4 for host in hosts}), 1)

    def test_wrong_clusters_are_refused(self) -> None:
        for tables, expected in (
            ({"cluster": {"load": 0}}, "cluster.load: 0: a number from 0.01 to 2"),
            ({"cluster": {"iterations": [3, 2]}}, "[3, 2] is not a list of whole numbers"),
            ({"cluster": {"server": 3}}, "cluster.server: does not divide topology.hosts"),
            ({"topology": {"leaves": 1}}, "job.gpus: 8, and this topology has 4"),
            ({"topology": {"kind": "fat-tree"}}, "topology.leaves: unknown key"),
        ):
            with self.subTest(expected), self.assertRaises(UsageError) as caught:
                small(**tables)
            self.assertIn(expected, str(caught.exception))
        for kind, expected in (
            (TENSOR | {"rings": 3}, "rings: 1, or one for each of a server's 2"),
            (TENSOR | {"gpus": [3]}, "gpus: 3 are not whole servers"),
            (TENSOR | {"stages": 3}, "gpus: 4 are not whole servers for each stage"),
        ):
            with self.subTest(expected), self.assertRaises(UsageError) as caught:
                cluster.parse("test", SMALL | {"job": [kind]})
            self.assertIn(expected, str(caught.exception))


class Report(unittest.TestCase):
    """Its figures, of runs that are made up."""

    def test_percentile_goes_by_weight(self) -> None:
        values = [(3.0, 1.0), (1.0, 98.0), (2.0, 1.0)]
        self.assertEqual([cluster.percentile(values, part) for part in (50, 99, 100)], [1, 2, 3])

    def test_slowest_ring_and_weights(self) -> None:
        """One job of two rings, and one that is in its rack and lasts four times as long."""
        kind = {"name": "k", "stages": 2}
        jobs = (
            cluster.Placed(cluster.Drawn(kind, 8, 10, 1.0), 2, (0, 1)),
            cluster.Placed(cluster.Drawn(kind, 4, 20, 2.0), 1, ()),
        )
        shot = cluster.Snapshot(jobs, mock.Mock(), mock.Mock())
        results = {Run("dcqcn", 1): made_up([9.0] + 7 * [0.2], 8 * [0.3])}
        results |= {Run("dcqcn", 1, 0): made_up(8 * [0.1]), Run("dcqcn", 1, 1): made_up(8 * [0.15])}
        found = cluster.build(small(), "dcqcn", ["dcqcn"], {1: shot}, results)["results"][0]
        self.assertAlmostEqual(found["jobs"][0]["slowdown"], 3, msg="0.1 s is ideal at scale 10")
        self.assertAlmostEqual(found["slowdown"]["mean"], (4 * 3 + 1) / 5)
        self.assertAlmostEqual(found["over_alone"]["mean"], (4 * 2 + 1) / 5)
        self.assertAlmostEqual(found["slowdown"]["p99"], 3)


class Simulated(unittest.TestCase):
    """With mlcc-sim."""

    def test_a_job_alone_takes_the_ideal_time(self) -> None:
        """Servers are racks of their own here, and links up carry all that there is."""
        topology = SMALL["topology"] | {"hosts": 2, "oversubscription": 1, "spines": 1}
        arrivals = SMALL["cluster"] | {"arrivals": 1}
        for kind, sent in ((DATA, 5 / 6 * 2e9), (TENSOR | {"gpus": [8]}, 3 / 4 * 1e9)):
            with self.subTest(kind["name"]):
                table = {"topology": topology, "cluster": arrivals, "job": [kind]}
                shot = cluster.snapshot(cluster.parse("test", SMALL | table), 1)
                result = engine.simulate(shot.alone, Run("dcqcn", 1, 0))
                ideal_s = (0.02 + 2 * sent * 8 / 400e9) / 10
                took = fmean(result["jobs"][0]["iterations_s"])
                self.assertAlmostEqual(took / ideal_s, 1, delta=0.015)

    def test_jobs_over_racks_take_longer_beside_others(self) -> None:
        """As the command line has it."""
        found = small(topology={"leaves": 8, "hosts": 4})
        report = cli.measure_cluster(found, cli.parser().parse_args(["-", "--seeds", "1-1"]))
        plain, ours = report["results"]
        self.assertEqual([plain["cc"], ours["cc"]], ["dcqcn", "interleave"])
        self.assertGreater(plain["over_alone"]["mean"], 1.05)
        self.assertRegex(cluster.lines(report)[1], r"^dcqcn +[12]\.\d{3} +\d\.\d{3}")
