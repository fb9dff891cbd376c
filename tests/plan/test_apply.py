# SPDX-License-Identifier: GPL-2.0
"""apply: slots out of shifts, room for wrong clocks, and what mlccd is told, all or nothing."""

import json
import os
import random
import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import memory_mlccd
from common import Json, job, on_one_link, problem, program
from fake_mlccd import Listener
from memory_mlccd import MemoryMlccd
from mlccplan import apply, solve
from mlccplan.errors import PlanError
from mlccplan.layout import Layout, Options

VGG16 = on_one_link(job("a", 255, (141, 114)), job("b", 255, (141, 114)))


class Slots(unittest.TestCase):
    """What a shift means for a phase."""

    def test_a_phase_begins_after_the_shift_and_the_lead(self) -> None:
        given = problem.from_json(
            on_one_link(
                job("a", 255, (141, 114), shift_ms=200, fixed=True),
                job("b", 255, (141, 114)),
                job("alone", 100, (0, 10), routes=[["m"]]),
            )
            | {"links": [{"name": n, "gbps": 50} for n in "lm"]}
        )
        solution = solve.solve(Layout(given, Options()))
        found = apply.slots(given, solution)
        self.assertEqual(set(found), {"a", "b"})
        self.assertEqual(found["a"], apply.Slot(255_000, (200_000 + 141_000) % 255_000, 141_000))
        apart = (found["b"].offset_us - found["a"].offset_us) % 255_000
        self.assertTrue(114_000 <= apart <= 141_000, apart)

    def test_random_guards(self) -> None:
        """Whatever is planned with a guard fits for clocks that are wrong by as much."""
        tried = 0
        for seed in range(200):
            chosen = random.Random(seed)
            lengths = [chosen.randint(10, 40) for _ in range(3)]
            jobs = [job(f"j{i}", 200, (chosen.randint(0, 199), n)) for i, n in enumerate(lengths)]
            guard = chosen.randint(0, 12)
            given = problem.from_json(on_one_link(*jobs))
            options = Options(steps=None, limit_s=0.05, seed=seed)
            solution = solve.solve(Layout(apply.widened(given, guard * 1000), options))
            if not all(outcome.fits for outcome in solution.outcomes):
                continue
            tried += 1
            begins = apply.slots(given, solution)
            for _ in range(20):
                taken = [0] * 200
                for index, length in enumerate(lengths):
                    at = begins[f"j{index}"].offset_us // 1000 + chosen.randint(-guard, guard)
                    for step in range(length):
                        taken[(at + step) % 200] += 1
                self.assertLessEqual(max(taken), 1 if guard else 2, (seed, guard, taken))
        self.assertGreater(tried, 100)

    def test_a_guard_keeps_a_jobs_arcs_apart(self) -> None:
        given = problem.from_json(on_one_link(job("a", 100, (0, 10), (30, 50, 7))))
        for guard_us in (0, 1000, 9_999, 10_000, 20_000, 10**9):
            (wide,) = apply.widened(given, guard_us).jobs
            arcs = wide.arcs
            self.assertEqual([arc.kbps for arc in arcs], [None, 7_000_000])
            for arc, after in ((arcs[0], arcs[1]), (arcs[1], arcs[0])):
                gap = (after.start_us - arc.start_us - arc.length_us) % 100_000
                self.assertLess(gap, 90_000, guard_us)
            self.assertLessEqual(sum(arc.length_us for arc in arcs), 100_000)
        self.assertEqual(arcs[0].start_us, 90_000)

    def test_periods_that_mlccd_does_not_take(self) -> None:
        for period in (0.5, 61_000):
            pair = on_one_link(*(job(n, period, (0, period / 4)) for n in "ab"), gbps=1)
            given = problem.from_json(pair)
            with self.assertRaisesRegex(PlanError, "mlccd shifts jobs of 1 to 60000 ms"):
                apply.slots(given, solve.solve(Layout(given, Options())))


