# SPDX-License-Identifier: GPL-2.0
"""Tables of figures: cells, markers, captions, what a second run skips, what --check says."""

import contextlib
import io
import json
import shutil
import subprocess
import sys
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from common import InFolder
from figures import cells, cli, measure, page, tables
from figures.history import History
from figures.tables import Measurement, Table
from mlcclab.errors import EXIT_FAILED, EXIT_OK, LabError

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
    return {
        "scenario": wanted.scenario,
        "about": "some jobs",
        "load": 0.9,
        "rate_mbps": 1000.0,
        "kernel": "6.18.1",
        "carrier": "bpf",
        "seed": 1,
        "repeat": 5,
        "iterations": wanted.place.iterations,
        "results": [result(cc, 1.0 + index / 10) for index, cc in enumerate(wanted.ccs)],
    }


def kept(wanted: Measurement, **changes: Any) -> page.Kept:
    """The same as it is kept."""
    return page.Kept(COMMIT, "2026-01-02", "2 CPUs (x)", 60.0, {**report(wanted), **changes})


def rendered(table: Table) -> str:
    """A table of the reports above."""
    return page.render(table, [kept(wanted) for wanted in tables.measurements(table)])


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

    def test_of_jobs_and_neighbours(self) -> None:
        said = result("mlcc", 1.1)
        self.assertEqual(cells.worst_job(said, ""), "1.200 ± 0.010")
        self.assertEqual(cells.converged(said, ""), "7")
        self.assertEqual(cells.harm(said, "backup"), "0.17 ± 0.01")
        self.assertEqual(cells.beside_cubic(result("cubic", 1.1), "backup"), "-")


class Pages(InFolder):
    """Markers, rows and captions."""

    def setUp(self) -> None:
        super().setUp()
        self.path = self.folder / "page.md"

    def test_what_tables_need_is_there(self) -> None:
        for table in tables.TABLES:
            self.assertTrue(page.between(tables.ROOT / table.file, table.name), table.name)
            for wanted in tables.measurements(table):
                self.assertGreater(measure.expected_seconds(wanted), 10)

    def test_replace(self) -> None:
        self.path.write_text(page_of(FIT, "old") + page_of(MISFITS, "other"), encoding="utf-8")
        page.replace(self.path, "fit", "new")
        text = self.path.read_text(encoding="utf-8")
        self.assertEqual(text, page_of(FIT, "new") + page_of(MISFITS, "other"))

    def test_markers_that_are_wrong(self) -> None:
        for text in (
            "no marker at all\n",
            page_of(FIT, "one") + page_of(FIT, "two"),
            "<!-- results: fit -->\nno end\n",
            "<!-- results: fit -->\nno end\n" + page_of(MISFITS, "other"),
        ):
            self.path.write_text(text, encoding="utf-8")
            with self.assertRaises(LabError):
                page.replace(self.path, "fit", "new")
            self.assertEqual(self.path.read_text(encoding="utf-8"), text)

    def test_rows(self) -> None:
        lines = rendered(FIT).splitlines()
        row = next(line for line in lines if "`six-equal`" in line)
        self.assertEqual(row.count("|"), lines[0].count("|"))
        self.assertIn("| 90% | 1.000 ± 0.002 | 1.100 ± 0.002 | 1.200 ± 0.002 |", row)
        self.assertIn("| 1.50 / 1.60 / 1.70 |", row)
        lines = rendered(NEIGHBOURS).splitlines()
        self.assertEqual(sum("backup (bulk)" in line for line in lines), 2)

    def test_a_caption_says_how(self) -> None:
        """Of what commit also to --check."""
        said = rendered(FIT)
        self.assertEqual(page.origin(said), page.Origin(COMMIT, "bpf"))
        for word in ("6.18.1", "2 CPUs (x)", "seeds 1-5", "2026-01-02", "tests/bench/results fit"):
            self.assertIn(word, said.splitlines()[-1])


class Resume(InFolder):
    """A second run measures what is missing, and nothing else."""

    def setUp(self) -> None:
        super().setUp()
        self.page = self.folder / MISFITS.file
        self.page.parent.mkdir()
        self.page.write_text(page_of(MISFITS, "nothing"), encoding="utf-8")
        self.asked: list[str] = []
        self.answers: dict[str, BaseException] = {}
        self.enterContext(mock.patch.object(measure, "build"))

    def lab(self, wanted: Measurement, path: Path) -> None:
        """Writes a report at once."""
        self.asked.append(wanted.scenario)
        if wanted.scenario in self.answers:
            raise self.answers[wanted.scenario]
        path.write_text(json.dumps(report(wanted)), encoding="utf-8")

    def run_tables(self, commit: str = COMMIT) -> list[str]:
        """What it has asked the lab for."""
        self.asked = []
        with contextlib.redirect_stderr(io.StringIO()):
            status = cli.Tables(self.folder, commit, self.folder / "kept", self.lab).run([MISFITS])
        self.assertEqual(status, EXIT_OK)
        return self.asked

    def written(self) -> bool:
        return page.origin(page.between(self.page, MISFITS.name)) is not None

    def test_nothing_twice_but_of_another_commit(self) -> None:
        for commit, asked in ((COMMIT, True), (COMMIT, False), ("fedcba987654", True)):
            self.page.write_text(page_of(MISFITS, "nothing"), encoding="utf-8")
            self.assertEqual(self.run_tables(commit), list(MISFITS.scenarios) if asked else [])
            self.assertTrue(self.written())

    def test_it_goes_on_after_an_interrupt_or_a_failure(self) -> None:
        third = MISFITS.scenarios[2]
        for error, again in ((KeyboardInterrupt, MISFITS.scenarios[2:]), (LabError, [third])):
            shutil.rmtree(self.folder / "kept", ignore_errors=True)
            self.page.write_text(page_of(MISFITS, "nothing"), encoding="utf-8")
            self.answers[third] = error("a flow got stuck")
            with self.assertRaises(error):
                self.run_tables()
            self.assertFalse(self.written())
            self.answers.clear()
            self.assertEqual(self.run_tables(), list(again))
            self.assertTrue(self.written())

    def test_half_a_report_or_one_of_another_protocol_is_none(self) -> None:
        self.run_tables()
        wanted, folder = next(tables.measurements(MISFITS)), self.folder / "kept"
        longer = replace(MISFITS.place, iterations=MISFITS.place.iterations + 1)
        self.assertIsNotNone(measure.read(folder, COMMIT, wanted))
        self.assertIsNone(measure.read(folder, COMMIT, replace(wanted, place=longer)))
        self.assertIsNone(measure.read(folder, COMMIT, replace(wanted, ccs=("cubic",))))
        for text in ("", "{", "[]", '{"commit": "x"}'):
            measure.path_of(folder, COMMIT, wanted).write_text(text, encoding="utf-8")
            self.assertIsNone(measure.read(folder, COMMIT, wanted), text)


