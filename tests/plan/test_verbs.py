# SPDX-License-Identifier: GPL-2.0
"""place, classes, profile, draw and the program around them."""

import csv
import json
import random
import struct
import subprocess
import unittest
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from common import PLAN, Json, job, on_one_link, problem, program
from mlccplan import classes, draw, place, profile, solve
from mlccplan.errors import PlanError
from mlccplan.layout import Layout, Options


def classified(document: Json, count: int) -> Json:
    """The classes of a problem given as JSON."""
    return classes.assign(Layout(problem.from_json(document), Options()), count)


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
        ranked = place.rank(place.from_json(self.document()), Options(), lambda label, done: None)
        self.assertEqual(ranked["best"], "beside")
        self.assertEqual([one["name"] for one in ranked["candidates"]], ["beside", "crowded"])
        self.assertEqual([one["compatible"] for one in ranked["candidates"]], [True, False])
        self.assertAlmostEqual(ranked["candidates"][1]["score_mean"], 0.8)

    def test_a_gpu_decides(self) -> None:
        document = self.document()
        document["jobs"][1]["gpus"] = ["g"]
        document["candidates"][1]["jobs"]["new"]["gpus"] = ["g"]
        ranked = place.rank(place.from_json(document), Options(), lambda label, done: None)
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
        if found["needed"] <= count:
            self.assertTrue(found["distinct"])

    def test_too_few_classes(self) -> None:
        """Of three jobs and two classes, the two lightest share one."""
        found = classified(on_one_link(*(job(f"j{x}", 100, (0, x)) for x in (40, 10, 20))), 2)
        self.assertEqual(found["clashes"][0]["jobs"], ["j10", "j20"])
        self.assertAlmostEqual(found["shared_load"], 0.02)
        self.assertIs(found["possible"], False)


class Profile(unittest.TestCase):
    """Period and arcs come out of what they were put into."""

    def samples(self, period_ms: float, arcs: tuple[tuple[float, float], ...]) -> np.ndarray:
        """Frames of 9000 bytes each 10 us within the arcs, with jitter of 0.2 ms."""
        noise = np.random.default_rng(7)
        rows = []
        for turn in range(40):
            for start, length in arcs:
                at = turn * period_ms + start + noise.normal(0, 0.2)
                rows.append(np.arange(at, at + length, 0.01) + 5)
        times = np.concatenate(rows) / 1000
        return np.stack([times, np.full(len(times), 9000.0)], axis=1)

    def test_trace(self) -> None:
        table = self.samples(50, ((0, 10),))
        found = profile.from_samples("j", table[:, 0] - table[0, 0], table[:, 1], 0.001)
        self.assertAlmostEqual(found["period_ms"], 50, delta=0.1)
        (arc,) = found["arcs"]
        self.assertAlmostEqual(arc["length_ms"], 10, delta=2.1)
        self.assertAlmostEqual(arc["start_ms"], 40, delta=2.1)
        self.assertAlmostEqual(arc["gbps"] * arc["length_ms"] / 1000, 9000 * 8e-6, delta=0.006)

    def test_two_arcs(self) -> None:
        table = self.samples(120.5, ((0, 10), (30, 20)))
        found = profile.from_samples("j", table[:, 0] - table[0, 0], table[:, 1], 0.001)
        self.assertAlmostEqual(found["period_ms"], 120.5, delta=0.2)
        self.assertEqual(len(found["arcs"]), 2)
        first, second = found["arcs"]
        self.assertAlmostEqual(second["start_ms"] - first["start_ms"], 30, delta=2.1)
        self.assertAlmostEqual(first["start_ms"], 70.5, delta=2.1)

    def test_counters_read_now_and_then(self) -> None:
        """How often they are read is no period, whether nothing is a line or none."""
        noise = np.random.default_rng(3)
        for every_ms, jitter in ((5, 0.0), (5, 0.3), (20, 1.0)):
            times = np.arange(0, 255 * 12, every_ms) + noise.normal(0, jitter, 255 * 12 // every_ms)
            times = np.sort(times - times.min())
            sent = np.where(times % 255 >= 141, every_ms * 6.25e6, 0.0)
            for kept in (sent >= 0, sent > 0):
                seconds = (times[kept] - times[kept][0]) / 1000
                found = profile.from_samples("j", seconds, sent[kept], 0.001)
                self.assertAlmostEqual(found["period_ms"], 255, delta=every_ms / 2)
                (arc,) = found["arcs"]
                self.assertAlmostEqual(arc["length_ms"], 114, delta=4.1 * every_ms)

    def test_no_period(self) -> None:
        noise = np.random.default_rng(1)
        with self.assertRaisesRegex(PlanError, "no period"):
            profile.from_samples("j", np.sort(noise.random(3000)), np.full(3000, 1.0), 0.001)
        with self.assertRaisesRegex(PlanError, "no period"):
            profile.from_samples("j", np.arange(1000) / 1000, np.full(1000, 1.0), 0.001)

    def test_files(self) -> None:
        """The same from a CSV and from a capture, by the program; it can be planned with."""
        table = self.samples(50, ((0, 10),))[::4]
        with TemporaryDirectory() as folder:
            trace, capture = Path(folder) / "trace.csv", Path(folder) / "capture.pcap"
            with trace.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["seconds", "bytes"])
                writer.writerows(table.tolist())
            self.write_pcap(capture, table)
            for option, path in (("--trace", trace), ("--pcap", capture)):
                done = program("-j", "profile", option, str(path), "--name", "bert")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                (found,) = json.loads(done.stdout)["jobs"]
                self.assertEqual(found["name"], "bert")
                self.assertAlmostEqual(found["period_ms"], 50, delta=0.2)
                document = on_one_link({**found, "routes": [["l"]]})
                self.assertEqual(program("check", "-", stdin=json.dumps(document)).returncode, 0)

    def write_pcap(self, path: Path, table: np.ndarray) -> None:
        """Classic, microseconds, Ethernet."""
        with path.open("wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
            for when, size in table.tolist():
                seconds, parts = divmod(round(when * 1e6), 10**6)
                file.write(struct.pack("<IIII", seconds, parts, int(size), int(size)))
                file.write(bytes(int(size)))

    def test_mlccd(self) -> None:
        """The iteration without its phase, and the shortest phase."""
        statistics = {
            "id": 7,
            "name": "bert",
            "iteration_us": 130_000,
            "comm_us": 60_000,
            "best_us": 30_000,
            "period_us": 0,
            "d_phase_bytes": 75_000_000,
        }
        (found,) = profile.from_mlccd([statistics, {"id": 8, "name": "new", "iteration_us": 0}])
        self.assertEqual(found["period_ms"], 100)
        self.assertEqual(found["arcs"], [{"start_ms": 70, "length_ms": 30, "gbps": 20}])

    def test_lab(self) -> None:
        jobs = [{"name": "a", "isolated_ms": 100, "comm_ms": [45, 30.5, 31]}]
        (found,) = profile.from_lab({"results": [{"jobs": jobs}]})
        self.assertEqual(found["arcs"], [{"start_ms": 69.5, "length_ms": 30.5}])
        jobs[0]["silent_ms"] = 20
        (found,) = profile.from_lab({"results": [{"jobs": jobs}]})
        self.assertEqual(found["arcs"], [{"start_ms": 20, "length_ms": 80}])

    def test_refused(self) -> None:
        for bad in ([1], [{"iteration_us": -1}], [{"best_us": "x"}]):
            with self.assertRaises(PlanError):
                profile.from_mlccd(bad)
        with self.assertRaises(PlanError):
            profile.from_lab({"results": 7})
        for text in ("1,2\n3\n", "1,2\nnan,1\n2,2\n", "1,2\n2,-1\n3,1\n", "", "a\nb\n"):
            with TemporaryDirectory() as folder:
                path = Path(folder) / "x"
                path.write_text(text, encoding="utf-8")
                for read in (profile.read_trace, profile.read_pcap):
                    with self.assertRaises(PlanError) as caught:
                        read(str(path))
                    self.assertTrue(str(caught.exception).isprintable(), text)

    def test_nobody_answers(self) -> None:
        done = program("profile", "--mlccd", "--socket", "/no/such/socket")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 1))


