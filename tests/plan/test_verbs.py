# SPDX-License-Identifier: GPL-2.0
"""place, classes, profile, draw and the program around them."""

import contextlib
import io
import json
import random
import subprocess
import time
import unittest
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from common import PLAN, Json, job, on_one_link, problem, program
from mlccplan import classes, draw, place, progress, solve
from mlccplan.errors import PlanError
from mlccplan.layout import Layout, Options


def classified(document: Json, count: int) -> Json:
    """The classes of a problem given as JSON."""
    return classes.assign(Layout(problem.from_json(document), Options()), count)


class Progress(unittest.TestCase):
    """What takes long says so."""

    def test_after_a_while_it_says_that_it_goes_on(self) -> None:
        said = io.StringIO()
        soon = mock.patch.object(progress, "FIRST_S", 0.01)
        with soon, contextlib.redirect_stderr(said), progress.shown("solve"):
            while not said.getvalue():
                time.sleep(0.01)
        self.assertRegex(said.getvalue(), r"^mlcc-plan: solve, \d+ s\n$")

    def test_a_result_has_a_line_of_its_own(self) -> None:
        said = io.StringIO()
        said.isatty = lambda: True  # type: ignore[method-assign]
        soon = mock.patch.object(progress, "FIRST_S", 0.01)
        with soon, contextlib.redirect_stderr(said), progress.shown("solve"):
            while not said.getvalue():
                time.sleep(0.01)
            progress.end()
            self.assertTrue(said.getvalue().endswith("\r\033[K"), said.getvalue())


class Place(unittest.TestCase):
    """Which candidate comes first."""

    def document(self) -> Json:
        return {
            "links": [{"name": n, "gbps": 50} for n in "lm"],
            "jobs": [
                job("old", 100, (0, 60)),
                job("other", 100, (0, 30), routes=[["m"]]),
                {key: value for key, value in job("new", 100, (0, 60)).items() if key != "routes"},
            ],
            "candidates": [
                {"name": "crowded", "jobs": {"new": {"routes": [["l"]]}}},
                {"name": "beside", "jobs": {"new": {"routes": [["m"]]}}},
            ],
        }

    def test_the_compatible_one(self) -> None:
        ranked = place.rank(place.from_json(self.document()), Options())
        self.assertEqual(ranked["best"], "beside")
        self.assertEqual([one["name"] for one in ranked["candidates"]], ["beside", "crowded"])
        self.assertEqual([one["compatible"] for one in ranked["candidates"]], [True, False])
        self.assertAlmostEqual(ranked["candidates"][1]["score_mean"], 0.8)

    def test_a_gpu_decides(self) -> None:
        document = self.document()
        document["jobs"][1]["gpus"] = ["g"]
        document["candidates"][1]["jobs"]["new"]["gpus"] = ["g"]
        ranked = place.rank(place.from_json(document), Options())
        self.assertEqual(ranked["best"], "crowded")

    def test_refused(self) -> None:
        for change, word in (
            ({"name": "beside", "jobs": {"new": {"routes": [["l"]]}}}, "twice"),
            ({"name": "x", "jobs": {"nobody": {"routes": [["l"]]}}}, "no job"),
            ({"name": "x", "jobs": {"new": {"routes": [["z"]]}}}, "no link"),
            ({"name": "x", "jobs": {}}, "on no link"),
            ({"name": "x", "jobs": []}, "object"),
        ):
            document = self.document()
            document["candidates"].append(change)
            with self.assertRaisesRegex(PlanError, word):
                place.from_json(document)