class RunLab(InFolder):
    """What becomes of an interrupt."""

    def test_an_interrupt_waits_for_the_lab(self) -> None:
        tidied = self.folder / "tidied"
        text = (
            "import os, pathlib, signal, sys, time\nsignal.signal(signal.SIGTERM, sys.exit)\ntry:\n"
            "    os.kill(os.getppid(), signal.SIGINT)\n    time.sleep(60)\n"
            f"finally: pathlib.Path({str(tidied)!r}).touch()"
        )
        script = [sys.executable, "-c", text]
        self.enterContext(mock.patch.object(measure, "command", return_value=script))
        with self.assertRaises(KeyboardInterrupt):
            measure.run_lab(next(tables.measurements(FIT)), Path("unused"))
        self.assertTrue(tidied.exists())


class Checked(InFolder):
    """--check, and which commit a table names, in repositories that are made up."""

    def setUp(self) -> None:
        super().setUp()
        self.root = self.folder / "tree"
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.first = self.commit("include/mlcc/rule.h", 'int a; /* one */\nchar *b = "//";\n')
        self.commit("README.md", page_of(FIT, "nothing"))

    def git(self, *words: str) -> str:
        options = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(self.root), *options, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self, name: str, text: str) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "-q", "-m", f"changes {name}")
        return self.git("rev-parse", "--short=12", "HEAD")

    def measured_at(self, commit: str, carrier: str = "bpf") -> Table:
        table = replace(FIT, file=Path("README.md"))
        items = [
            replace(kept(wanted, carrier=carrier), commit=commit)
            for wanted in tables.measurements(FIT)
        ]
        page.replace(self.root / "README.md", FIT.name, page.render(table, items))
        return table

    def check(self, table: Table, root: Path | None = None) -> tuple[int, str]:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = cli.check(root or self.root, [table])
        return status, out.getvalue()

    def test_code_of_the_carriers_core_makes_a_table_older(self) -> None:
        """Not comments, not the other carrier, not what measures."""
        rule = "include/mlcc/rule.h"
        fresh = (EXIT_OK, "fit: fresh\n")
        table = self.measured_at(self.first)
        self.assertEqual(self.check(table), fresh)
        self.commit("tests/lab/README", "not the core")
        self.commit("tcp_mlcc/tcp_mlcc.c", "the other carrier")
        self.commit(rule, '// the other\nint a;\n\nchar *b = "//"; // string\n')
        self.assertEqual(self.check(table), fresh)
        self.assertEqual(self.check(self.measured_at(self.first, "module"))[0], EXIT_FAILED)
        last = self.commit(rule, 'int a;\nchar *b = "/";\n')
        status, said = self.check(self.measured_at(self.first))
        self.assertEqual((status, said.count("\n")), (EXIT_FAILED, 1))
        self.assertIn(last[:7], said)

    def test_what_cannot_be_told(self) -> None:
        status, said = self.check(replace(FIT, file=Path("README.md")))
        self.assertEqual((status, said), (EXIT_FAILED, "fit: not measured yet\n"))
        table = self.measured_at(self.first)
        self.git("commit", "-q", "-a", "-m", "figures")
        shallow = self.folder / "shallow"
        self.git("clone", "-q", "--depth", "1", f"file://{self.root}", str(shallow))
        status, said = self.check(table, shallow)
        self.assertEqual(status, EXIT_FAILED)
        self.assertIn(self.first, said)

    def test_a_table_names_the_last_commit_that_matters(self) -> None:
        """What is not committed has no name."""
        self.assertEqual(History(self.root).measured(), self.first)
        lab = self.commit("tests/lab/scenarios/a.toml", "a scenario")
        self.commit("Documentation/a.md", "a page")
        (self.root / "README.md").write_text("changed", encoding="utf-8")
        self.assertEqual(History(self.root).measured(), lab)
        (self.root / "include/mlcc/rule.h").write_text("changed", encoding="utf-8")
        with self.assertRaisesRegex(LabError, "include/mlcc/rule.h"):
            History(self.root).measured()
        with self.assertRaises(LabError):
            History(self.folder).measured()
