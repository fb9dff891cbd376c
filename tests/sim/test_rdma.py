# SPDX-License-Identifier: GPL-2.0
"""The simulated network, and RDMA flows in it."""

import unittest
from typing import ClassVar

from common import LINE_BPS, PERIOD_S, Table, dumbbell, endless, pairs, rates, run, slowdown

MARK_NEVER = {"kmin": 2**29, "kmax": 2**30}


class Conserved(unittest.TestCase):
    """Every packet is somewhere."""

    def check(self, result: Table) -> Table:
        network = result["network"]
        whereabouts = network["delivered"] + network["dropped"] + network["inside"]
        self.assertEqual(network["sent"], whereabouts)
        self.assertGreater(network["delivered"], 0)
        return network

    def test_pfc_loses_nothing(self) -> None:
        """Four senders that nobody tells to slow down, and 2 MB for what they have in flight."""
        small = MARK_NEVER | {"buffer": "2MiB"}
        result = run(dumbbell(endless(4), switch=small), stop="50ms")
        network = self.check(result)
        self.assertEqual((network["dropped"], network["again"], network["marked"]), (0, 0, 0))
        self.assertGreater(network["pauses"], 10)
        self.assertGreater(sum(rates(result)), 0.98 * LINE_BPS)
        self.assertLessEqual(network["deepest_bytes"], 2 * 2**20)

    def test_without_pfc_packets_are_lost_and_sent_again(self) -> None:
        lossy = MARK_NEVER | {"buffer": "200KiB", "pfc": False}
        table = dumbbell(pairs(2, 0.01), switch=lossy)
        network = self.check(run(table, iterations=4))
        self.assertLessEqual(network["deepest_bytes"], 100 * 2**10, "one queue has half of it")
        self.assertGreater(network["dropped"], 0)
        self.assertGreaterEqual(network["again"], network["dropped"])
        self.assertEqual(network["pauses"], 0)


class Marks(unittest.TestCase):
    """When a switch marks."""

    def network(self, **switch: object) -> Table:
        found: Table = run(dumbbell(endless(2), switch=switch), stop="10ms")["network"]
        return found

    def test_below_kmin_nothing_is_marked(self) -> None:
        network = self.network(kmin="16MiB", kmax="17MiB")
        self.assertEqual((network["marked"], network["cnps"]), (0, 0))
        self.assertGreater(network["deepest_bytes"], 100e3)

    def test_from_kmax_on_everything_is(self) -> None:
        """So queues are short. CNPs come at most every 50 us, for two flows in 10 ms."""
        network = self.network(kmin=0, kmax=1, pmax=0)
        self.assertGreater(network["marked"], network["cnps"])
        self.assertGreater(network["cnps"], 2)
        self.assertLessEqual(network["cnps"], 2 * 200 + 2)
        self.assertLess(network["deepest_bytes"], 40 * 4096)


