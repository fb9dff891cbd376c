# SPDX-License-Identifier: GPL-2.0
"""What counts as passed, failed and skipped, and which suites run beside each other."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runner import schedule, suites, tap  # noqa: E402  (needs the path above)
from runner.suites import Lane, Suite  # noqa: E402


def read(text: str, status: int = 0, may_skip: dict[str, str] | None = None) -> tap.Totals:
    reader = tap.Reader(may_skip or {})
    for line in text.splitlines():
        reader.line(line)
    return reader.end(status)


def counts(totals: tap.Totals) -> tuple[int, int, int]:
    return totals.passed, len(totals.failures), len(totals.skips)


class Counting(unittest.TestCase):
    def test_results_and_statuses(self) -> None:
        for text, status, wanted in (
            ("1..3\nok 1 a\nnot ok 2 b\nok 3 c\n", 1, (2, 1, 0)),
            ("1..3\nok 1 a\nok 2 b\n", 0, (2, 1, 0)),
            ("ok 1 a\n1..1\n", 139, (1, 1, 0)),
            ("Bail out! no server\n", 1, (0, 1, 0)),
            ("hello\n", 0, (1, 0, 0)),
            ("hello\n", 3, (0, 1, 0)),
        ):
            with self.subTest(text):
                self.assertEqual(counts(read(text, status)), wanted)

    def test_a_skip_that_nobody_allows_is_a_failure(self) -> None:
        text = "ok 1 daemon: it starts # SKIP mlccd does not start\n1..1\n"
        self.assertEqual(counts(read(text, 4)), (0, 1, 0))
        self.assertEqual(counts(read(text, 4, {"other.*": "why"})), (0, 1, 0))
        self.assertEqual(counts(read(text, 4, {"daemon: it starts": "why"})), (0, 0, 1))

    def test_a_suite_that_skips_itself(self) -> None:
        for text in ("1..0 # SKIP no such machine\n", "no such machine\n"):
            self.assertEqual(counts(read(text, 4)), (0, 1, 0))
            self.assertEqual(counts(read(text, 4, {"": "why"})), (0, 0, 1))


class Again(unittest.TestCase):
    """Every failure comes with a command."""

    def by_name(self, name: str) -> Suite:
        found = [*suites.first_suites(), *suites.later_suites(suites.KERNELS, True)]
        return next(suite for suite in found if suite.name == name)

    def test_it_runs_one_case(self) -> None:
        native = self.by_name("selftests/native").again("bpf_load: unload takes it away")
        self.assertEqual(native, "tests/selftests/run tests bpf_load.sh")
        guest = self.by_name("selftests/6.12").again("module: loads")
        self.assertEqual(guest, "tests/selftests/run vm 6.12 module.sh")
        again = self.by_name("plan").again("test_plan.Bad.test_input")
        self.assertEqual(again, "tests/python plan -k test_plan.Bad.test_input")

    def test_some_are_asked_for(self) -> None:
        everything = [*suites.first_suites(), *suites.later_suites(("6.1",), False)]
        due = [suite.name for suite in everything if suites.is_due(suite, ["lint", "plan"])]
        self.assertEqual(sorted(due), ["build", "lint", "plan"])
        self.assertTrue(all(suites.is_due(suite, []) for suite in everything))
        self.assertEqual(suites.unknown(["lin", "lint2"], due), ["lint2"])


class Lanes(unittest.TestCase):
    def test_who_runs_beside_whom(self) -> None:
        """What is waiting, what runs, and what begins then, by its lane's first letter."""
        lanes = {lane.value[0]: lane for lane in (Lane.MACHINE, Lane.KERNEL, Lane.PROCESSOR)}
        for waiting, busy, wanted in (
            ("mk", "", "m"),
            ("kmp", "", "k"),
            ("kkp", "k", "p"),
            ("kmp", "k", None),
            ("kp", "m", None),
            ("k", "kp", None),
        ):
            with self.subTest(waiting, busy=busy):
                todo = [Suite(letter, ["true"], lanes[letter]) for letter in waiting]
                suite = schedule._next(todo, [lanes[letter] for letter in busy])
                self.assertEqual(suite and suite.name, wanted)

    def test_a_suite_that_hangs_is_stopped(self) -> None:
        hanging = Suite("hanging", ["sleep", "60"], timeout_s=1)
        totals = schedule.run_all([hanging], schedule.Runs())
        self.assertTrue(any("stopped after 1 s" in what for what, _ in totals.failures))


class SecondTry(unittest.TestCase):
    def run_twice(self, *suites: Suite) -> tap.Totals:
        runs = schedule.Runs()
        totals = schedule.run_all(suites, runs)
        schedule.try_again(totals, suites, runs)
        return totals

    def test_what_is_broken_fails_both_times_what_passes_alone_is_unsteady(self) -> None:
        broken = self.run_twice(Suite("bad", ["false"]), Suite("good", ["true"]))
        self.assertEqual((counts(broken), broken.unsteady), ((1, 1, 0), []))
        busy = self.run_twice(Suite("busy", ["false"], repeat=lambda *_: "true"))
        self.assertEqual((counts(busy), len(busy.unsteady)), ((1, 0, 0), 1))

    def test_many_failures_are_left(self) -> None:
        many = [Suite(f"bad{n}", ["false"], repeat=lambda s, _: f"true {s.name}") for n in range(4)]
        self.assertEqual(counts(self.run_twice(*many)), (0, 4, 0))
