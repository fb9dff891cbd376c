# SPDX-License-Identifier: GPL-2.0
"""What the command line says instead of a scenario."""

import unittest
from pathlib import Path

from mlcclab import cli, commands, link, options, scenario
from mlcclab.errors import UsageError
from mlcclab.scenario import Overrides, Scenario
from test_scenario import GOOD, SHIPPED


def said(*words: str) -> Overrides:
    """What options of `run` come to."""
    return options.overrides(cli.parser().parse_args(["run", "two-equal", *words]))


def told(*words: str, name: str = "two-equal") -> Scenario:
    """A shipped scenario with them."""
    return scenario.load(scenario.find(name), said(*words))


class Instead(unittest.TestCase):
    """Of each job, and of the link."""

    def test_nothing(self) -> None:
        self.assertEqual(said(), Overrides())
        self.assertEqual(told(), scenario.load(SHIPPED / "two-equal.toml"))

    def test_link(self) -> None:
        item = told("--rate", "4gbit", "--mtu", "9000", "--offloads", "off")
        self.assertEqual((item.link.rate, item.link.mtu, item.link.offloads), (4e9, 9000, False))
        self.assertFalse(told("--rate", "none").link.shaped)
        self.assertTrue(told("--offloads", "on").link.offloads)

    def test_jobs(self) -> None:
        item = told("--flows", "8", name="mixed-flows")
        self.assertEqual({job.flows for job in item.jobs}, {8})

    def test_what_is_made_of_it(self) -> None:
        """A trace is fitted to the link that is said."""
        slow, fast = (told("--rate", rate, name="trace-two").jobs[0] for rate in ("1gbit", "2gbit"))
        self.assertAlmostEqual(fast.phase_bytes / slow.phase_bytes, 2.0, places=4)

    def test_same_in_a_virtual_machine(self) -> None:
        words = ["--rate", "none", "--mtu", "9000", "--offloads", "off", "--flows", "4"]
        words += ["--seed", "3", "--repeat", "2"]
        parsed = cli.parser().parse_args(["run", "two-equal", *words])
        commands._settle_seeds(parsed)
        inside = commands._same_command("run", ["two-equal"], parsed)
        again = cli.parser().parse_args(inside[1:])
        self.assertEqual(options.overrides(again), options.overrides(parsed))
        self.assertEqual(Path(again.scenario), SHIPPED / "two-equal.toml")
        self.assertEqual(again.seeds, range(3, 5))


class Refused(unittest.TestCase):
    """One line each, of the option or of the key that it stands for."""

    def test_options(self) -> None:
        for words in (
            ("--rate", "fast"),
            ("--rate", "1"),
            ("--mtu", "1501"),
            ("--offloads", "yes"),
            ("--flows", "0"),
        ):
            with self.assertRaisesRegex(UsageError, f"^argument {words[0]}: ") as caught:
                said(*words)
            self.assertNotIn("\n", str(caught.exception))

    def test_scenarios(self) -> None:
        with self.assertRaisesRegex(UsageError, r"job\[0\].flows: 2 is no multiple"):
            told("--flows", "2", name="eight-paths")
        with self.assertRaisesRegex(UsageError, f'link.delay: needs a rate, not "{link.NO_RATE}"'):
            told("--rate", "none", name="rtt-2ms")
        with self.assertRaisesRegex(UsageError, "link.mtu: 1500 only"):
            told("--mtu", "9000", name="verbs-two")

    def test_no_tables(self) -> None:
        """What is no table is the checker's to refuse."""
        for key, value in (("link", 5), ("job", 5), ("job", [5])):
            raw = Overrides({"mtu": 9000}, {"flows": 2}).applied(GOOD | {key: value})
            with self.assertRaises(UsageError):
                scenario.parse(raw, "test")
        self.assertNotIn("mtu", GOOD["link"])
