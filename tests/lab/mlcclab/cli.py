# SPDX-License-Identifier: GPL-2.0
"""The command line."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from . import commands, program
from .link import MTUS
from .options import (
    MAX_REPEAT,
    MAX_SEED,
    Parser,
    builds,
    cc_list,
    compared_cc,
    compared_seeds,
    factor,
    of_link,
    seeds,
    whole,
)

EPILOG = """\
examples:
  mlcc-lab list
      the shipped scenarios, their load, and what the kernel must have
  mlcc-lab run two-equal --cc cubic,reno
      two jobs, two congestion controls that every kernel has
  mlcc-lab run three-equal --cc cubic,mlcc,mlcc:mltcp --seeds 1-5 --json out.json --plot out.png
      five interleaved repeats of each; figures for machines and for eyes
  mlcc-lab compare three-equal unequal --builds ../before,.
      is this tree's carrier better than that one's? ten pairs of runs of each scenario
  mlcc-lab run host-speed --cc cubic,mlcc --seeds 1-5 --flows 8 --mtu 9000
      what a congestion control costs a host: 8 flows, jumbo frames, no bottleneck
  mlcc-lab run ecn --cc dctcp,mlcc --vm 6.12
      in a virtual machine: for what this kernel lacks, and for the module

exit status: 0 done, 1 failed, 2 wrong usage or scenario, 4 this machine cannot run it
"""


def main(arguments: Sequence[str]) -> int:
    """Parse, run, and turn every error into one line."""
    return program.run("mlcc-lab", lambda: _command(arguments))


def _command(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    status: int = options.command(options)
    return status


def parser() -> argparse.ArgumentParser:
    """Every verb and its options."""
    lab = Parser(
        prog="mlcc-lab",
        description="Emulate training jobs that share a link, and measure how they slow down.",
        epilog=EPILOG,
    )
    lab.add_argument("--version", action="version", version="mlcc-lab 0.1")
    verbs = lab.add_subparsers(required=True, metavar="run | compare | list")
    listing = verbs.add_parser("list", help="show the shipped scenarios")
    listing.set_defaults(command=commands.show)
    _add_run(verbs.add_parser("run", help="run one scenario", epilog=EPILOG))
    _add_compare(verbs.add_parser("compare", help="is another build of the carrier better?"))
    return lab


def _add_run(run: argparse.ArgumentParser) -> None:
    run.set_defaults(command=commands.run)
    add = run.add_argument
    add("scenario", help="a TOML file, or the name of a shipped scenario")
    add(
        "--cc",
        default="cubic,mlcc",
        metavar="LIST",
        type=cc_list,
        help="congestion controls, comma-separated: any of the kernel's, mlcc, mlcc:PROFILE, "
        "mlcc:neutral for flows of no job; with +hints behind one of mlcc, every job announces "
        "its phases; with +led, over verbs, a leader tells a job's hosts how far it is "
        "(default cubic,mlcc)",
    )
    add(
        "--seeds",
        type=seeds,
        metavar="A-B",
        help="of the compute noise: a run of each cc for every one, taking turns (default 1-1)",
    )
    add("--seed", type=whole(0, MAX_SEED), metavar="N", help="the first of them (default 1), and")
    add("--repeat", type=whole(1, MAX_REPEAT), metavar="N", help="how many (default 1)")
    add("--plot", type=Path, metavar="FILE", help="draw them (PNG)")
    add(
        "--carrier",
        choices=("module", "bpf"),
        help="how mlcc gets into the kernel (default: the module where it loads, else bpf)",
    )
    add("--quick", action="store_true", help="do not measure each job alone under each cc, too")
    _add_shared(run)


def _add_compare(compare: argparse.ArgumentParser) -> None:
    compare.set_defaults(command=commands.compare)
    compare.description = (
        "Run two builds of the BPF carrier in turns, with the same seeds, and say whether the "
        "second is better, worse, or cannot be told from the first."
    )
    add = compare.add_argument
    add("scenario", nargs="+", help="TOML files, or names of shipped scenarios")
    add(
        "--builds",
        type=builds,
        required=True,
        metavar="DIR,DIR",
        help="two trees of this project in which the carrier is built (make -C DIR carrier)",
    )
    add("--cc", type=compared_cc, default="mlcc", help="mlcc, mlcc:PROFILE, ... (default mlcc)")
    add(
        "--seeds",
        type=compared_seeds,
        default=range(1, 11),
        metavar="A-B",
        help="a pair of runs for each, 3 at least (default 1-10)",
    )
    _add_shared(compare)


def _add_shared(verb: argparse.ArgumentParser) -> None:
    """What both ways to measure have."""
    add = verb.add_argument
    add("--iterations", type=whole(4, 10**6), metavar="N", help="instead of the scenario's")
    add("--flows", type=whole(1, 64), metavar="N", help="of each job to each peer, instead")
    add("--rate", type=of_link("rate"), help="of the link, instead; none: no bottleneck")
    add("--mtu", type=int, choices=MTUS, help="of the link, instead")
    add("--offloads", choices=("on", "off"), help="of the hosts, instead")
    add("--coalesce", type=of_link("coalesce"), metavar="TIME", help="of interrupts, instead")
    add("--json", type=Path, metavar="FILE", help="write the figures")
    add("--vm", metavar="KERNEL", help="in a virtual machine with that kernel, like 6.12")
    add(
        "--scale",
        type=factor,
        default=1.0,
        metavar="F",
        help="multiply the link's rate, its queue and all bytes: the same times on a slower link, "
        "for machines that cannot carry 1 Gb/s (a virtual machine: 0.2)",
    )
    add(
        "--timeout-s",
        type=whole(1, 3600),
        default=30,
        metavar="S",
        help="give up when a phase takes longer (default 30)",
    )
