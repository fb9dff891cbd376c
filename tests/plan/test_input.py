# SPDX-License-Identifier: GPL-2.0
"""Bad input: one line, exit status 1, nothing on stdout."""

import copy
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import Json, job, on_one_link, problem, program
from mlccplan import reader
from mlccplan.errors import PlanError

GOOD: Json = {
    "links": [
        {"name": "l", "gbps": 50, "from": "a", "to": "b"},
        {"name": "m", "gbps": 50, "from": "b", "to": "c"},
        {"name": "n", "gbps": 50, "from": "c", "to": "a"},
    ],
    "jobs": [
        {
            "name": "j",
            "period_ms": 100,
            "arcs": [{"start_ms": 10, "length_ms": 20, "gbps": 5}],
            "routes": [["l", "m"]],
        }
    ],
}
NAN, INFINITY = float("nan"), float("inf")

# where, what is put there, and a word of the complaint
BAD: tuple[tuple[tuple[Any, ...], Any, str], ...] = (
    (("jobs", 0, "routes"), [["l", "m", "l"]], "loop"),
    (("jobs", 0, "routes"), [["l", "m", "n"]], "loop"),
    (("jobs", 0, "routes"), [["m", "l"]], "gap"),
    (("jobs", 0, "routes"), [["x"]], "no link"),
    (("jobs", 0, "routes"), [], "routes"),
    (("jobs", 0, "routes"), [[]], "routes"),
    (("jobs", 0, "routes"), "l", "list"),
    (("jobs", 0, "period_ms"), 0, "period_ms"),
    (("jobs", 0, "period_ms"), -100, "period_ms"),
    (("jobs", 0, "period_ms"), NAN, "NaN"),
    (("jobs", 0, "period_ms"), INFINITY, "Infinity"),
    (("jobs", 0, "period_ms"), 10**400, "period_ms"),
    (("jobs", 0, "period_ms"), True, "period_ms"),
    (("jobs", 0, "period_ms"), "100", "period_ms"),
    (("jobs", 0, "period_ms"), None, "period_ms"),
    (("jobs", 0, "name"), "a b\x1b", "name"),
    (("jobs", 0, "name"), "x" * 64, "name"),
    (("jobs", 0, "perod"), "j", "perod"),
    (("jobs", 0, "shift_ms"), -1, "shift_ms"),
    (("jobs", 0, "fixed"), 1, "fixed"),
    (("jobs", 0, "gpus"), ["g", "g"], "twice"),
    (("jobs", 0, "compute"), [{"start_ms": 0, "length_ms": 1}], "gpus"),
    (("jobs", 0, "arcs"), [], "arcs"),
    (("jobs", 0, "arcs"), {}, "arcs"),
    (("jobs", 0, "arcs", 0, "start_ms"), -1, "start_ms"),
    (("jobs", 0, "arcs", 0, "start_ms"), 100, "circle"),
    (("jobs", 0, "arcs", 0, "length_ms"), 0, "length_ms"),
    (("jobs", 0, "arcs", 0, "length_ms"), 101, "circle"),
    (("jobs", 0, "arcs", 0, "gbps"), 0, "gbps"),
    (("jobs", 0, "arcs"), [{"start_ms": 0, "length_ms": 20}] * 2, "overlap"),
    (
        ("jobs", 0, "arcs"),
        [{"start_ms": 5, "length_ms": 5}, {"start_ms": 90, "length_ms": 16}],
        "over",
    ),
    (("links", 0, "gbps"), 0, "gbps"),
    (("links", 0, "gbps"), -50, "gbps"),
    (("links", 0, "to"), 7, "to"),
    (("links",), [], "links"),
    (("links", 1, "name"), "l", "twice"),
    (("jobs",), [], "jobs"),
    (("jobs",), {}, "jobs"),
    (("jobs",), [1], "object"),
    (("jobs",), [{}] * 10**6, "1000000"),
    (("version",), 2, "version"),
)
NO_JSON = (b"", b"{", b"\xff", b"[" * 100_000, b'{"jobs": 1, "jobs": 2}', b"9" * 10_000, b"[1e999]")


def put(at: tuple[Any, ...], value: Any) -> Json:
    """A problem that is good but for this."""
    document = copy.deepcopy(GOOD)
    place: Any = document
    for key in at[:-1]:
        place = place[key]
    place[at[-1]] = value
    return document


def complaint(data: bytes) -> str:
    """What reading says."""
    try:
        problem.from_json(reader.parse("input", data))
    except PlanError as error:
        return str(error)
    return ""


class Input(unittest.TestCase):
    """Refused whole, with the place and what is allowed."""

    def test_good(self) -> None:
        self.assertEqual(complaint(json.dumps(GOOD).encode()), "")

    def test_bad(self) -> None:
        for at, value, word in BAD:
            with self.subTest(at=at, value=str(value)[:60]):
                said = complaint(json.dumps(put(at, value)).encode())
                self.assertIn(word, said)
                self.assertNotIn("\n", said)
                self.assertLess(len(said), 300)
                self.assertTrue(said.isprintable(), said)

    def test_missing(self) -> None:
        for key in ("name", "period_ms", "arcs", "routes"):
            document = copy.deepcopy(GOOD)
            del document["jobs"][0][key]
            self.assertIn(key, complaint(json.dumps(document).encode()))

    def test_no_json(self) -> None:
        for data in NO_JSON:
            with self.subTest(data=data[:40]):
                said = complaint(data)
                self.assertTrue(said and said.isprintable(), said)

    def test_too_large(self) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "large"
            with path.open("wb") as file:
                file.truncate(reader.BYTES_MAX + 1)
            with self.assertRaisesRegex(PlanError, "MiB"):
                reader.load(str(path))

    def test_too_many_on_one_link(self) -> None:
        jobs = [job(f"j{i}", 100, (0, 1)) for i in range(1001)]
        self.assertIn("1001 jobs", complaint(json.dumps(on_one_link(*jobs)).encode()))

    def test_program(self) -> None:
        """Every verb that reads a problem ends the same way."""
        bad = json.dumps(put(("links", 0, "gbps"), 0))
        for verb in (["check"], ["solve"], ["place"], ["classes"], ["draw"]):
            more = ["x.svg"] if verb == ["draw"] else []
            done = program(*verb, "-", *more, stdin=bad)
            self.assertEqual((done.returncode, done.stdout), (1, ""), verb)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertTrue(done.stderr.startswith("mlcc-plan: "))

    def test_usage(self) -> None:
        wrong = (
            [],
            ["solve"],
            ["solve", "-", "--precision", "7"],
            ["solve", "-", "--precision", "nan"],
            ["solve", "-", "--limit", "-1"],
            ["classes", "-", "--count", "0"],
            ["classes", "-", "--count", "9"],
            ["profile"],
            ["profile", "--trace", "x", "--pcap", "y"],
        )
        for arguments in wrong:
            done = program(*arguments, stdin=json.dumps(GOOD))
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertEqual(len(done.stderr.splitlines()), 1, arguments)

    def test_no_file(self) -> None:
        done = program("solve", "/no/such/file")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))

    def test_check_says_whether_they_fit(self) -> None:
        pair = on_one_link(job("a", 255, (141, 114)), job("b", 255, (141, 114)))
        self.assertEqual(program("check", "-", stdin=json.dumps(pair)).returncode, 4)
        pair["jobs"][1]["shift_ms"] = 120
        self.assertEqual(program("check", "-", stdin=json.dumps(pair)).returncode, 0)
