# SPDX-License-Identifier: GPL-2.0
"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mlcclab import program
from mlcclab.errors import EXIT_FAILED, EXIT_OK, EXIT_SKIP, LabError, SkipError, UsageError
from mlcclab.options import Parser

from . import measure, page
from .history import CORE, History
from .page import Kept
from .tables import ROOT, TABLES, Measurement, Table, measurements

EPILOG = """\
examples:
  tests/bench/results             measures what is missing for all tables, and writes them
  tests/bench/results gains fit   only these
  tests/bench/results --list      the tables, and how long each takes
  tests/bench/results --check     which are older than the core that they measure

Reports are kept in build/results, so a run that was interrupted goes on where it was.
exit status: 0 done, 1 failed, or a table is older; 2 wrong usage; 4 this machine cannot run it
"""


def main(arguments: Sequence[str]) -> int:
    """Parse, run, and turn every error into one line."""
    return program.run("results", lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="tests/bench/results",
        description="Measure and write the tables of README.md and Documentation/results.md.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("table", nargs="*", metavar="TABLE", help="only these (default: all)")
    verb = parser.add_mutually_exclusive_group()
    verb.add_argument("--list", action="store_true", help="show the tables, measure nothing")
    verb.add_argument("--check", action="store_true", help="say which tables are older")
    options = parser.parse_args(arguments)
    tables = _chosen(options.table)
    if options.list:
        return _list(tables)
    if options.check:
        return check(ROOT, tables)
    history = History(ROOT)
    commit = history.measured()
    return Session(ROOT, commit, measure.KEPT, measure.run_lab).run(tables)


def _chosen(names: Sequence[str]) -> list[Table]:
    known = {table.name: table for table in TABLES}
    for name in names:
        if name not in known:
            raise UsageError(f"{name}: no such table; there are {', '.join(known)}")
    return [table for table in TABLES if not names or table.name in names]


def _minutes(wanted: Sequence[Measurement]) -> float:
    return sum(map(measure.expected_seconds, wanted)) / 60


def _list(tables: Sequence[Table]) -> int:
    for table in tables:
        wanted = list(measurements(table))
        print(
            f"{table.name:11} {str(table.file):25} {table.place.name:7} "
            f"{len(wanted):2} scenarios {_minutes(wanted):4.0f} min  {table.title}"
        )
    wanted = list(dict.fromkeys(item for table in tables for item in measurements(table)))
    print(f"all: {len(wanted)} scenarios, each measured once, {_minutes(wanted):.0f} min")
    return EXIT_OK


def check(root: Path, tables: Sequence[Table]) -> int:
    """A line for each table: fresh, or older than which commit."""
    history = History(root)
    status = EXIT_OK
    for table in tables:
        verdict = _verdict(history, page.origin(page.between(root / table.file, table.name)))
        print(f"{table.name}: {verdict}")
        if verdict != "fresh":
            status = EXIT_FAILED
    return status


def _verdict(history: History, origin: page.Origin | None) -> str:
    if origin is None:
        return "not measured yet"
    if not history.knows(origin.commit):
        return f"cannot tell: commit {origin.commit} is not in this repository (a shallow clone?)"
    later = history.touched_since(origin.commit, CORE[origin.carrier])
    return f"older than {later}" if later else "fresh"


@dataclass
class Session:
    """One run of the program: what is missing is measured, table by table."""

    root: Path
    commit: str
    folder: Path
    lab: measure.Lab
    have: dict[Measurement, Kept] = field(default_factory=dict)
    skipped: dict[Measurement, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    expected_s: float = 0.0
    spent_s: float = 0.0
    left: list[Measurement] = field(default_factory=list)

    def run(self, tables: Sequence[Table]) -> int:
        """Measure and write; how long it will take before, how long it took behind."""
        for table in tables:  # before an hour of measuring, not after
            page.between(self.root / table.file, table.name)
        self._plan(tables)
        if any(not wanted.place.kernel for wanted in self.left):
            _say("make all")
            measure.build()
        for table in tables:
            for wanted in measurements(table):
                if wanted in self.left:
                    self._measure(wanted)
            self._write(table)
        _say(f"measured for {self.spent_s / 60:.1f} min")
        return self._status()

    def _plan(self, tables: Sequence[Table]) -> None:
        for table in tables:
            new = []
            for wanted in measurements(table):
                if kept := measure.read(self.folder, self.commit, wanted):
                    self.have[wanted] = kept
                elif wanted not in self.left:
                    new.append(wanted)
            self.left += new
            _say(f"{table.name}: {len(new)} scenarios to measure, about {_minutes(new):.0f} min")
        _say(f"all: {len(self.left)} scenarios, about {_minutes(self.left):.0f} min")

    def _measure(self, wanted: Measurement) -> None:
        expected = measure.expected_seconds(wanted)
        pace = self.spent_s / self.expected_s if self.expected_s else 1.0
        _say(
            f"{wanted.scenario} ({wanted.place.name}): about {expected * pace / 60:.1f} min, "
            f"all that is left {_minutes(self.left) * pace:.0f}"
        )
        self.left.remove(wanted)
        try:
            kept = measure.measure(self.folder, self.commit, wanted, self.lab)
        except SkipError as error:
            self.skipped[wanted] = str(error)
            _say(f"{wanted.scenario}: left out: {error}")
        except LabError as error:
            self.failed.append(wanted.scenario)
            _say(f"{wanted.scenario}: failed: {error}")
        else:
            self.have[wanted] = kept
            self.expected_s += expected
            self.spent_s += kept.took_s

    def _write(self, table: Table) -> None:
        """Only where every scenario has been measured, or cannot be here."""
        wanted = list(measurements(table))
        kept = [self.have[item] for item in wanted if item in self.have]
        left_out = [f"`{w.scenario}` ({self.skipped[w]})" for w in wanted if w in self.skipped]
        if not kept or len(kept) + len(left_out) < len(wanted):
            _say(f"{table.name}: not written")
            return
        page.replace(self.root / table.file, table.name, page.render(table, kept, left_out))
        _say(f"{table.name}: written to {table.file}")

    def _status(self) -> int:
        if self.failed:
            raise LabError(f"failed: {', '.join(self.failed)}; run it again for these")
        return EXIT_SKIP if self.skipped and not self.have else EXIT_OK


def _say(text: str) -> None:
    print(f"results: {text}", file=sys.stderr, flush=True)
