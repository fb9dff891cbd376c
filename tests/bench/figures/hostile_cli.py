# SPDX-License-Identifier: GPL-2.0
"""The command line of the hostile suite."""

import argparse
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from mlcclab import program
from mlcclab.errors import EXIT_OK, UsageError
from mlcclab.options import Parser

from . import hostile, judge, measure, page
from .history import History
from .hostile import CELLS, KEPT, TABLE, Cell
from .judge import Row
from .page import Kept
from .session import Session, minutes
from .tables import ROOT, Measurement

SCENARIOS = KEPT / "cells"
# What takes part besides what every measurement has.
CELLS_FILE = Path(hostile.__file__).resolve().relative_to(ROOT)

EPILOG = """\
examples:
  tests/bench/hostile --list                 the networks, and how long each takes
  tests/bench/hostile --cells 'alone-*'      some of them
  tests/bench/hostile --write                all, and the table of Documentation/results.md
  tests/bench/hostile --write --cells 'alone-*'    the table, after some of them
  tests/lab/mlcc-lab run build/hostile/cells/policer-three.toml      one by hand

Reports are kept in build/hostile, so a run that was interrupted goes on where it was.
exit status: 0 done, whatever the verdicts; 1 failed; 2 wrong usage
"""


def main(arguments: Sequence[str]) -> int:
    """Parse, run, and turn every error into one line."""
    return program.run("hostile", lambda: _run(arguments))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="tests/bench/hostile",
        description="Run jobs on networks unlike the lab's usual one, and judge each.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("--cells", default="*", metavar="GLOB", help="only these; several with commas")
    add("--list", action="store_true", help="show the networks, measure nothing")
    add("--write", action="store_true", help=f"write all that is measured to {TABLE.file}")
    return parser.parse_args(arguments)


def _chosen(globs: str) -> list[Cell]:
    found = [
        cell for cell in CELLS if any(fnmatchcase(cell.name, glob) for glob in globs.split(","))
    ]
    if not found:
        raise UsageError(f"--cells {globs}: none; there are {', '.join(c.name for c in CELLS)}")
    return found


def _run(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    chosen = _chosen(options.cells)
    hostile.write(chosen, SCENARIOS)
    wanted = {cell: hostile.measurement(cell, SCENARIOS) for cell in chosen}
    if options.list:
        return _list(wanted)
    if options.write:  # before hours of measuring, not after
        page.between(ROOT / TABLE.file, TABLE.name)
    commit = History(ROOT).measured(str(CELLS_FILE))
    session = Session(ROOT, commit, KEPT, measure.run_lab, "hostile")
    session.plan("all", list(wanted.values()))
    session.build()
    session.measure(list(wanted.values()))
    _conclude(session, wanted, options)
    return session.finish()


def _list(wanted: dict[Cell, Measurement]) -> int:
    for cell, item in wanted.items():
        where = cell.kernel or "native"
        print(f"{cell.name:16} {where:7} {minutes([item]):4.0f} min  {cell.about}")
    print(f"all: {len(wanted)} networks, {minutes(list(wanted.values())):.0f} min")
    return EXIT_OK


def _conclude(
    session: Session, wanted: dict[Cell, Measurement], options: argparse.Namespace
) -> None:
    """What is measured is judged, and printed; the page gets what was kept of this core, too."""
    kept = {cell: session.have[item] for cell, item in wanted.items() if item in session.have}
    if not kept:
        return
    rows = _rows(kept)
    print(f"{judge.table(rows)}\n\n{judge.captions(kept)}")
    if options.write:
        everything = _everything(session)
        due = [f"`{cell.name}`" for cell in CELLS if cell not in everything]
        lines = [judge.table(_rows(everything)), judge.captions(everything)]
        lines += [f"Not measured with this core: {', '.join(due)}."] if due else []
        page.replace(ROOT / TABLE.file, TABLE.name, "\n\n".join(lines))
        session.say(f"written to {TABLE.file}")


def _rows(kept: Mapping[Cell, Kept]) -> list[Row]:
    return [row for cell, item in kept.items() for row in judge.rows(cell, item.report)]


def _everything(session: Session) -> dict[Cell, Kept]:
    """All that was kept."""
    found = {}
    for cell in CELLS:
        wanted = hostile.measurement(cell, SCENARIOS)
        if kept := measure.read(session.folder, session.commit, wanted):
            found[cell] = kept
    return found
