# SPDX-License-Identifier: GPL-2.0
"""Tables of figures: cells, markers, captions, what a second run skips, what --check says."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from figures import cells, cli, measure, page, tables
from figures.history import History
from figures.tables import Measurement, Table
from mlcclab.errors import EXIT_FAILED, EXIT_OK, EXIT_SKIP, EXIT_USAGE, LabError, SkipError

COMMIT = "0123456789ab"
FIT, MISFITS, NEIGHBOURS = (
    next(table for table in tables.TABLES if table.name == name)
    for name in ("fit", "misfits", "neighbours")
)


def result(cc: str, slowdown: float) -> dict[str, Any]:
    """What the lab says of one congestion control, as far as tables read it."""
    job = {"slowdown": slowdown, "slowdown_ci95": [slowdown - 0.01, slowdown + 0.01]}
    worse = {**job, "slowdown": slowdown + 0.1, "converged_at": 7.0}
    flow = {"name": "backup", "kind": "bulk", "harm": 0.17, "harm_ci95": [0.16, 0.18]}
    beside = {"beside_cubic": None if cc == "cubic" else 0.97, "beside_cubic_ci95": None}
    return {
        "cc": cc,
        "slowdown_mean": slowdown,
        "slowdown_ci95": [slowdown - 0.002, slowdown + 0.002],
        "slowdown_p99": slowdown + 0.5,
        "retransmits_per_mb": 1.25,
        "retransmits_per_mb_ci95": [1.0, 1.5],
        "jobs": [{**job, "converged_at": 3.0}, worse],
        "flows": [{**flow, **beside}],
    }


def report(wanted: Measurement) -> dict[str, Any]:
    """What the lab writes for a measurement."""
    first, last = wanted.place.seeds
    return {
        "scenario": wanted.scenario,
        "about": "some jobs",
        "load": 0.9,
        "rate_mbps": 1000.0,
        "kernel": "6.18.1",
        "carrier": "bpf",
        "seed": first,
        "repeat": last - first + 1,
        "iterations": wanted.place.iterations,
        "results": [result(cc, 1.0 + index / 10) for index, cc in enumerate(wanted.ccs)],
    }


def kept(wanted: Measurement, **changes: Any) -> page.Kept:
    """The same as it is kept."""
    return page.Kept(COMMIT, "2026-01-02", "2 CPUs (x)", 60.0, {**report(wanted), **changes})


def rendered(table: Table) -> str:
    """A table of the reports above."""
    return page.render(table, [kept(wanted) for wanted in tables.measurements(table)], [])


def page_of(table: Table, block: str) -> str:
    """A page with one table."""
    return f"before\n<!-- results: {table.name} -->\n\n{block}\n\n{page.END}\nafter\n"


class Cells(unittest.TestCase):
    """Figures for eyes."""

    def test_interval(self) -> None:
        self.assertEqual(cells.interval(1.0061, [1.0041, 1.0081], 3), "1.006 ± 0.002")
        self.assertEqual(cells.interval(1.0061, [1.0058, 1.0064], 3), "1.006 ± 0.001")
        self.assertEqual(cells.interval(1.5, [1.5, 1.5], 3), "1.500 ± 0.000")
        self.assertEqual(cells.interval(1.5, None, 3), "1.500")
        self.assertEqual(cells.interval(None, None, 3), "-")

    def test_of_jobs(self) -> None:
        said = result("mlcc", 1.1)
        self.assertEqual(cells.worst_job(said, ""), "1.200 ± 0.010")
        self.assertEqual(cells.converged(said, ""), "7")
        said["jobs"][0]["converged_at"] = None
        self.assertEqual(cells.converged(said, ""), "-")

    def test_of_a_neighbour(self) -> None:
        self.assertEqual(cells.harm(result("mlcc", 1.1), "backup"), "0.17 ± 0.01")
        self.assertEqual(cells.beside_cubic(result("cubic", 1.1), "backup"), "-")


class Tables(unittest.TestCase):
    """What is to be measured."""

    def test_scenarios_are_shipped(self) -> None:
        for table in tables.TABLES:
            for wanted in tables.measurements(table):
                self.assertTrue(wanted.file.exists(), wanted)
                self.assertGreater(measure.expected_seconds(wanted), 10)

    def test_five_seeds_at_least(self) -> None:
        for table in tables.TABLES:
            first, last = table.place.seeds
            self.assertGreaterEqual(last - first + 1, 5, table.name)

    def test_a_scenario_is_measured_once(self) -> None:
        of_all = {item for table in tables.TABLES for item in tables.measurements(table)}
        self.assertEqual(len(of_all), len({(item.scenario, item.place) for item in of_all}))

    def test_pages_have_the_markers(self) -> None:
        for table in tables.TABLES:
            self.assertTrue(page.between(tables.ROOT / table.file, table.name), table.name)


class Pages(unittest.TestCase):
    """Markers, rows and captions."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "page.md"

    def test_replace(self) -> None:
        self.path.write_text(page_of(FIT, "old") + page_of(MISFITS, "other"), encoding="utf-8")
        page.replace(self.path, "fit", "new")
        self.assertEqual(page.between(self.path, "fit"), "new")
        text = self.path.read_text(encoding="utf-8")
        self.assertEqual(text, page_of(FIT, "new") + page_of(MISFITS, "other"))

    def refused(self, text: str) -> None:
        self.path.write_text(text, encoding="utf-8")
        with self.assertRaises(LabError) as caught:
            page.replace(self.path, "fit", "new")
        self.assertNotIn("\n", str(caught.exception))
        self.assertEqual(self.path.read_text(encoding="utf-8"), text)

    def test_markers_that_are_wrong(self) -> None:
        self.refused("no marker at all\n")
        self.refused(page_of(FIT, "one") + page_of(FIT, "two"))
        self.refused("<!-- results: fit -->\nno end\n")
        self.refused("<!-- results: fit -->\nno end\n" + page_of(MISFITS, "other"))

    def test_rows(self) -> None:
        lines = rendered(FIT).splitlines()
        row = next(line for line in lines if "`six-equal`" in line)
        self.assertEqual(row.count("|"), lines[0].count("|"))
        self.assertIn("| 90% | 1.000 ± 0.002 | 1.100 ± 0.002 | 1.200 ± 0.002 |", row)
        self.assertIn("| 1.50 / 1.60 / 1.70 |", row)

    def test_a_row_for_each_neighbour(self) -> None:
        lines = rendered(NEIGHBOURS).splitlines()
        self.assertEqual(sum("backup (bulk)" in line for line in lines), 2)
        self.assertEqual({line.count("|") for line in lines[:4]}, {lines[0].count("|")})

    def test_caption_comes_back(self) -> None:
        for table in tables.TABLES:
            self.assertEqual(page.origin(rendered(table)), page.Origin(COMMIT, "bpf"))

    def test_caption_says_how(self) -> None:
        said = rendered(FIT).splitlines()[-1]
        seeds = "seeds {}-{}".format(*FIT.place.seeds)
        for word in ("6.18.1", "2 CPUs (x)", seeds, "2026-01-02", "tests/bench/results fit"):
            self.assertIn(word, said)


