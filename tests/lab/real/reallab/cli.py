# SPDX-License-Identifier: GPL-2.0
"""The command line."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from mlcclab import commands, program
from mlcclab.errors import EXIT_FAILED, EXIT_OK
from mlcclab.options import Parser, cc_list, whole

from . import experiment, report
from .jobs import SETS

MODES = ("cubic", "mlcc", "mlcc+hints")
EPILOG = """\
examples:
  mlcc-train ddp-2
      two DDP jobs, alone, then together under cubic, mlcc, and mlcc with announced phases
  mlcc-train ddp-3 --repeat 3 --json out.json --plot out.png
  mlcc-train mpi-2 --modes cubic,mlcc+hints

exit status: 0 done, 1 failed (or losses differ), 2 wrong usage, 4 this machine cannot run it
"""


def main(arguments: Sequence[str]) -> int:
    """Parse, run, and turn every error into one line."""
    return program.run("mlcc-train", lambda: _run(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="mlcc-train",
        description="Run real training jobs in the lab's cluster, and measure how they slow down.",
        epilog=EPILOG,
    )
    add, count = parser.add_argument, whole(8, 10_000)
    add("set", choices=sorted(SETS), help="; ".join(f"{s.name}: {s.about}" for s in SETS.values()))
    add("--modes", type=_modes, default=list(MODES), metavar="LIST")
    add("--iterations", type=count, default=100, metavar="N", help="of each job (default 100)")
    add("--isolated", type=count, default=40, metavar="N", help="of a job alone (default 40)")
    add("--repeat", type=whole(1, 20), default=1, metavar="N", help="runs of each (default 1)")
    add("--json", type=Path, metavar="FILE", help="write the figures")
    add("--plot", type=Path, metavar="FILE", help="draw them (PNG)")
    return parser


def _modes(text: str) -> list[str]:
    names = cc_list(text)
    for name in names:
        if name not in MODES:
            raise argparse.ArgumentTypeError(f"{name!r}: one of {', '.join(MODES)} is wanted")
    return names


def _run(options: argparse.Namespace) -> int:
    commands.check_writable(options.json, options.plot)
    request = experiment.Request(
        jobs=SETS[options.set],
        ccs=options.modes,
        iterations=options.iterations,
        isolated=options.isolated,
        repeat=options.repeat,
    )
    with commands.reserved():
        measurement = experiment.measure(request)
    document = report.document(measurement)
    commands.write(document, options.json)
    if options.plot:
        from . import plot  # only here: the rest works without matplotlib

        plot.draw(document, options.plot)
    print(report.text(document))
    return EXIT_OK if document["same_losses"] else EXIT_FAILED
