# SPDX-License-Identifier: GPL-2.0
"""The hostile suite: its cells, the verdicts by hand-made examples, the table, the command line."""

import json
import random
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from common import InFolder, said
from figures import bars, hostile, hostile_cli, judge, measure, page, tables
from figures.bars import CANNOT_TELL, MET, MISSED, Span
from figures.history import History
from mlcclab import scenario
from mlcclab.errors import EXIT_OK

BY_NAME = {cell.name: cell for cell in hostile.CELLS}
NOISE = [0.0, 0.001, -0.001, 0.002, -0.002]
NATIVE = BY_NAME["web-60k"]


class Cells(unittest.TestCase):
    """What the table of cells comes to."""

    def test_the_lab_reads_all(self) -> None:
        self.assertEqual(len(BY_NAME), len(hostile.CELLS))
        with tempfile.TemporaryDirectory() as folder:
            hostile.write(hostile.CELLS, Path(folder))
            for cell in hostile.CELLS:
                wanted = hostile.measurement(cell, Path(folder))
                loaded = scenario.load(wanted.file)
                self.assertEqual((loaded.name, loaded.about), (cell.name, cell.about))
                self.assertEqual("netem" in loaded.needs, cell.kernel is not None, cell.name)
                self.assertIn(cell.judged, (None, *(job.name for job in loaded.jobs)))
                self.assertIn(str(wanted.file), measure.command(wanted, Path("out.json")))


class Verdicts(unittest.TestCase):
    """A bar is met, or missed, or nobody can tell."""

    def test_sides(self) -> None:
        for low, high, most, least in (
            (0.9, 0.99, MET, MISSED),
            (1.0, 1.1, CANNOT_TELL, MET),
            (0.95, 1.05, CANNOT_TELL, CANNOT_TELL),
            (1.01, 1.1, MISSED, MET),
        ):
            found = Span((low + high) / 2, (low, high))
            self.assertEqual(bars.at_most(found, 1.0), most, found)
            self.assertEqual(bars.at_least(found, 1.0), least, found)
        for found in (Span(None), Span(0.5)):
            self.assertEqual(bars.at_most(found, 1.0), CANNOT_TELL)
            self.assertEqual(bars.at_least(found, 1.0), CANNOT_TELL)

    def test_alone_is_paired(self) -> None:
        # seeds differ by far more than the congestion controls
        cubic = [1.0, 1.3, 1.6]
        self.assertEqual(bars.alone([1.01, 1.314, 1.615], cubic).verdict, MET)
        self.assertEqual(bars.alone([1.03, 1.34, 1.65], cubic).verdict, MISSED)
        self.assertEqual(bars.alone([1.0, 1.35, 1.6], cubic).verdict, CANNOT_TELL)
        self.assertEqual(bars.alone([1.03], [1.0]).verdict, CANNOT_TELL)

    def test_resent_by_the_larger_base(self) -> None:
        few, many = [1.0, 1.1, 0.9], [4.0, 4.2, 3.8]
        self.assertEqual(bars.resent([5.0, 5.1, 4.9], [few, many]).verdict, MET)
        self.assertEqual(bars.resent([8.0, 8.1, 7.9], [few, many]).verdict, MISSED)
        self.assertEqual(bars.resent([2.0, 9.0, 7.0], [few, many]).verdict, CANNOT_TELL)
        none = [0.0, 0.0, 0.0]
        bar = bars.resent(none, [none, none])
        self.assertEqual((bar.verdict, bar.span), (MET, Span(None)))
        self.assertEqual(bars.resent([1.0, 1.1, 0.9], [none, none]).verdict, MISSED)

    def test_ratio_says_the_same_as_the_difference(self) -> None:
        rng, told = random.Random(3), 0
        for _ in range(500):
            base = [rng.lognormvariate(1.0, 0.5) for _ in range(5)]
            ours = [value * rng.lognormvariate(0.4, 0.3) for value in base]
            bar = bars.resent(ours, [base])
            if bar.span.ends:
                told += 1
                self.assertEqual(bars.at_most(bar.span, bars.RESENT), bar.verdict)
        self.assertGreater(told, 100)

    def test_job_against_the_better_base(self) -> None:
        slow, fast = [1.5 + noise for noise in NOISE], [1.2 - noise for noise in NOISE]
        for ours, verdict in (
            ([value - 0.1 for value in fast], MET),
            (fast, MET),
            ([value + 0.004 for value in fast], MET),  # sure, and nothing to act on
            ([value + 0.006 for value in fast], MISSED),
            ([1.1, 1.3, 1.2, 1.25, 1.15], CANNOT_TELL),
            ([1.3, 1.4, 1.35, 1.38, 1.32], MISSED),
        ):
            self.assertEqual(bars.job(ours, [slow, fast]).verdict, verdict, ours)

    def test_neighbours(self) -> None:
        for kind, values, verdict in (
            ("bulk", [0.97, 0.98, 0.99], MET),
            ("bulk", [0.90, 0.91, 0.92], MISSED),
            ("bulk", [0.90, 0.95, 1.00], CANNOT_TELL),
            ("bulk", [], CANNOT_TELL),
            ("short", [1.0, 1.01, 1.02], MET),
            ("short", [1.2, 1.21, 1.22], MISSED),
            ("short", [0.5, 1.5, 1.0], CANNOT_TELL),
        ):
            self.assertEqual(bars.neighbour(values, kind).verdict, verdict, values)