class Flows(unittest.TestCase):
    """Rates, windows, ways."""

    def test_a_window_limits_the_rate(self) -> None:
        """One flow alone: a window in each round trip of 2 x (3 x 50 us) and what packets take."""
        window = 100 * 4096
        table = dumbbell(endless(1), topology={"delay": "50us"}, rdma={"window": window})
        got = rates(run(table, stop="100ms"))[0]
        self.assertLess(got, 8 * window / 300e-6)
        self.assertGreater(got, 0.9 * 8 * window / (300e-6 + 100 * 4096 * 8 / LINE_BPS))

    def test_two_endless_flows_share_fairly(self) -> None:
        got = rates(run(dumbbell(endless(2)), stop="1s"))
        self.assertGreater(sum(got), 0.9 * LINE_BPS)
        self.assertLess(max(got) / min(got), 1.1)

    def test_the_same_seed_is_the_same_run(self) -> None:
        table = dumbbell(pairs(2, 0.04))
        first, again, other = (run(table, seed=seed, iterations=4) for seed in (1, 1, 2))
        self.assertEqual(first["jobs"], again["jobs"])
        self.assertNotEqual(first["jobs"], other["jobs"])

    def test_paths_have_the_lengths_that_they_should(self) -> None:
        """In a fat-tree a packet takes two links within a rack, four within a pod, else six."""
        rack, pod, far = (self.hops({"kind": "fat-tree", "k": 4}, host) for host in (1, 2, 4))
        self.assertEqual((pod, far), (2 * rack, 3 * rack))

    def test_hosts_of_a_bcube_forward(self) -> None:
        """Where one digit differs there is a switch on the way, else two and a host."""
        row, column, both = (self.hops({"kind": "bcube", "n": 3}, host) for host in (1, 3, 4))
        self.assertEqual((column, both), (row, 6 * row // 4))

    def hops(self, topology: Table, host: int) -> int:
        """Of a job from host 0 to another one."""
        jobs = [{"name": "j", "bytes": 10**6}]
        table = {"topology": topology | {"rate": "10gbit"}, "job": jobs}
        found: int = run(table, hosts=((0, host),), iterations=4)["network"]["hops"]
        return found

    def test_a_host_of_a_bcube_has_two_ports(self) -> None:
        """Two flows to it, one by each of its ports, have a link each."""
        table = {"topology": {"kind": "bcube", "rate": "10gbit", "n": 3}, "job": endless(2)}
        for other, links in ((3, 2), (2, 1)):
            got = sum(rates(run(table, hosts=((1, 0), (other, 0)), stop="20ms")))
            self.assertGreater(got, 0.75 * links * LINE_BPS)
            self.assertLessEqual(got, links * LINE_BPS)


class Clos(unittest.TestCase):
    """Three layers, with access switches that are not alike."""

    TABLE: ClassVar[Table] = {
        "kind": "clos",
        "rate": "10gbit",
        "pods": [[2, 1], [3]],
        "aggregation": 2,
        "cores": 2,
        "oversubscription": 2,
    }

    def table(self, **job: object) -> Table:
        return {"topology": self.TABLE, "job": [{"name": "j"} | job], "stop": "20ms"}

    def test_paths_go_by_the_pods_own_switches(self) -> None:
        """Access switches 6 and 7 of the first pod, 8 of the second; 9 to 12 above; core 13, 14."""
        table = self.table(workload="shards", hosts=6, bytes=10**6)
        found = run(table, keys={"detail": 1})["network"]
        rack, aggregation = (6, 6, 7, 8, 8, 8), {6: {9, 10}, 7: {9, 10}, 8: {11, 12}}
        for flow in found["flows"]:
            first, last, path = rack[flow["from"]], rack[flow["to"]], flow["path"]
            self.assertEqual((path[0], path[-1]), (first, last))
            self.assertEqual(len(path), 1 if first == last else 5 if 8 in (first, last) else 3)
            if len(path) > 1:
                self.assertIn(path[1], aggregation[first])
                self.assertIn(path[-2], aggregation[last])
            if len(path) == 5:
                self.assertIn(path[2], (13, 14))

    def test_links_up_have_what_oversubscription_leaves(self) -> None:
        """Of 15 Gb/s each of two; the second pod, of one switch, has that by four to the cores."""
        for to, bps in ((1, 10e9), (2, 7.5e9), (3, 3.75e9)):
            with self.subTest(to=to):
                got = rates(run(self.table(workload="endless"), hosts=((0, to),)))[0]
                self.assertGreater(got, 0.75 * bps)
                self.assertLessEqual(got, bps)


class Jobs(unittest.TestCase):
    """Iterations, alone and beside others."""

    def test_a_job_alone_has_the_link(self) -> None:
        for cc in ("dcqcn", "hotnets22", "interleave", "interleave+led"):
            with self.subTest(cc):
                result = run(dumbbell(pairs(2, 0.048)), cc, keys={"only": 1})
                self.assertEqual(len(result["jobs"]), 1)
                self.assertAlmostEqual(slowdown(result), 1, delta=0.015)

    def test_interleave_lets_two_jobs_run_as_if_alone(self) -> None:
        """Of two jobs at 48 %: within 2 % of alone, and clearly better than plain DCQCN."""
        table = dumbbell(pairs(2, 0.048))
        for seed in (1, 2):
            with self.subTest(seed=seed):
                plain = slowdown(run(table, "dcqcn", seed))
                for cc in ("interleave", "interleave+led"):
                    ours = slowdown(run(table, cc, seed))
                    self.assertLess(ours, 1.02, cc)
                    self.assertLess(ours, plain - 0.05, cc)

    def test_two_jobs_that_do_not_fit_do_not(self) -> None:
        """65 % each: 1.30 at best, or the network makes bytes."""
        result = run(dumbbell(pairs(2, 0.065)), "interleave")
        self.assertGreater(slowdown(result), 1.29)
        self.assertGreater(result["simulated_s"], 24 * PERIOD_S * 1.29)


class Gaps(unittest.TestCase):
    """Between the packets of a slow flow."""

    def test_a_rate_that_rises_shortens_them(self) -> None:
        """Sixteen at once slow down to gaps of many T; who has to wait them out ends 24 % late."""
        job = {"name": "flow", "copies": 16, "bytes": 2_000_000, "leaves": True}
        table = dumbbell(
            [job],
            topology={"rate": "100gbit", "delay": "1us"},
            rdma={"timer": "40us"},
            switch={"kmin": 99_999, "kmax": 100_000, "buffer": "1000MiB"},
        )
        took = [job["iterations_s"][0] for job in run(table, iterations=4)["jobs"]]
        self.assertLess(max(took), 1.1 * sum(took) / len(took))
