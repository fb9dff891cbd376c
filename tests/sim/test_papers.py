# SPDX-License-Identifier: GPL-2.0
"""What tests/sim/papers measures with: bounds, orders, places, planned starts."""

import subprocess
import unittest

from common import dumbbell, pairs
from mlccsim import jain, order, shifts, tmdml
from mlccsim.cli import find
from mlccsim.engine import Run, simulate
from mlccsim.scenario import parse

DEBIAN = "/usr/bin/python3"  # who has numpy, for mlcc-plan
HOSTS = 8


class Tmdml(unittest.TestCase):
    """One scatter and gather."""

    def test_one_iteration_and_the_bound_of_its_paths(self) -> None:
        """Hosts that are done early would send more; nothing is faster than the busiest link."""
        scenario = tmdml.sized("tmdml-fat-tree-8", 20_000_000)
        for cc in ("dcqcn", "tmdml"):
            result = simulate(scenario, Run(cc, 1))
            self.assertEqual(result["jobs"][0]["delivered"], 2 * (HOSTS - 1) * 20_000_000)
            self.assertEqual(result["network"]["again"], 0)
            self.assertGreater(result["simulated_s"], tmdml.bound_s(scenario, 1))
        self.assertLess(result["simulated_s"], 1.1 * tmdml.bound_s(scenario, 1))


class Order(unittest.TestCase):
    """A static order of two jobs."""

    def test_a_shorter_timer_parts_the_phases(self) -> None:
        """The first job gets more at once; with equal ones each still meets half of the other."""
        scenario = find(order.SCENARIO).with_iterations(6)
        for seed in (1, 2):
            static = simulate(scenario, Run("dcqcn", seed))["jobs"]
            fair = simulate(scenario, Run("dcqcn", seed), job_timer=0)["jobs"]
            first, second = (job["communication_s"][0] for job in static)
            self.assertLess(first, 0.9 * second)
            self.assertLessEqual(order.apart(static), 5)
            self.assertGreater(min(order.overlaps(*map(order.phases, fair))[:4]), 0.5)


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
