# SPDX-License-Identifier: GPL-2.0
"""The lab's scenarios in the simulator, and what is said of the difference."""

import unittest
from statistics import fmean
from typing import Any

from common import dumbbell, endless, run
from mlcclab import units
from mlccsim import lab
from mlccsim.scenario import goodput_bps

SECOND = 1.0
QUEUES = ("three-equal-98", "ecn", "verbs-two")
CNPS_PER_S = 500  # of soft-RoCE's NP, at most


def found(jobs: int) -> lab.lab.Scenario:
    """Equal jobs that need 200 Mb/s for 55 % of their time."""
    job: dict[str, Any] = {"phase_bytes": 1_250_000, "compute_ms": 42.0, "noise": 0.02}
    return lab.lab.parse(
        {
            "link": {"rate": "200mbit", "limit": "200KiB"},
            "job": [job | {"name": f"j{number}"} for number in range(jobs)],
        },
        "test",
    )


class Translated(unittest.TestCase):
    """A scenario of the lab is the same one here."""

    def test_all_that_were_measured(self) -> None:
        for name, known in lab.measured().items():
            theirs = lab.lab.load(lab.lab.find(name)).scaled(known.scale)
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

    def test_of_queues(self) -> None:
        hosts = {name: lab.simulated(lab.lab.load(lab.lab.find(name))).hosts for name in QUEUES}
        self.assertEqual([hosts[name].get("ecn") for name in QUEUES], [0, 1, None])
        self.assertEqual(hosts["ecn"]["mark"], 65 * 1024)
        self.assertEqual((hosts["verbs-two"]["kmin"], hosts["verbs-two"]["pfc"]), (15 * 1024, 0))

    def test_goodput_is_the_labs(self) -> None:
        scenario = lab.simulated(found(1))
        self.assertAlmostEqual(goodput_bps(scenario), units.goodput_bps(200e6))


class Compared(unittest.TestCase):
    """Slowdowns as the lab counts them."""

    def test_a_job_alone_is_not_slowed_down(self) -> None:
        one, two = (
            lab.slowdowns(lab.simulated(found(n)).with_iterations(8), ["cubic"], [1, 2])
            for n in (1, 2)
        )
        for slowdown in one["cubic"]:
            self.assertAlmostEqual(slowdown, 1, delta=0.02)
        # 110 % of the link
        self.assertGreater(min(two["cubic"]), 1.08)


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
        for name, most in (("verbs-two", 1.1), ("verbs-three", 1.15), ("verbs-incompatible", 1.5)):
            scenario = lab.simulated(lab.lab.load(lab.lab.find(name)))
            found = lab.slowdowns(scenario, ["dcqcn", "interleave"], range(1, 5))
            plain, ours = fmean(found["dcqcn"]), fmean(found["interleave"])
            with self.subTest(name):
                self.assertLess(ours, most)
                self.assertGreater(plain, 1.1 * ours)