class FakeLab:
    """Writes a report at once, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, BaseException] = {}

    def __call__(self, wanted: Measurement, path: Path) -> None:
        self.asked.append(wanted.scenario)
        if wanted.scenario in self.answers:
            raise self.answers[wanted.scenario]
        path.write_text(json.dumps(report(wanted)), encoding="utf-8")


class Resume(unittest.TestCase):
    """A second run measures what is missing, and nothing else."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "Documentation").mkdir()
        self.page = self.root / MISFITS.file
        self.page.write_text(page_of(MISFITS, "nothing"), encoding="utf-8")
        self.lab = FakeLab()
        quiet = mock.patch.object(measure, "build")
        self.built = quiet.start()
        self.addCleanup(quiet.stop)

    def run_tables(self, commit: str = COMMIT, table: Table = MISFITS) -> int:
        session = cli.Tables(self.root, commit, self.root / "kept", self.lab)
        with contextlib.redirect_stderr(io.StringIO()):
            return session.run([table])

    def asked(self) -> list[str]:
        names, self.lab.asked = self.lab.asked, []
        return names

    def written(self) -> bool:
        return page.origin(page.between(self.page, MISFITS.name)) is not None

    def test_nothing_twice(self) -> None:
        self.assertEqual(self.run_tables(), EXIT_OK)
        self.assertEqual(self.asked(), list(MISFITS.scenarios))
        self.assertTrue(self.written())
        self.page.write_text(page_of(MISFITS, "nothing"), encoding="utf-8")
        self.built.reset_mock()
        self.assertEqual(self.run_tables(), EXIT_OK)
        self.assertEqual(self.asked(), [])
        self.built.assert_not_called()
        self.assertTrue(self.written())

    def test_goes_on_after_an_interrupt(self) -> None:
        third = MISFITS.scenarios[2]
        self.lab.answers[third] = KeyboardInterrupt()
        with self.assertRaises(KeyboardInterrupt):
            self.run_tables()
        self.assertFalse(self.written())
        self.asked()
        self.lab.answers.clear()
        self.assertEqual(self.run_tables(), EXIT_OK)
        self.assertEqual(self.asked(), list(MISFITS.scenarios[2:]))
        self.assertTrue(self.written())

    def test_another_commit_or_protocol_is_measured(self) -> None:
        self.run_tables()
        self.asked()
        self.run_tables(commit="fedcba987654")
        self.assertEqual(self.asked(), list(MISFITS.scenarios))
        longer = replace(MISFITS.place, iterations=MISFITS.place.iterations + 1)
        wanted = next(tables.measurements(MISFITS))
        folder = self.root / "kept"
        self.assertIsNotNone(measure.read(folder, COMMIT, wanted))
        self.assertIsNone(measure.read(folder, COMMIT, replace(wanted, place=longer)))
        self.assertIsNone(measure.read(folder, COMMIT, replace(wanted, ccs=("cubic",))))

    def test_half_a_report_is_none(self) -> None:
        self.run_tables()
        wanted = next(tables.measurements(MISFITS))
        path = measure.path_of(self.root / "kept", COMMIT, wanted)
        for text in ("", "{", "[]", '{"commit": "x"}'):
            path.write_text(text, encoding="utf-8")
            self.assertIsNone(measure.read(self.root / "kept", COMMIT, wanted), text)

    def test_a_failure_keeps_the_others(self) -> None:
        first = MISFITS.scenarios[0]
        self.lab.answers[first] = LabError("a flow got stuck")
        with self.assertRaises(LabError) as caught:
            self.run_tables()
        self.assertIn(first, str(caught.exception))
        self.assertFalse(self.written())
        self.assertEqual(self.asked(), list(MISFITS.scenarios))
        self.lab.answers.clear()
        self.assertEqual(self.run_tables(), EXIT_OK)
        self.assertEqual(self.asked(), [first])

    def test_what_cannot_run_is_left_out(self) -> None:
        self.lab.answers["nonharmonic-110"] = SkipError("this kernel lacks netem")
        self.assertEqual(self.run_tables(), EXIT_OK)
        block = page.between(self.page, MISFITS.name)
        self.assertIn("this kernel lacks netem", block)
        self.assertIsNotNone(page.origin(block))
        self.assertNotIn("| some jobs (`nonharmonic-110`)", block)

    def test_nothing_can_run(self) -> None:
        self.lab.answers = dict.fromkeys(MISFITS.scenarios, SkipError("no BTF"))
        self.assertEqual(self.run_tables(), EXIT_SKIP)
        self.assertFalse(self.written())

    def test_a_page_without_markers_measures_nothing(self) -> None:
        self.page.write_text("nothing\n", encoding="utf-8")
        with self.assertRaises(LabError):
            self.run_tables()
        self.assertEqual(self.asked(), [])


