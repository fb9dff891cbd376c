# SPDX-License-Identifier: GPL-2.0
"""The bound without packets, on jobs small enough to follow by hand."""

import contextlib
import io
import unittest
from statistics import fmean

from figures import bound
from figures.bound import ORDERS, Job
from mlcclab import noise, scenario, traces
from mlcclab.errors import EXIT_OK, EXIT_USAGE


def steady() -> float:
    """No noise."""
    return 1.0


class Link(unittest.TestCase):
    """Who has it, and when."""

    def test_alone(self) -> None:
        for name in traces.NAMES:
            steps = traces.load(name)
            for order in ORDERS.values():
                job = Job(70.0, 30.0, bound.law(0.1, "1"), steps)
                self.assertAlmostEqual(bound.run([job], order, 8), 1.0, places=6)
            self.assertAlmostEqual(job.times[0], job.alone[0], places=3)

    def test_one_after_the_other(self) -> None:
        """Halves fit into each other, but not where both are always sent at once."""
        for name, slowdown in (("fair", 1.5), ("first", 1.0), ("short", 1.0)):
            jobs = [Job(10.0, 10.0, steady) for _ in range(2)]
            with self.subTest(name):
                self.assertAlmostEqual(bound.run(jobs, ORDERS[name], 20), slowdown)

    def test_who_computes_meanwhile_can_wait(self) -> None:
        """The second one's two bursts are hidden if the first one's goes before them."""
        steps = (traces.Step(0.2, 0.5, True), traces.Step(0.8, 0.5, True))
        waits, hides = Job(14.0, 6.0, steady), Job(17.0, 6.0, steady, steps)
        bound.run([waits, hides], ORDERS["short"], 20)
        self.assertAlmostEqual(fmean(waits.times), 20.0)

    def test_noise(self) -> None:
        law = bound.law(noise.MEASURED, "5")
        values = [law() for _ in range(4000)]
        self.assertGreater(min(values), 0.0)
        self.assertAlmostEqual(fmean(values), 1.0, delta=0.05)


class Scenarios(unittest.TestCase):
    """What it makes of them."""

    def test_trace(self) -> None:
        item = scenario.load(scenario.find("trace-two"))
        for job, said in zip(bound.jobs_of(item, 1), item.jobs, strict=True):
            self.assertEqual(job.steps, said.steps)
            self.assertAlmostEqual(traces.alone(job.steps, job.compute, job.send), 280.0, places=3)
        best = bound.bound(item, ORDERS["short"], 40, 1)
        self.assertLess(best, 1.02)
        self.assertGreater(bound.bound(item, ORDERS["fair"], 40, 1), best + 0.05)

    def test_command_line(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(bound.main(["two-equal", "--repeat", "1"]), EXIT_OK)
        self.assertRegex(said.getvalue(), r"\| two-equal \| 1\.3\d\d \| 1\.00\d \| 1\.00\d \|")
        for wrong in ([], ["nosuch"], ["two-equal", "--repeat", "0"]):
            said = io.StringIO()
            with self.subTest(wrong), contextlib.redirect_stderr(said):
                self.assertEqual(bound.main(wrong), EXIT_USAGE)
            self.assertEqual(said.getvalue().count("\n"), 1, said.getvalue())
