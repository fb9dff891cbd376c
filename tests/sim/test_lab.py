# SPDX-License-Identifier: GPL-2.0
"""The lab's scenarios in the simulator, and what is said of the difference."""

import unittest
from statistics import fmean

from common import dumbbell, endless, run
from mlccsim import lab

SECOND = 1.0
CNPS_PER_S = 500  # of soft-RoCE's NP, at most


class Translated(unittest.TestCase):
    """A scenario of the lab is the same one here."""

    def test_all_that_were_measured(self) -> None:
        for name, scale in lab.MEASURED:
            theirs = lab.lab.load(lab.lab.find(name)).scaled(scale)
            ours = lab.simulated(theirs)
            with self.subTest(name):
                self.assertEqual(len(ours.jobs), len(theirs.jobs))
                self.assertEqual(ours.topology["bottleneck"], theirs.link.rate)
                for here, there in zip(ours.jobs, theirs.jobs, strict=True):
                    n = there.workers
                    part = 2 * (n - 1) / n if there.pattern == "ring" else 1
                    self.assertAlmostEqual(here.steps[0].bytes * part, there.phase_bytes)
                    self.assertAlmostEqual(here.steps[0].compute_s, there.compute_ms / 1e3)
                    self.assertEqual(here.values["noise"], there.noise)
                if ours.transport == "tcp":
                    self.assertEqual(ours.hosts["queue"], lab.QUEUES[theirs.link.queue])
                else:
                    self.assertEqual((ours.hosts["kmin"], ours.hosts["pfc"]), (15 * 1024, 0))


class SoftRoce(unittest.TestCase):
    """DCQCN as rdma/rxe is shipped."""

    def test_its_np_is_slow(self) -> None:
        """A CNP in 2 ms for each of two flows that are marked nearly all the time."""
        table = dumbbell(
            endless(2),
            topology={"rate": "60mbit", "delay": "10us"},
            switch={"kmin": 3000, "kmax": 3001, "pfc": False},
            rdma={"variant": "rxe", "payload": 1024, "window": 128 * 1024, "rto": "1s"},
        )
        table["rdma"].pop("timer")  # the variant has its own
        result = run(table, stop=f"{SECOND:g}s")
        self.assertLess(result["network"]["cnps"], 2 * (CNPS_PER_S * SECOND + 1))
        self.assertGreater(result["network"]["cnps"], 10)

    def test_rings_take_turns(self) -> None:
        """Also those of which each takes the link for two thirds of its time."""
        for name, most in (("verbs-two", 1.1), ("verbs-incompatible", 1.5)):
            scenario = lab.simulated(lab.lab.load(lab.lab.find(name)))
            found = lab.slowdowns(scenario, ["dcqcn", "interleave"], range(1, 4))
            plain, ours = fmean(found["dcqcn"]), fmean(found["interleave"])
            with self.subTest(name):
                self.assertLess(ours, most)
                self.assertGreater(plain, 1.1 * ours)
