# SPDX-License-Identifier: GPL-2.0
"""What tests/sim/papers measures with: Algorithm 1, paths and marks, places, planned starts."""

import random
import subprocess
import unittest
from collections import Counter
from itertools import permutations

from common import dumbbell, pairs
from mlccsim import drift, jain, shifts, tmdml
from mlccsim.drift import Flow
from mlccsim.papers import simulate, sized
from mlccsim.scenario import parse

DEBIAN = "/usr/bin/python3"  # who has numpy, for mlcc-plan
HOSTS = 8
RATE = 10e9 / 8


def path(*nodes: int) -> Flow:
    """From the first to the last one."""
    return drift.flow(nodes)


def star(hosts: int) -> list[Flow]:
    """Everybody to everybody through one switch."""
    return [path(a, hosts, b) for a in range(hosts) for b in range(hosts) if a != b]


def two_pods(dice: random.Random) -> list[Flow]:
    """Two hosts on each of four switches; 20 to 23 are above these, 30 to 33 above those."""
    flows = []
    for a, b in permutations(range(HOSTS), 2):
        up, core = dice.randrange(2), dice.randrange(2)
        one, other = 20 + a // 4 * 2 + up, 20 + b // 4 * 2 + up
        above = [one, 30 + 2 * up + core, other] if one != other else [one] * (a // 2 != b // 2)
        flows.append(path(*dict.fromkeys((a, 10 + a // 2, *above, 10 + b // 2, b))))
    return flows


class Algorithm1(unittest.TestCase):
    """Problem (5) of TMDML."""

    # the first and the second share a link, the second and the third another one; 9 is a switch
    FLOWS = (path(0, 9, 3), path(1, 9, 3), path(1, 9, 4))

    def test_flows_that_have_more_to_send_get_more(self) -> None:
        """Of 3 on the full link 1 and 2; what is left of host 1's link is the third flow's."""
        self.assertEqual(drift.solve([1, 2, 0.5], self.FLOWS, [0, 0, 0], 1, 3), [1, 2, 1])

    def test_a_queue_slows_them_down(self) -> None:
        """By A / V; here phi is the root of 12 / 3."""
        rates = drift.solve([1, 2, 0.5], self.FLOWS, [2, 5, 0], 3, 3)
        self.assertEqual(rates, [1 / 2, 1, 1 / 4])

    def test_no_other_rates_are_better(self) -> None:
        """Of many that the links allow."""
        dice = random.Random(1)
        for v in (0.1, 1.0, 100.0):
            needs = [dice.uniform(0.1, 2) for _ in self.FLOWS]
            queues = [dice.uniform(0, 3) for _ in self.FLOWS]

            def cost(rates: list[float]) -> float:
                phi = max(need / r for need, r in zip(needs, rates, strict=True))  # noqa: B023
                waits = sum(q * r for q, r in zip(queues, rates, strict=True))  # noqa: B023
                return v * phi + waits  # noqa: B023

            best = drift.solve(needs, self.FLOWS, queues, v, 3)
            for _ in range(2000):
                other = [r * dice.uniform(0.5, 1.5) for r in best]
                if max(other[0] + other[1], other[1] + other[2]) <= 3:
                    self.assertGreaterEqual(cost(other), cost(best) - 1e-9)
            self.assertLessEqual(max(best[0] + best[1], best[1] + best[2]), 3 + 1e-9)

    def test_weights_go_by_bottlenecks(self) -> None:
        """Of two flows to host 4 one shares the link between two switches with another one."""
        flows = [path(0, 9, 10, 4), path(1, 9, 10, 5), path(2, 10, 4), path(3, 10, 5)]
        self.assertEqual(drift.weights(flows), [2 / 3, 2 / 3, 1 / 3, 1 / 3])

    def test_with_nothing_in_the_way_it_takes_what_tmdml_took(self) -> None:
        """Table IV's times on eight hosts: at most 4 % above those of the hosts' own links."""
        for model, nbytes in tmdml.MODELS.items():
            flows = star(HOSTS)
            took = drift.completion_s(flows, nbytes / HOSTS, RATE, drift.weights(flows))
            self.assertAlmostEqual(took, 2 * 7 / 8 * nbytes / RATE, delta=1e-5)
            paper = tmdml.PAPER["tmdml-fat-tree-8", model][1] / 1e3
            self.assertLess(took, paper)
            self.assertGreater(took, 0.96 * paper)

    def test_weights_cost_time_where_flows_collide(self) -> None:
        """Of 16 flows on a link as fast as a host's; with equal weights they end together."""
        half = HOSTS // 2
        flows = [
            path(*dict.fromkeys((a, 20 + a // half, 20 + b // half, b)))
            for a in range(HOSTS)
            for b in range(HOSTS)
            if a != b
        ]
        equal = drift.completion_s(flows, RATE / 14, RATE, [1.0] * len(flows))
        self.assertAlmostEqual(equal, 16 / 7, delta=1e-5)
        for weighed in (drift.weights(flows), [1.0 + f.to for f in flows]):
            took = drift.completion_s(flows, RATE / 14, RATE, weighed)
            self.assertGreaterEqual(took, equal - 1e-5)

    def test_equal_weights_keep_the_busiest_link_busy(self) -> None:
        """Over random paths through two pods, whose hosts are done with the first round in turn."""
        flows = two_pods(random.Random(1))
        load = Counter(link for f in flows for link in f.links)
        self.assertGreater(max(load.values()), HOSTS - 1)
        took = drift.completion_s(flows, RATE / 14, RATE, [1.0] * len(flows))
        self.assertAlmostEqual(took, max(load.values()) / 7, delta=1e-5)


class Detail(unittest.TestCase):
    """What mlcc-sim says of single switches and flows."""

    def test_counts_add_up_and_paths_are_the_shortest(self) -> None:
        scenario = sized("tmdml-fat-tree-8", 20_000_000)
        network = simulate(scenario, "dcqcn", 1, detail=1, workload="all-to-all")["network"]
        flows, switches = network["flows"], network["switches"]
        self.assertEqual(len(flows), HOSTS * (HOSTS - 1))
        self.assertGreater(network["cnps"], 0)
        self.assertEqual(sum(flow["cnps"] for flow in flows), network["cnps"])
        self.assertEqual(sum(switch["marked"] for switch in switches), network["marked"])
        for flow in flows:
            a, b = flow["from"], flow["to"]
            hops = 1 if a // 2 == b // 2 else 3 if a // 4 == b // 4 else 5
            self.assertEqual(len(flow["path"]), hops)

    def test_one_iteration_and_the_bound_of_its_paths(self) -> None:
        """Hosts that are done early would send more; nothing is faster than the busiest link."""
        scenario = sized("tmdml-fat-tree-8", 20_000_000)
        for cc in ("dcqcn", "tmdml"):
            result = simulate(scenario, cc, 1)
            self.assertEqual(result["jobs"][0]["delivered"], 2 * (HOSTS - 1) * 20_000_000)
            self.assertEqual(result["network"]["again"], 0)
            self.assertGreater(result["simulated_s"], tmdml.bound_s(scenario, 1))
        self.assertLess(result["simulated_s"], 1.1 * tmdml.bound_s(scenario, 1))

    def test_flows_of_the_parameter_server_have_one_bottleneck(self) -> None:
        """Table I: the last switch marks, nearly alone."""
        network = tmdml.first_round("PS", 1, 20_000_000)["network"]
        marks = {switch["node"]: switch["marked"] for switch in network["switches"]}
        last = next(flow["path"][-1] for flow in network["flows"] if flow["to"] == tmdml.SERVER)
        self.assertEqual(sum(flow["to"] == tmdml.SERVER for flow in network["flows"]), 7)
        self.assertGreater(marks[last], 0.7 * sum(marks.values()))


class Places(unittest.TestCase):
    """Jain et al.'s placements."""

    def test_who_is_in_which_rack(self) -> None:
        racks = {
            kind: [[host // jain.RACKS for host in job] for job in jain.places(kind, 1)]
            for kind in jain.KINDS
        }
        for kind in jain.KINDS:
            hosts = sorted(host for job in jain.places(kind, 1) for host in job)
            self.assertEqual(hosts, list(range(jain.RACKS**2)), kind)
        self.assertTrue(all(len(set(job)) == 1 for job in racks["colocated"]))
        self.assertEqual({job[0] for job in racks["clustered"]}, {0})
        self.assertEqual({job[0] for job in racks["strided"]}, set(range(jain.RACKS)))
        for kind in ("strided", "clustered"):
            self.assertTrue(all(len(set(job)) == jain.RACKS for job in racks[kind]), kind)
        self.assertNotEqual(jain.places("random", 1), jain.places("random", 2))


@unittest.skipIf(
    subprocess.run([DEBIAN, "-c", "import numpy"], capture_output=True, check=False).returncode,
    "mlcc-plan wants numpy: make planner",
)
class Shifts(unittest.TestCase):
    """Starts by mlcc-plan."""

    def test_jobs_that_start_as_planned_never_meet(self) -> None:
        """Without noise two at 48 % run as if alone; started together they do not."""
        scenario = parse("test", dumbbell(pairs(2, 0.048)) | {"iterations": 8})
        planned = shifts.planned(scenario)
        apart = abs(planned.jobs[0].start_s - planned.jobs[1].start_s) % 0.1
        self.assertGreater(min(apart, 0.1 - apart), 0.048)
        self.assertLess(shifts.slowdown(planned, "dcqcn", 1, 0), 1.02)
        self.assertGreater(shifts.slowdown(scenario, "dcqcn", 1, 0), 1.2)