TIDY = """
import pathlib, signal, sys, time
def tidy(*_):
    time.sleep(0.5)
    pathlib.Path(sys.argv[1]).touch()
    sys.exit(130)
signal.signal(signal.SIGINT, tidy)
print("ready", file=sys.stderr, flush=True)
time.sleep(60)
"""


class RunLab(unittest.TestCase):
    """What becomes of the lab's last words, and of an interrupt."""

    wanted = next(tables.measurements(FIT))

    def run_script(self, text: str, *words: str) -> str:
        script = [sys.executable, "-c", text, *words]
        with (
            mock.patch.object(measure, "command", return_value=script),
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            measure.run_lab(self.wanted, Path("unused"))
        return said.getvalue()

    def test_passes_on_what_is_not_progress(self) -> None:
        lines = ["mlcc-lab: waiting for my turn", "mlcc-lab:  12%, 0:30 left: a job"]
        said = self.run_script(f"import sys; sys.stderr.write({chr(10).join(lines)!r})")
        self.assertEqual(said.strip(), lines[0])

    def test_last_words(self) -> None:
        for status, error in ((EXIT_SKIP, SkipError), (EXIT_FAILED, LabError)):
            text = f"import sys; print('x\\nmlcc-lab: no red', file=sys.stderr); sys.exit({status})"
            with self.assertRaises(error) as caught:
                self.run_script(text)
            self.assertIs(type(caught.exception), error)
            self.assertEqual(str(caught.exception), "no red")

    def test_an_interrupt_waits_for_the_lab(self) -> None:
        def follow(lab: subprocess.Popen[str]) -> str:
            assert lab.stderr is not None
            lab.stderr.readline()
            raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            tidied = Path(folder) / "tidied"
            with (
                mock.patch.object(measure, "_follow", follow),
                self.assertRaises(KeyboardInterrupt),
            ):
                self.run_script(TIDY, str(tidied))
            self.assertTrue(tidied.exists())


class Checked(unittest.TestCase):
    """--check, and which commit a table names, in repositories that are made up."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "tree"
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.first = self.commit("include/mlcc/rule.h", "the rule")
        self.commit("README.md", "a page", page_of(FIT, "nothing"))

    def git(self, *words: str) -> str:
        options = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(self.root), *options, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self, name: str, subject: str, text: str = "") -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or subject, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "-q", "-m", subject)
        return self.git("rev-parse", "--short=12", "HEAD")

    def measured_at(self, commit: str, carrier: str = "bpf") -> Table:
        table = replace(FIT, file=Path("README.md"))
        items = [
            replace(kept(wanted, carrier=carrier), commit=commit)
            for wanted in tables.measurements(FIT)
        ]
        page.replace(self.root / "README.md", FIT.name, page.render(table, items, []))
        return table

    def check(self, table: Table, root: Path | None = None) -> tuple[int, str]:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = cli.check(root or self.root, [table])
        return status, out.getvalue()

    def test_fresh(self) -> None:
        table = self.measured_at(History(self.root).measured())
        self.assertEqual(self.check(table), (EXIT_OK, "fit: fresh\n"))
        self.commit("tests/lab/README", "not the core")
        self.commit("tcp_mlcc/tcp_mlcc.c", "the other carrier")
        self.assertEqual(self.check(table), (EXIT_OK, "fit: fresh\n"))

    def test_older(self) -> None:
        table = self.measured_at(self.first)
        self.commit("include/mlcc/phase.h", "the tracker")
        last = self.commit("bpf/mlcc.bpf.c", "the carrier")
        status, said = self.check(table)
        self.assertEqual(status, EXIT_FAILED)
        self.assertEqual(said.count("\n"), 1)
        self.assertIn("the carrier", said)
        self.assertIn(last[:7], said)

    def test_comments_change_nothing(self) -> None:
        path = self.root / "include/mlcc/rule.h"
        path.write_text('int a; /* one */\nchar *b = "//";\n', encoding="utf-8")
        first = self.commit("notes.md", "a page")
        table = self.measured_at(first)
        path.write_text('// the other\nint a;\n\nchar *b = "//"; // string\n', encoding="utf-8")
        self.commit("tcp_mlcc/tcp_mlcc.7", "a page of the manual, and comments")
        self.assertEqual(self.check(table), (EXIT_OK, "fit: fresh\n"))
        path.write_text('int a;\nchar *b = "/";\n', encoding="utf-8")
        self.commit("notes.md", "code")
        self.assertEqual(self.check(table)[0], EXIT_FAILED)

    def test_the_module_has_a_core_of_its_own(self) -> None:
        table = self.measured_at(self.first, "module")
        self.commit("bpf/mlcc.bpf.c", "the other carrier")
        self.assertEqual(self.check(table)[0], EXIT_OK)
        self.commit("tcp_mlcc/tcp_mlcc.c", "the module")
        self.assertEqual(self.check(table)[0], EXIT_FAILED)

    def test_not_measured_yet(self) -> None:
        status, said = self.check(replace(FIT, file=Path("README.md")))
        self.assertEqual((status, said), (EXIT_FAILED, "fit: not measured yet\n"))

    def test_unknown_commit(self) -> None:
        self.git("add", "--all")
        table = self.measured_at(self.first)
        self.git("commit", "-q", "-a", "-m", "figures")
        shallow = self.root.parent / "shallow"
        self.git("clone", "-q", "--depth", "1", f"file://{self.root}", str(shallow))
        status, said = self.check(table, shallow)
        self.assertEqual(status, EXIT_FAILED)
        self.assertIn(self.first, said)
        self.assertEqual(self.check(table)[0], EXIT_OK)

    def test_names_the_last_commit_that_matters(self) -> None:
        self.assertEqual(History(self.root).measured(), self.first)
        lab = self.commit("tests/lab/scenarios/a.toml", "a scenario")
        self.commit("Documentation/a.md", "a page")
        self.assertEqual(History(self.root).measured(), lab)

    def test_what_is_not_committed_has_no_name(self) -> None:
        (self.root / "README.md").write_text("changed", encoding="utf-8")
        self.assertEqual(History(self.root).measured(), self.first)
        (self.root / "include/mlcc/rule.h").write_text("changed", encoding="utf-8")
        with self.assertRaises(LabError) as caught:
            History(self.root).measured()
        self.assertIn("include/mlcc/rule.h", str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_no_repository(self) -> None:
        with self.assertRaises(SkipError):
            History(self.root.parent).measured()


class Usage(unittest.TestCase):
    """Bad input is one line, and status 2."""

    def test_refused(self) -> None:
        for words in (["gians"], ["--nope"], ["--list", "--check"], ["--check", "x"], [""]):
            done = subprocess.run(
                [sys.executable, str(Path(__file__).with_name("results")), *words],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, EXIT_USAGE, words)
            self.assertEqual(done.stderr.count("\n"), 1, words)