def run(cell: hostile.Cell, cc: str, noise: float) -> dict[str, Any]:
    """What the lab says of one seed, as far as it is judged."""
    slow = {"cubic": 1.2, "reno": 1.25, "mlcc": 1.1}[cc] + noise
    again = {"cubic": 20, "reno": 10, "mlcc": 80}[cc]
    beside = None if cc == "cubic" else 0.98 + noise
    jobs = [
        {"name": job["name"], "slowdown": slow, "retransmits": again, "sent_mb": 10.0}
        for job in cell.jobs
    ]
    flows = [
        {"name": flow["name"], "kind": flow["kind"], "cc": "cubic", "beside_cubic": beside}
        for flow in cell.flows
    ]
    return {"jobs": jobs, "flows": flows}


def report(cell: hostile.Cell, **changes: Any) -> dict[str, Any]:
    """The same of all seeds and congestion controls."""
    results = [
        {"cc": cc, **run(cell, cc, 0.0), "repeats": [run(cell, cc, noise) for noise in NOISE]}
        for cc in hostile.CCS
    ]
    asked = {"seed": 1, "repeat": 5, "iterations": cell.iterations}
    names = {"scenario": cell.name, "kernel": "6.18.1", "carrier": "bpf"}
    return {**names, **asked, "results": results, **changes}


class Table(unittest.TestCase):
    """Rows, cells, sums."""

    def test_a_row_for_each_neighbour(self) -> None:
        rows = judge.rows(NATIVE, report(NATIVE))
        names = [row.neighbour for row in rows]
        self.assertEqual(names, ["backup (cubic bulk)", "web (cubic short)"])
        self.assertEqual(set(rows[0].bars), {"job", "retransmits", "neighbour"})
        self.assertEqual(set(rows[1].bars), {"neighbour"})
        lines = judge.table(rows).splitlines()
        self.assertEqual({line.count("|") for line in lines[:4]}, {len(judge.HEAD) + 1})
        self.assertIn("| `web-60k` |", lines[2])
        self.assertIn("1.200 ± 0.002 / 1.250 ± 0.002 / 1.100 ± 0.002", lines[2])
        self.assertIn("| 2.00 / 1.00 / 8.00 | 4.00 (4.00 to 4.00) |", lines[2])
        self.assertIn("| **missed**: retransmits |", lines[2])
        self.assertIn("| web (cubic short) 0.98 ± 0.01 | met |", lines[3])
        self.assertEqual(judge.summary(rows), "Bars: 3 met, 1 missed, 0 cannot tell.")

    def test_alone(self) -> None:
        cell = BY_NAME["alone-30k"]
        (row,) = judge.rows(cell, report(cell))
        self.assertEqual(set(row.bars), {"alone", "job", "retransmits"})
        self.assertEqual(row.bars["alone"].verdict, MET)

    def test_only_the_honest_job_counts(self) -> None:
        cell = BY_NAME["liar-learns"]
        found = report(cell)
        for result in found["results"]:
            for each in result["repeats"]:
                each["jobs"][1].update(slowdown=9.0, retransmits=9999)
        (row,) = judge.rows(cell, found)
        self.assertAlmostEqual(row.figures["slowdown"]["mlcc"].mean or 0.0, 1.1)
        self.assertAlmostEqual(row.figures["retransmits"]["mlcc"].mean or 0.0, 8.0)

    def test_one_seed_tells_nothing(self) -> None:
        found = report(NATIVE)
        for result in found["results"]:
            del result["repeats"]
        rows = judge.rows(NATIVE, found)
        for row in rows:
            self.assertEqual({bar.verdict for bar in row.bars.values()}, {CANNOT_TELL})
        self.assertIn("Bars: 0 met, 0 missed, 4 cannot tell.", judge.table(rows))


class CommandLine(InFolder):
    """What it measures, prints and writes."""

    def setUp(self) -> None:
        super().setUp()
        self.page = self.folder / "page.md"
        self.page.write_text(f"<!-- results: hostile -->\nnothing\n{page.END}\n", encoding="utf-8")
        self.asked: list[str] = []
        for target, name, value in (
            (hostile_cli, "KEPT", self.folder),
            (hostile_cli, "SCENARIOS", self.folder / "cells"),
            (hostile_cli, "ROOT", self.folder),
            (hostile_cli, "TABLE", replace(hostile.TABLE, file=Path("page.md"))),
            (measure, "run_lab", self.lab),
            (measure, "build", lambda: None),
            (History, "measured", lambda *_: "0123456789ab"),
        ):
            self.enterContext(mock.patch.object(target, name, value))

    def lab(self, wanted: tables.Measurement, path: Path) -> None:
        self.asked.append(wanted.scenario)
        path.write_text(json.dumps(report(BY_NAME[wanted.scenario])), encoding="utf-8")

    def test_some(self) -> None:
        status, text = said(hostile_cli.main, "--cells", "alone-*k,policer-bulk")
        self.assertEqual(status, EXIT_OK)
        names = ["alone-30k", "alone-60k", "alone-128k", "policer-bulk"]
        self.assertEqual(sorted(self.asked), sorted(names))
        for name in names:
            self.assertIn(f"| `{name}` |", text)
        self.assertIn("nothing", self.page.read_text())

    def test_write(self) -> None:
        self.assertEqual(said(hostile_cli.main, "--write")[0], EXIT_OK)
        block = page.between(self.page, "hostile")
        self.assertEqual(page.origin(block), page.Origin("0123456789ab", "bpf"))
        self.assertIn("| `reorder-alone` |", block)

    def test_write_what_there_is(self) -> None:
        said(hostile_cli.main, "--cells", "alone-30k")
        status, _ = said(hostile_cli.main, "--write", "--cells", "three-30k")
        self.assertEqual(status, EXIT_OK)
        self.assertEqual(self.asked, ["alone-30k", "three-30k"])
        block = page.between(self.page, "hostile")
        self.assertIn("| `alone-30k` |", block)
        self.assertIn("| `three-30k` |", block)
        self.assertIn("Not measured with this core: `alone-60k`, ", block)
