# SPDX-License-Identifier: GPL-2.0
"""The command line."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mlcclab import features, machine, program, topology, units
from mlcclab.errors import EXIT_FAILED, EXIT_OK, UsageError
from mlcclab.options import number, whole

from . import experiment, report
from .jobs import SETS
from .session import Mode

MODES = ("cubic", "reno", "dctcp", "mlcc", "mlcc+hints")
EPILOG = """\
examples:
  mlcc-train ddp-2
      two DDP jobs, alone, then together under cubic, mlcc, and mlcc with announced phases
  mlcc-train ddp-3 --repeat 3 --json out.json --plot out.png
  mlcc-train mpi-2 --modes cubic,mlcc+hints
  mlcc-train ddp-2 --repeat 3 --stolen 5
      on a virtual machine whose host is busy at times: such runs do not count
  mlcc-train ddp-2 --share 0.45
      with less time to compute: 90 % of the link, more than Gloo gets out of it, is asked for

exit status: 0 done, 1 failed (or losses differ), 2 wrong usage, 4 this machine cannot run it
"""


def main(arguments: Sequence[str]) -> int:
    """Parse, run, and turn every error into one line."""
    options = _parser().parse_args(arguments)
    return program.run("mlcc-train", lambda: _run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mlcc-train",
        description="Run real training jobs in the lab's cluster, and measure how they slow down.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add, count = parser.add_argument, whole(8, 10_000)
    add("set", choices=sorted(SETS), help="; ".join(f"{s.name}: {s.about}" for s in SETS.values()))
    add("--modes", type=_modes, default=_modes("cubic,dctcp,mlcc,mlcc+hints"), metavar="LIST")
    add("--rate", type=_rate, default=2e8, help="of the link (default 200mbit)")
    text = "of an iteration that the link needs for a job's gradients (default: of the set)"
    add("--share", type=number(0.1, 0.9), metavar="PART", help=text)
    add("--queue", choices=("droptail", "red-ecn"), default="droptail")
    add("--iterations", type=count, default=100, metavar="N", help="of each job (default 100)")
    add("--isolated", type=count, default=40, metavar="N", help="of a job alone (default 40)")
    add("--repeat", type=int, choices=range(1, 21), default=1, metavar="N", help="runs of each")
    text = "make a run again, three times at most, if more of a processor's time was stolen"
    add("--stolen", type=_percent, metavar="PERCENT", help=text)
    add("--carrier", choices=("module", "bpf"))
    add("--json", type=Path, metavar="FILE", help="write the figures")
    add("--plot", type=Path, metavar="FILE", help="draw them (PNG)")
    return parser


def _modes(text: str) -> list[Mode]:
    names = text.split(",")
    for name in names:
        if name not in MODES:
            raise argparse.ArgumentTypeError(f"{name!r}: one of {', '.join(MODES)} is wanted")
    if len(set(names)) < len(names):
        raise argparse.ArgumentTypeError("names a mode twice")
    return [Mode(name) for name in names]


def _rate(text: str) -> float:
    try:
        rate = units.rate_bps(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not 1e7 <= rate <= 1e10:
        raise argparse.ArgumentTypeError(f"{text!r}: from 10mbit to 10gbit")
    return rate


def _percent(text: str) -> float:
    return number(0.1, 100)(text) / 100


def _run(options: argparse.Namespace) -> int:
    features.check_machine()
    for path in (options.json, options.plot):
        if path and not path.resolve().parent.is_dir():
            raise UsageError(f"{path}: no such folder")
    jobs = SETS[options.set]
    if options.share:
        jobs = replace(jobs, share=options.share)
    request = experiment.Request(
        jobs=jobs,
        modes=options.modes,
        rate=options.rate,
        queue=options.queue,
        iterations=options.iterations,
        isolated=options.isolated,
        repeat=options.repeat,
        carrier=options.carrier,
        stolen=options.stolen,
    )
    with machine.reserved():
        topology.remove_stale()
        measurement = experiment.measure(request)
    document = report.document(measurement)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        from . import plot  # only here: the rest works without matplotlib

        plot.draw(document, options.plot)
    print(report.table(document))
    print(report.sentence(document))
    return EXIT_OK if document["same_losses"] else EXIT_FAILED