class Draw(unittest.TestCase):
    """A picture, the same one each time."""

    def test_pictures(self) -> None:
        document = on_one_link(job("a", 40, (0, 10)), job("b", 60, (0, 10)))
        solution = solve.solve(Layout(problem.from_json(document), Options()))
        with TemporaryDirectory() as folder:
            written = []
            for name in ("1.svg", "2.svg", "3.png"):
                draw.draw(solution, Path(folder) / name, [])
                written.append((Path(folder) / name).read_bytes())
            self.assertEqual(written[0], written[1])
            self.assertIn(b"<svg", written[0])
            self.assertTrue(written[2].startswith(b"\x89PNG"))

    def test_refused(self) -> None:
        solution = solve.solve(
            Layout(problem.from_json(on_one_link(job("a", 40, (0, 1)))), Options())
        )
        for path, links, word in (
            ("x.gif", [], "svg"),
            ("x.svg", ["m"], "no link m"),
            ("x.svg", [], "nothing to draw"),
            ("/no/such/folder/x.svg", ["l"], "No such file"),
        ):
            with self.assertRaisesRegex(PlanError, word):
                draw.draw(solution, Path(path), links)


class Program(unittest.TestCase):
    """Its outside."""

    def test_help(self) -> None:
        whole = program("--help").stdout
        verbs = ("check", "solve", "place", "draw", "classes", "apply", "profile")
        for verb in verbs:
            self.assertIn(verb, whole)
            self.assertIn("--json", program(verb, "--help").stdout)

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

    def test_completion_knows_every_option(self) -> None:
        """What --help lists, bash completes."""
        script = f"source {PLAN / 'mlcc-plan.bash'}; COMP_WORDS=(mlcc-plan %s ''); COMP_CWORD=%d;"
        script += ' _mlcc_plan; printf "%%s\\n" "${COMPREPLY[@]}"'
        for verb in ("check", "solve", "place", "draw", "classes", "apply", "profile"):
            words = subprocess.run(
                ["bash", "-c", script % (verb, 2)], capture_output=True, text=True, check=True
            ).stdout.split()
            listed = {
                word.strip(",[]")
                for word in program(verb, "--help").stdout.split()
                if word.startswith(("--", "[--"))
            }
            self.assertEqual(listed - set(words), set(), verb)

    def test_man_page_knows_every_option(self) -> None:
        page = (PLAN / "mlcc-plan.1").read_text(encoding="utf-8").replace("\\-", "-")
        for verb in ("check", "solve", "place", "draw", "classes", "apply", "profile"):
            for word in program(verb, "--help").stdout.split():
                if word.startswith("--"):
                    self.assertIn(word.rstrip(","), page, verb)


if __name__ == "__main__":
    unittest.main()
