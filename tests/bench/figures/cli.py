# SPDX-License-Identifier: GPL-2.0
"""The command line."""

from collections.abc import Sequence
from pathlib import Path

from mlcclab import program
from mlcclab.errors import EXIT_FAILED, EXIT_OK, UsageError
from mlcclab.options import Parser

from . import hostile, measure, page
from .history import CORE, History
from .session import Session, minutes
from .tables import ROOT, TABLES, Measurement, Table, measurements

EPILOG = """\
examples:
  tests/bench/results             measures what is missing for all tables, and writes them
  tests/bench/results fit guest   only these
  tests/bench/results --list      the tables, and how long each takes
  tests/bench/results --check     which are older than the core that they measure

Reports are kept in build/results, so a run that was interrupted goes on where it was.
exit status: 0 done, 1 failed, or a table is older; 2 wrong usage
"""


def main(arguments: Sequence[str]) -> int:
    """Parse, run, and turn every error into one line."""
    return program.run("results", lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="tests/bench/results",
        description="Measure and write the tables of Documentation/results.md.",
        epilog=EPILOG,
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
        return check(ROOT, tables if options.table else [*tables, hostile.TABLE])
    history = History(ROOT)
    commit = history.measured()
    return Tables(ROOT, commit, measure.KEPT, measure.run_lab).run(tables)


def _chosen(names: Sequence[str]) -> list[Table]:
    known = {table.name: table for table in TABLES}
    for name in names:
        if name not in known:
            raise UsageError(f"{name}: no such table; there are {', '.join(known)}")
    return [table for table in TABLES if not names or table.name in names]


def _list(tables: Sequence[Table]) -> int:
    for table in tables:
        wanted = list(measurements(table))
        print(
            f"{table.name:11} {str(table.file):25} {table.place.name:7} "
            f"{len(wanted):2} scenarios {minutes(wanted):4.0f} min  {table.title}"
        )
    wanted = list(dict.fromkeys(item for table in tables for item in measurements(table)))
    print(f"all: {len(wanted)} scenarios, each measured once, {minutes(wanted):.0f} min")
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
    later = history.changed_since(origin.commit, CORE[origin.carrier])
    return f"older than {later}" if later else "fresh"


class Tables(Session):
    """What is missing is measured, table by table."""

    def run(self, tables: Sequence[Table]) -> int:
        """Measure and write; how long it will take before, how long it took behind."""
        for table in tables:  # before an hour of measuring, not after
            page.between(self.root / table.file, table.name)
        for table in tables:
            self.plan(table.name, list(measurements(table)))
        self.say(f"all: {len(self.left)} scenarios, about {minutes(self.left):.0f} min")
        self.build()
        for table in tables:
            wanted = list(measurements(table))
            self.measure(wanted)
            self._write(table, wanted)
        return self.finish()

    def _write(self, table: Table, wanted: Sequence[Measurement]) -> None:
        """Only where every scenario has been measured."""
        kept = [self.have[item] for item in wanted if item in self.have]
        if len(kept) < len(wanted):
            self.say(f"{table.name}: not written")
            return
        page.replace(self.root / table.file, table.name, page.render(table, kept))
        self.say(f"{table.name}: written to {table.file}")
