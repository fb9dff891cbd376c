# SPDX-License-Identifier: GPL-2.0
"""Components, drift, GPUs, fixed jobs, and what is said to be proven."""

import json
import random
import unittest

import numpy as np

from common import Json, answer, job, on_one_link, problem, program, report, solved
from mlccplan import exact, periods
from mlccplan.circle import TURNS_MAX, Demand, Resource
from mlccplan.layout import Layout, Options
from mlccplan.solve import check


def many(count: int, links: int, seed: int) -> Json:
    """Jobs on random links, with the periods of a few models."""
    draw = random.Random(seed)
    jobs = []
    for index in range(count):
        period = draw.choice((100, 200, 250, 400))
        phase = round(period * draw.uniform(0.1, 0.4), 3)
        routes = [[f"l{link}" for link in draw.sample(range(links), 3)]]
        jobs.append(job(f"j{index}", period, (0, phase, draw.choice((10, 25, 50))), routes=routes))
    return {"links": [{"name": f"l{i}", "gbps": 50} for i in range(links)], "jobs": jobs}


class Components(unittest.TestCase):
    """Who has to do with whom."""

    def test_separate_links(self) -> None:
        document = {
            "links": [{"name": "l", "gbps": 50}, {"name": "m", "gbps": 50}],
            "jobs": [job(name, 100, (0, 60)) for name in "ab"]
            + [job(name, 70, (0, 30), routes=[["m"]]) for name in "cd"],
        }
        found = answer(document)
        self.assertEqual([one["jobs"] for one in found["components"]], [["a", "b"], ["c", "d"]])
        self.assertEqual([one["perimeter_ms"] for one in found["components"]], [100, 70])
        self.assertEqual([one["compatible"] for one in found["components"]], [False, True])
        self.assertIs(found["compatible"], False)

    def test_a_link_that_is_large_enough_joins_nobody(self) -> None:
        found = answer(on_one_link(job("a", 100, (0, 60, 20)), job("b", 77, (0, 60, 30))))
        self.assertEqual((found["components"], found["score_mean"]), ([], 1))

    def test_one_rotation_on_every_link(self) -> None:
        """Three phases that fill the circle, each pair on a link of its own."""
        routes = {"a": ["ab", "ca"], "b": ["ab", "bc"], "c": ["bc", "ca"]}
        jobs = [job(name, 90, (0, 30), routes=[links]) for name, links in routes.items()]
        document = {"links": [{"name": n, "gbps": 9} for n in ("ab", "bc", "ca")], "jobs": jobs}
        found = answer(document)
        self.assertTrue(found["compatible"])
        at = sorted(one["shift_ms"] for one in found["jobs"])
        self.assertAlmostEqual(at[1] - at[0], 30)
        self.assertAlmostEqual(at[2] - at[1], 30)

    def test_hops_of_a_path_count(self) -> None:
        """Links with the same jobs are solved once, and scored as many times as there are."""
        links = [f"l{i}" for i in range(5)]
        jobs = [job(name, 100, (0, 60), routes=[links]) for name in "ab"]
        found = answer({"links": [{"name": n, "gbps": 9} for n in links], "jobs": jobs})
        self.assertEqual(len(found["components"][0]["contended"]), 1)
        self.assertEqual([one["score"] for one in found["links"]], [0.8] * 5)
        self.assertEqual((found["score_mean"], found["score_bound"]), (0.8, 0.8))

    def test_a_job_that_is_alone_and_too_fast(self) -> None:
        found = answer(on_one_link(job("a", 100, (0, 50, 75))))
        self.assertIs(found["compatible"], False)
        self.assertAlmostEqual(found["score_mean"], 0.75)


class Scores(unittest.TestCase):
    """CASSINI's definition, and the strict one."""

    def test_half_the_bandwidth_each(self) -> None:
        pair = on_one_link(job("a", 100, (0, 60, 25)), job("b", 100, (0, 60, 25)))
        found = answer(pair)
        self.assertEqual(found["links"][0]["score"], 1)
        strict = answer(pair, strict=True)
        self.assertIs(strict["compatible"], False)
        self.assertAlmostEqual(strict["links"][0]["score"], 0.8)
        self.assertAlmostEqual(strict["links"][0]["score_strict"], 0.8)

    def test_negative(self) -> None:
        found = answer(on_one_link(*(job(name, 10, (0, 10)) for name in "abc")))
        self.assertEqual(found["score_mean"], -1)

    def test_room_on_both_sides(self) -> None:
        found = answer(on_one_link(job("a", 360, (0, 90), fixed=True), job("b", 360, (0, 90))))
        self.assertEqual(found["jobs"][1]["shift_ms"], 180)

    def test_fixed_jobs_stay(self) -> None:
        document = on_one_link(
            job("a", 100, (0, 30), shift_ms=17, fixed=True),
            job("b", 100, (0, 30), shift_ms=20),
            job("c", 100, (0, 30), shift_ms=17.5, fixed=True),
        )
        found = answer(document)
        self.assertEqual([one["shift_ms"] for one in found["jobs"]][::2], [17, 17.5])
        self.assertAlmostEqual(found["score_mean"], 1 - 0.295)
        self.assertTrue(found["proven"])

    def test_never_worse_than_it_was(self) -> None:
        document = many(12, 3, 5)
        draw = random.Random(5)
        for one in document["jobs"]:
            one["shift_ms"] = draw.randrange(one["period_ms"])
        found = answer(document, limit_s=0.2)
        for one, better in zip(document["jobs"], found["jobs"], strict=True):
            one["shift_ms"] = better["shift_ms"]
        before = report.document(check(Layout(problem.from_json(document), Options())))
        after = answer(document, steps=8, limit_s=0.2)
        self.assertGreaterEqual(after["score_mean"], before["score_mean"])


