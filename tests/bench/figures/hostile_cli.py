# SPDX-License-Identifier: GPL-2.0
"""The command line of the hostile suite."""

import argparse
import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from mlcclab import program
from mlcclab.errors import EXIT_OK, UsageError
from mlcclab.options import Parser, seeds

from . import hostile, judge, measure, page
from .history import History
from .hostile import CELLS, KEPT, SEEDS, TABLE, Cell
from .session import Session, minutes
from .tables import ROOT, Measurement

# Below that an interval says little, and the page's protocol wants as many.
LEAST_SEEDS = 5
SCENARIOS = KEPT / "cells"
# What takes part besides what every measurement has.
CELLS_FILE = Path(hostile.__file__).resolve().relative_to(ROOT)

EPILOG = """\
examples:
  tests/bench/hostile --list                 the networks, and how long each takes
  tests/bench/hostile --cells 'alone-*'      some of them
  tests/bench/hostile --write                all, and the table of Documentation/results.md
  tests/lab/mlcc-lab run build/hostile/cells/policer-three.toml      one by hand

Reports are kept in build/hostile, so a run that was interrupted goes on where it was.
exit status: 0 done, whatever the verdicts; 1 failed; 2 wrong usage; 4 this machine cannot run it
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
    add("--seeds", type=seeds, default=range(SEEDS[0], SEEDS[1] + 1), metavar="A-B")
    add("--json", type=Path, metavar="FILE", help="write figures and verdicts")
    add("--list", action="store_true", help="show the networks, measure nothing")
    add("--write", action="store_true", help=f"write the table of {TABLE.file}")
    options = parser.parse_args(arguments)
    if options.write and (options.cells != "*" or len(options.seeds) < LEAST_SEEDS):
        raise UsageError(f"--write: with all cells only, and {LEAST_SEEDS} seeds at least")
    return options


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
    ends = (options.seeds.start, options.seeds.stop - 1)
    wanted = {cell: hostile.measurement(cell, ends, SCENARIOS) for cell in chosen}
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
    """What has been measured is judged; the page gets all of it or nothing."""
    kept = {cell: session.have[item] for cell, item in wanted.items() if item in session.have}
    if not kept:
        return
    rows = [row for cell, item in kept.items() for row in judge.rows(cell, item.report)]
    left_out = session.left_out(list(wanted.values()))
    seeds_said = page.seeds(next(iter(wanted.values())).place)
    block = f"{judge.table(rows)}\n\n{judge.captions(kept, seeds_said)}{page.lacking(left_out)}"
    print(block)
    if options.json:
        text = json.dumps(judge.document(session.commit, rows), indent=1)
        options.json.write_text(f"{text}\n", encoding="utf-8")
    if options.write and len(kept) + len(left_out) == len(wanted):
        page.replace(ROOT / TABLE.file, TABLE.name, block)
        session.say(f"written to {TABLE.file}")
