# SPDX-License-Identifier: GPL-2.0
"""Scenarios drawn at random, the bound without packets, and how each program refuses bad input."""

import unittest

from common import InFolder, said
from figures import bound, cli, draw, hostile_cli
from figures.bound import ORDERS, Job
from mlcclab import scenario
from mlcclab.errors import EXIT_OK, EXIT_USAGE


class Bound(unittest.TestCase):
    """On jobs small enough to follow by hand."""

    def test_orders(self) -> None:
        """Halves fit into each other, but not where both are always sent at once."""
        for name, slowdown in (("fair", 1.5), ("first", 1.0), ("short", 1.0)):
            jobs = [Job(10.0, 10.0, lambda: 1.0) for _ in range(2)]
            alone = Job(70.0, 30.0, bound.law(0.1, "1"))
            with self.subTest(name):
                self.assertAlmostEqual(bound.run(jobs, ORDERS[name], 20), slowdown)
                self.assertAlmostEqual(bound.run([alone], ORDERS[name], 8), 1.0, places=6)

    def test_table(self) -> None:
        status, text = said(bound.main, "two-equal", "--repeat", "1")
        self.assertEqual(status, EXIT_OK)
        self.assertRegex(text, r"\| two-equal \| 1\.3\d\d \| 1\.00\d \| 1\.00\d \|")


class Draw(InFolder):
    """A few dozen scenarios."""

    def test_a_seed_draws_the_same_whatever_the_count(self) -> None:
        few, many = draw.draw(3, 5), draw.draw(3, 40)
        self.assertEqual([c.toml() for c in few], [c.toml() for c in many[:5]])
        self.assertNotEqual([c.toml() for c in few], [c.toml() for c in draw.draw(4, 5)])

    def test_loads_are_what_the_kind_says(self) -> None:
        words = ("--seed", "2", "--count", "80", str(self.folder))
        self.assertEqual(said(draw.main, *words), (EXIT_OK, ""))
        files = sorted(self.folder.glob("*.toml"))
        for file, kind in zip(files, 10 * list(draw.KINDS), strict=True):
            loaded = scenario.load(file)
            with self.subTest(loaded.name):
                self.assertEqual(loaded.name.rsplit("-", 1)[1], kind, "they come in turn")
                self.assertEqual(loaded.load > 1.0, kind == "crowded")
                self.assertEqual(bool(loaded.flows), kind == "beside")


class Usage(unittest.TestCase):
    """Bad input is one line, and status 2."""

    def test_refused(self) -> None:
        for main, *words in (
            (bound.main,),
            (bound.main, "nosuch"),
            (bound.main, "two-equal", "--repeat", "0"),
            (draw.main, "--count", "0", "x"),
            (draw.main, "--seed", "-1", "x"),
            (draw.main,),
            (hostile_cli.main, "--cells", "nope-*"),
            (hostile_cli.main, "alone-30k"),
            (cli.main, "gians"),
            (cli.main, "--nope"),
            (cli.main, "--list", "--check"),
            (cli.main, "--check", "x"),
            (cli.main, ""),
        ):
            with self.subTest(words):
                status, text = said(main, *words)
                self.assertEqual((status, text.count("\n")), (EXIT_USAGE, 1), text)