class Periods(unittest.TestCase):
    """Tolerance, drift, and periods that never meet."""

    def test_same_ratio_stays(self) -> None:
        self.assertEqual(periods.planned([40, 60, 120], 0.02), {40: 40, 60: 60, 120: 120})

    def test_near_a_ratio(self) -> None:
        planned = periods.planned([329_000, 329_000, 165_000], 0.02)
        self.assertEqual(planned[329_000], 2 * planned[165_000])
        self.assertTrue(all(0 <= new - old <= 0.02 * old for old, new in planned.items()))

    def test_not_near(self) -> None:
        self.assertEqual(
            periods.planned([157_000, 297_000], 0.02), {157_000: 157_000, 297_000: 297_000}
        )
        self.assertEqual(periods.planned([100, 101], 0), {100: 100, 101: 101})

    def test_any_periods(self) -> None:
        """Nobody is planned faster than it is, or slower than tolerances allow."""
        draw = random.Random(1)
        for _ in range(200):
            given = [draw.randint(10_000, 999_999) for _ in range(draw.randint(1, 12))]
            for old, new in periods.planned(given, 0.02).items():
                self.assertTrue(old <= new <= old * 1.05, (given, old, new))

    def test_drift(self) -> None:
        drift = periods.Drift(100_000, 100_100)
        self.assertEqual((drift.us_per_iteration, drift.ppm), (100, 1000))
        # 50 iterations until it is 5 ms away
        self.assertAlmostEqual(drift.correct_every_s or 0, 5)
        self.assertFalse(drift.holds)
        self.assertTrue(periods.Drift(100_000, 100_012).holds)
        self.assertTrue(periods.Drift(7, 7).holds)

    def test_expectation(self) -> None:
        """Of periods whose phases all meet, against a long look at both."""
        a, b = 10_007, 14_983
        waves = []
        for index, (period, start, length, height) in enumerate(
            ((a, 3000, 4000, 2.0), (b, 9000, 9000, 3.0))
        ):
            waves.append(
                Demand(index, period, *(np.array([x]) for x in (start, length)), np.array([height]))
            )
        link = Resource("l", 4.0, waves, hard=False)
        self.assertEqual(len(link.circles), 2)
        time = np.arange(0, a * b, 97)
        total = sum(
            np.where((time - d.starts[0]) % d.period < d.lengths[0], d.heights[0], 0) for d in waves
        )
        seen = float(np.maximum(0, total - 4).mean()) / 4
        self.assertAlmostEqual(link.excess([0, 0]), seen, 4)
        self.assertAlmostEqual(link.excess([5, 9999]), link.excess([0, 0]))

    def test_a_trial_costs_what_it_says(self) -> None:
        """Each shift's cost, against the excess after the move; one circle, several, many turns."""
        draw = np.random.default_rng(3)
        for given in ((60, 60, 60), (60, 90, 40), (7001, 9001, 7001), (11, 7, 77, 700)):
            demands = []
            for index, period in enumerate(given):
                starts = np.array([0, period // 2])
                lengths = draw.integers(1, period // 2, 2)
                demands.append(Demand(index, period, starts, lengths, draw.random(2) + 0.5))
            link = Resource("l", 1.5, demands, hard=False)
            shifts = [int(draw.integers(period)) for period in given]
            for index, period in enumerate(given):
                tried = draw.integers(0, period, 5)
                costs = link.trial(index, shifts).costs(tried)
                for shift, cost in zip(tried, costs, strict=True):
                    moved = [*shifts[:index], int(shift), *shifts[index + 1 :]]
                    self.assertAlmostEqual(link.excess(moved), cost, 9)
                    self.assertLess(
                        max(c.perimeter // min(given) for c in link.circles), TURNS_MAX + 1
                    )


class Proofs(unittest.TestCase):
    """What is said to be proven, and by whom."""

    def setUp(self) -> None:
        if not exact.available():
            self.skipTest("OR-tools is not here: make deps")

    def odd_ring(self) -> Json:
        """Three jobs, each beside both others: no pair is too much, all three are."""
        jobs = [
            job(f"j{i}", 360, (0, 144), routes=[[f"l{i}", f"l{(i + 1) % 3}"]]) for i in range(3)
        ]
        return {"links": [{"name": f"l{i}", "gbps": 9} for i in range(3)], "jobs": jobs}

    def test_an_odd_ring_on_a_grid(self) -> None:
        """The score of the best plan is known: 3 * 144 - 360 too much, somewhere on three links."""
        found = answer(self.odd_ring())
        self.assertTrue(found["proven"])
        self.assertIs(found["compatible"], False)
        self.assertAlmostEqual(found["score_mean"], 1 - (3 * 144 - 360) / 360 / 3, 6)

    def test_without_or_tools(self) -> None:
        """Less is proven, which is said; what is found is as good."""
        ring = json.dumps(self.odd_ring())
        there = json.loads(program("-j", "solve", "-", stdin=ring).stdout)
        gone = json.loads(program("-j", "solve", "-", stdin=ring, MLCC_CACHE="/nowhere").stdout)
        self.assertTrue(there["proven"])
        self.assertAlmostEqual(gone["score_mean"], there["score_mean"], 6)
        if not gone["proven"]:  # where this interpreter has OR-tools anyway, it is
            self.assertIsNone(gone["compatible"])
            self.assertTrue(any("OR-tools" in note for note in gone["notes"]))

    def test_bounds_hold(self) -> None:
        for seed in range(10):
            found = answer(many(10, 4, seed), limit_s=0.1)
            self.assertGreaterEqual(found["score_bound"] + 1e-9, found["score_mean"], seed)


class Precision(unittest.TestCase):
    """What a step is too coarse for is not called impossible."""

    def test_between_two_steps(self) -> None:
        """40 ms and 60 ms leave 20 ms, which 10.1 ms and 9.9 ms fill; 5 degrees are 0.56 ms."""
        pair = on_one_link(job("a", 40, (0, 10.1)), job("b", 60, (0, 9.9)))
        coarse, exactly = answer(pair), answer(pair, steps=None)
        self.assertEqual((coarse["compatible"], coarse["infeasible"]), (False, "precision"))
        self.assertTrue(coarse["proven"])
        self.assertEqual((exactly["compatible"], exactly["infeasible"]), (True, None))

    def test_never(self) -> None:
        pair = on_one_link(job("a", 40, (0, 10.1)), job("b", 60, (0, 10)))
        for steps in (72, None):
            self.assertEqual(answer(pair, steps=steps)["infeasible"], "always")


class Gpus(unittest.TestCase):
    """Jobs that share a GPU compute one after the other."""

    def test_two_fit(self) -> None:
        jobs = [job(name, 100, (50, 50), gpus=["g"]) for name in "ab"]
        found = answer(on_one_link(*jobs))
        self.assertTrue(found["compatible"] and found["feasible"] and found["proven"])
        a, b = (one["shift_ms"] for one in found["jobs"])
        self.assertEqual((b - a) % 100, 50)

    def test_the_link_would_allow_more(self) -> None:
        """Without the GPU a shift of 20 ms would do; with it, nothing does."""
        compute = [{"start_ms": 0, "length_ms": 60}]
        jobs = [job(name, 100, (60, 20), gpus=["g"], compute=compute) for name in "ab"]
        found = answer(on_one_link(*jobs))
        self.assertIs(found["feasible"], False)
        self.assertIs(found["compatible"], False)

    def test_other_gpus(self) -> None:
        jobs = [job(name, 100, (60, 40), gpus=[name]) for name in "ab"]
        self.assertTrue(answer(on_one_link(*jobs))["feasible"])

    def test_gpu_first(self) -> None:
        """Where nothing suits both, the GPU is what has to fit."""
        compute = [{"start_ms": 0, "length_ms": 50}]
        jobs = [job(name, 100, (0, 60), gpus=["g"], compute=compute) for name in "ab"]
        found = answer(on_one_link(*jobs))
        self.assertTrue(found["feasible"])
        a, b = (one["shift_ms"] for one in found["jobs"])
        self.assertEqual((b - a) % 100, 50)


class Repeatable(unittest.TestCase):
    """The same problem, the same answer; what a limit in seconds cuts short is left out."""

    def test_same(self) -> None:
        jobs = [job(f"j{i}", 100, (0, 10 + i, 20), (50, 5 + i, 30)) for i in range(4)]
        first, second = (solved(on_one_link(*jobs), limit_s=30).shifts for _ in range(2))
        self.assertEqual(first, second)