class Classes(unittest.TestCase):
    """Jobs on a link differ, as far as that goes."""

    def test_short_phases_are_on_top(self) -> None:
        found = classified(on_one_link(*(job(f"j{x}", 100, (0, x)) for x in (30, 10, 20))), 8)
        self.assertEqual([one["class"] for one in found["jobs"]], [0, 2, 1])
        self.assertEqual([one["dscp"] for one in found["jobs"]], [0, 16, 8])
        self.assertEqual([one["traffic_class"] for one in found["jobs"]], [0, 64, 32])

    def test_random(self) -> None:
        for seed in range(50):
            chosen = random.Random(seed)
            links = [f"l{i}" for i in range(6)]
            jobs = [
                job(f"j{i}", 100, (0, chosen.randint(1, 50)), routes=[chosen.sample(links, 2)])
                for i in range(12)
            ]
            document = {"links": [{"name": n, "gbps": 9} for n in links], "jobs": jobs}
            self.check(document, chosen.randint(1, 8))

    def check(self, document: Json, count: int) -> None:
        found = classified(document, count)
        given = {one["name"]: one["class"] for one in found["jobs"]}
        self.assertTrue(all(0 <= one < count for one in given.values()))
        clashes = set()
        for link in document["links"]:
            users = [one["name"] for one in document["jobs"] if link["name"] in one["routes"][0]]
            clashes |= {pair for pair in combinations(users, 2) if given[pair[0]] == given[pair[1]]}
        self.assertEqual({tuple(clash["jobs"]) for clash in found["clashes"]}, clashes)
        self.assertEqual(found["distinct"], not clashes)

    def test_two_classes_for_a_circle(self) -> None:
        """Of six jobs, each with both neighbours: two classes do."""
        routes = [[f"l{i}", f"l{(i + 1) % 6}"] for i in range(6)]
        jobs = [job(f"j{i}", 100, (0, 10 + i), routes=[route]) for i, route in enumerate(routes)]
        document = {"links": [{"name": f"l{i}", "gbps": 9} for i in range(6)], "jobs": jobs}
        self.assertTrue(classified(document, 2)["distinct"])

    def test_too_few_classes(self) -> None:
        """Of three jobs and two classes, the two lightest share one."""
        found = classified(on_one_link(*(job(f"j{x}", 100, (0, x)) for x in (40, 10, 20))), 2)
        self.assertEqual(found["clashes"][0]["jobs"], ["j10", "j20"])
        self.assertAlmostEqual(found["shared_load"], 0.02)


class Draw(unittest.TestCase):
    """A picture, the same one each time."""

    def test_pictures(self) -> None:
        document = on_one_link(job("a", 40, (0, 10)), job("b", 60, (0, 10)))
        solution = solve.solve(Layout(problem.from_json(document), Options()))
        with TemporaryDirectory() as folder:
            written = []
            for name in ("1.svg", "2.svg", "3.png"):
                draw.draw(solution, Path(folder) / name)
                written.append((Path(folder) / name).read_bytes())
            self.assertEqual(written[0], written[1])
            self.assertIn(b"<svg", written[0])
            self.assertTrue(written[2].startswith(b"\x89PNG"))

    def test_refused(self) -> None:
        alone = on_one_link(job("a", 40, (0, 1)))
        shared = on_one_link(job("a", 40, (0, 1)), job("b", 40, (0, 1)))
        for document, path, word in (
            (shared, "x.gif", "svg"),
            (alone, "x.svg", "nothing to draw"),
            (shared, "/no/such/folder/x.svg", "No such file"),
        ):
            solution = solve.solve(Layout(problem.from_json(document), Options()))
            with self.assertRaisesRegex(PlanError, word):
                draw.draw(solution, Path(path))


class Program(unittest.TestCase):
    """Its outside."""

    def test_the_example_in_the_help_works(self) -> None:
        whole = program("--help").stdout
        example = whole[whole.index('{"links"') : whole.index("examples:")]
        found = json.loads(program("solve", "-j", "-", stdin=example).stdout)
        self.assertTrue(found["compatible"])

    def test_json_before_and_after_the_verb(self) -> None:
        pair = json.dumps(on_one_link(job("a", 40, (0, 10)), job("b", 60, (0, 10))))
        for words in (["-j", "solve", "-"], ["solve", "-j", "-"], ["solve", "-", "--json"]):
            self.assertTrue(json.loads(program(*words, stdin=pair).stdout)["compatible"])
        self.assertIn("the jobs fit", program("solve", "-", stdin=pair).stdout)

    def test_completion(self) -> None:
        """Of options as --help lists them."""
        script = f"source {PLAN / 'mlcc-plan.bash'}; COMP_WORDS=({PLAN / 'mlcc-plan'} solve --pre)"
        script += '; COMP_CWORD=2; _mlcc_plan; echo "${COMPREPLY[@]}"'
        words = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(words.stdout, "--precision\n")

    def test_help_and_the_man_page_know_every_option(self) -> None:
        whole = program("--help").stdout
        page = (PLAN / "mlcc-plan.1").read_text(encoding="utf-8").replace("\\-", "-")
        for verb in ("check", "solve", "place", "draw", "classes", "apply", "profile"):
            self.assertIn(verb, whole)
            words = program(verb, "--help").stdout.split()
            self.assertIn("--json", words)
            for word in words:
                if word.startswith("--"):
                    self.assertIn(word.rstrip(","), page, verb)
