# SPDX-License-Identifier: GPL-2.0
"""The bound without packets, on jobs small enough to follow by hand."""

import contextlib
import io
import unittest

from figures import bound
from figures.bound import ORDERS, Job
from mlcclab.errors import EXIT_OK, EXIT_USAGE


def steady() -> float:
    """No noise."""
    return 1.0


class Link(unittest.TestCase):
    """Who has it, and when."""

    def test_alone(self) -> None:
        for order in ORDERS.values():
            job = Job(70.0, 30.0, bound.law(0.1, "1"))
            self.assertAlmostEqual(bound.run([job], order, 8), 1.0, places=6)

    def test_one_after_the_other(self) -> None:
        """Halves fit into each other, but not where both are always sent at once."""
        for name, slowdown in (("fair", 1.5), ("first", 1.0), ("short", 1.0)):
            jobs = [Job(10.0, 10.0, steady) for _ in range(2)]
            with self.subTest(name):
                self.assertAlmostEqual(bound.run(jobs, ORDERS[name], 20), slowdown)


class Scenarios(unittest.TestCase):
    """What it makes of them."""

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