class Told(unittest.TestCase):
    """What reaches mlccd, and what does not."""

    def run_apply(
        self, listener: Listener, *words: str, document: Json = VGG16
    ) -> subprocess.CompletedProcess[str]:
        self.addCleanup(listener.close)
        stdin = json.dumps(document)
        return program("apply", "--socket", str(listener.path), *words, "-", stdin=stdin)

    def test_shifts(self) -> None:
        mlccd = Listener(["b", "other", "a", "a"])
        done = self.run_apply(mlccd, "-j")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (asked,) = mlccd.asked
        told = {one["job"]: one for one in asked["jobs"]}
        self.assertEqual(set(told), {1, 3, 4})
        self.assertEqual(told[3], told[4] | {"job": 3})
        apart = (told[1]["offset_us"] - told[3]["offset_us"]) % 255_000
        self.assertTrue(114_000 <= apart <= 141_000, apart)
        self.assertEqual((told[1]["period_us"], told[1]["lead_us"]), (255_000, 141_000))
        said = json.loads(done.stdout)
        self.assertEqual([one["ids"] for one in said["jobs"]], [[3, 4], [1]])
        self.assertEqual(said["jobs"][1]["slot_ms"], told[1]["offset_us"] / 1000)
        self.assertIs(said["dry_run"], False)

    def test_dry_run(self) -> None:
        mlccd = Listener(["a", "b"])
        done = self.run_apply(mlccd, "--dry-run")
        self.assertEqual(done.returncode, 0, done)
        self.assertIs(mlccd.asked[0]["dry_run"], True)
        self.assertIn("would set the plan of 2", done.stdout)

    def test_what_does_not_fit_is_not_applied(self) -> None:
        crowded = on_one_link(*(job(n, 100, (0, 60)) for n in "ab"))
        for words, status in (([], 4), (["--as-is"], 4), (["--best"], 0), (["--clear"], 0)):
            mlccd = Listener(["a", "b"])
            done = self.run_apply(mlccd, *words, document=crowded)
            self.assertEqual((done.returncode, len(mlccd.asked)), (status, status == 0), done)
        # with a guard it is too tight for, a plan is none
        mlccd = Listener(["a", "b"])
        self.assertEqual(self.run_apply(mlccd, "--guard", "6").returncode, 0)
        mlccd = Listener(["a", "b"])
        self.assertEqual(self.run_apply(mlccd, "--guard", "7").returncode, 4)
        self.assertEqual(mlccd.asked, [])

    def test_jobs_that_mlccd_lacks(self) -> None:
        mlccd = Listener(["a"])
        done = self.run_apply(mlccd)
        self.assertEqual((done.returncode, mlccd.asked), (1, []))
        self.assertIn("no job b", done.stderr)
        mlccd = Listener(["a"])
        self.assertEqual(self.run_apply(mlccd, "--here").returncode, 0)
        self.assertEqual([one["job"] for one in mlccd.asked[0]["jobs"]], [1])
        mlccd = Listener(["c"])
        self.assertEqual(self.run_apply(mlccd, "--here").returncode, 1)

    def test_a_refusal_is_passed_on(self) -> None:
        line = "period_us: a whole number from 1000 to 60000000 is wanted \x1b[2J"
        done = self.run_apply(Listener(["a", "b"], line))
        self.assertEqual(done.returncode, 1)
        self.assertIn("from 1000 to 60000000 is wanted", done.stderr)
        self.assertTrue(done.stderr.strip().isprintable(), done.stderr)

    def test_classes(self) -> None:
        document = on_one_link(*(job(f"j{n}", 100, (0, n)) for n in (30, 10, 20)))
        names = ["j30", "j10", "j20"]
        for words, wanted in (
            (["--classes", "8"], [0, 16, 8]),
            (["--classes", "3", "--dscp", "10,20,30"], [10, 30, 20]),
        ):
            mlccd = Listener(names)
            done = self.run_apply(mlccd, "--no-shifts", *words, document=document)
            self.assertEqual(done.returncode, 0, done)
            told = mlccd.asked[0]["jobs"]
            self.assertEqual([one["dscp"] for one in told], wanted)
            self.assertFalse(any("period_us" in one for one in told))
        mlccd = Listener(names)
        self.run_apply(mlccd, "--classes", "2", document=document)
        told = mlccd.asked[0]["jobs"]
        self.assertEqual({one["dscp"] for one in told}, {0, 8})
        self.assertTrue(all("period_us" in one for one in told))

    def test_clear(self) -> None:
        mlccd = Listener(["a", "b"])
        self.assertEqual(self.run_apply(mlccd, "--clear").returncode, 0)
        self.assertEqual(mlccd.asked[0]["jobs"], [{"job": 1}, {"job": 2}])

    def test_wrong_usage(self) -> None:
        for words in (
            ["--guard", "-1"],
            ["--guard", "nan"],
            ["--classes", "9"],
            ["--classes", "2", "--dscp", "0"],
            ["--classes", "2", "--dscp", "0,0"],
            ["--classes", "2", "--dscp", "0,64"],
            ["--dscp", "0,8"],
            ["--no-shifts"],
            ["--clear", "--classes", "2"],
        ):
            mlccd = Listener(["a", "b"])
            done = self.run_apply(mlccd, *words)
            self.assertEqual((done.returncode, mlccd.asked), (2, []), (words, done))
            self.assertEqual(len(done.stderr.splitlines()), 1, done)

    def test_several_arcs_are_noted(self) -> None:
        document = on_one_link(job("a", 100, (0, 10), (50, 10)), job("b", 100, (0, 10)))
        done = self.run_apply(Listener(["a", "b"]), "-j", document=document)
        self.assertIn("several arcs", json.loads(done.stdout)["notes"][-1])


def missing() -> str:
    if why := memory_mlccd.missing():
        return why
    return "needs root: only root may set jobs by number" if os.geteuid() else ""


@unittest.skipIf(missing(), missing())
class RealDaemon(unittest.TestCase):
    """The same against mlccd, whose carrier is only memory."""

    def setUp(self) -> None:
        folder = TemporaryDirectory(prefix="mlcc-plan-")
        self.addCleanup(folder.cleanup)
        self.mlccd = MemoryMlccd(Path(folder.name))
        self.mlccd.start()
        self.addCleanup(self.mlccd.kill)

    def test_it_takes_what_it_is_told(self) -> None:
        for number, name in enumerate("ab", 1):
            self.mlccd.ask({"op": "set-job", "id": number, "name": name})
        words = ["apply", "-j", "--socket", str(self.mlccd.socket)]
        stdin = json.dumps(VGG16)
        said = json.loads(program(*words, "-", stdin=stdin).stdout)
        for one in said["jobs"]:
            shown = self.mlccd.job(one["name"])
            self.assertEqual(shown["shift_offset_us"], one["slot_ms"] * 1000)
            self.assertEqual(shown["shift_period_us"], 255_000)
        # a job without a cgroup can have no DSCP: then nobody gets another shift, either
        before = self.mlccd.ask({"op": "show"})
        done = program(*words, "--classes", "2", "--seed", "5", "--guard", "3", "-", stdin=stdin)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("no cgroup", done.stderr)
        self.assertEqual(self.mlccd.ask({"op": "show"}), before)
        self.assertEqual(program(*words, "--clear", "-", stdin=stdin).returncode, 0)
        self.assertNotIn("shift_period_us", self.mlccd.job("a"))
