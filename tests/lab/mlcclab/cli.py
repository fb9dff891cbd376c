# SPDX-License-Identifier: GPL-2.0
"""The command line."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from . import (
    burst,
    carrier,
    experiment,
    features,
    machine,
    program,
    report,
    scenario,
    table,
    topology,
    vm,
)
from .errors import EXIT_OK, LabError, UsageError
from .options import MAX_REPEAT, MAX_SEED, Parser, cc_list, factor, seeds, whole
from .scenario import Scenario

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"

EPILOG = """\
examples:
  mlcc-lab list
      the shipped scenarios, their load, and what the kernel must have
  mlcc-lab run two-equal --cc cubic,reno
      two jobs, two congestion controls that every kernel has
  mlcc-lab run three-equal --cc cubic,mlcc,mlcc:mltcp --seeds 1-5 --json out.json --plot out.png
      five interleaved repeats of each; figures for machines and for eyes
  mlcc-lab run ecn --cc dctcp,mlcc --vm 6.12
      in a virtual machine: for what this kernel lacks, and for the module

exit status: 0 done, 1 failed, 2 wrong usage or scenario, 4 this machine cannot run it
"""


def main(arguments: Sequence[str]) -> int:
    """Parse, run, and turn every error into one line."""
    return program.run("mlcc-lab", lambda: _command(arguments))


def _command(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    status: int = options.command(options)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="mlcc-lab",
        description="Emulate training jobs that share a link, and measure how they slow down.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(required=True, metavar="run | list | plot")
    listing = verbs.add_parser("list", help="show the shipped scenarios")
    listing.set_defaults(command=_list)
    drawing = verbs.add_parser("plot", help="draw a report again")
    drawing.add_argument("report", type=Path, metavar="JSON", help="what run --json has written")
    drawing.add_argument("png", type=Path, metavar="PNG", help="the picture to write")
    drawing.set_defaults(command=_plot)
    _add_run(
        verbs.add_parser(
            "run",
            help="run one scenario",
            epilog=EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    run.set_defaults(command=_run)
    add = run.add_argument
    add("scenario", help="a TOML file, or the name of a shipped scenario")
    add(
        "--cc",
        default="cubic,mlcc",
        metavar="LIST",
        type=cc_list,
        help="congestion controls, comma-separated: any of the kernel's, mlcc, mlcc:PROFILE, "
        "mlcc:neutral for flows of no job; with +hints behind one of mlcc, every job announces "
        "its phases; with +plan, each also gets the time-shift that mlcc-plan finds (default "
        "cubic,mlcc)",
    )
    add("--iterations", type=whole(4, 10**6), metavar="N", help="instead of the scenario's")
    add("--seed", type=whole(0, MAX_SEED), metavar="N", help="of the compute noise (default 1)")
    add(
        "--repeat",
        type=whole(1, MAX_REPEAT),
        metavar="N",
        help="runs of each cc, taking turns, each with the next seed (default 1)",
    )
    add("--seeds", type=seeds, metavar="A-B", help="the same: a run of each cc for every seed")
    add("--json", type=Path, metavar="FILE", help="write the figures")
    add("--plot", type=Path, metavar="FILE", help="draw them (PNG)")
    add(
        "--carrier",
        choices=("module", "bpf"),
        help="how mlcc gets into the kernel (default: the module where it loads, else bpf)",
    )
    add("--vm", metavar="KERNEL", help="run in a virtual machine with that kernel, like 6.12")
    add(
        "--isolated-cc",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also measure each job alone under each cc",
    )
    add("--quick", action="store_true", help="the same as --no-isolated-cc")
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


def _find(name: str) -> Path:
    """A file, or a shipped scenario by its name."""
    shipped = SCENARIOS / f"{name}.toml"
    if not Path(name).exists() and shipped.exists():
        return shipped
    return Path(name)


def _list(_: argparse.Namespace) -> int:
    rows = [["name", "kind", "jobs", "flows", "load", "needs", "about"]]
    for path in sorted(SCENARIOS.glob("*.toml")):
        rows.append(_list_row(scenario.load(path)))
    print("\n".join(table.align(rows, 7)))
    return EXIT_OK


def _list_row(item: Scenario) -> list[str]:
    needs = ",".join(item.needs) or "-"
    counts = [str(len(item.jobs)), str(len(item.flows))]
    return [item.name, item.kind, *counts, f"{item.load:.0%}", needs, item.about]


def _settle_seeds(options: argparse.Namespace) -> None:
    """Two ways to say it."""
    if options.seeds is None:
        options.seed = 1 if options.seed is None else options.seed
        options.repeat = options.repeat or 1
    elif options.seed is not None or options.repeat is not None:
        raise UsageError("--seeds: not together with --seed or --repeat")
    else:
        options.seed, options.repeat = options.seeds.start, len(options.seeds)


def _run(options: argparse.Namespace) -> int:
    _settle_seeds(options)
    loaded = scenario.load(_find(options.scenario))
    if options.vm:
        return _run_in_vm(options)
    features.check_machine()
    if not burst.BINARY.exists():
        raise LabError("mlcc-burst is not built: run make -C tests/lab")
    _check_writable(options.json, options.plot)
    with machine.reserved():
        topology.remove_stale()
        measurement = experiment.measure(_request(options, loaded))
    document = report.document(measurement)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        _draw(document, options.plot)
    print(table.text(document))
    return EXIT_OK


def _draw(document: report.Json, path: Path) -> None:
    try:
        from . import plot  # only here: the rest works without matplotlib
    except ImportError as error:
        raise LabError(f"--plot: {error}; the package is python3-matplotlib") from None
    plot.draw(document, path)


def _plot(options: argparse.Namespace) -> int:
    _check_writable(options.png)
    try:
        document = json.loads(options.report.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{options.report}: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != 1:
        raise UsageError(f"{options.report}: not a report of mlcc-lab")
    _draw(document, options.png)
    return EXIT_OK


def _request(options: argparse.Namespace, loaded: Scenario) -> experiment.Request:
    iterations = options.iterations or loaded.iterations
    return experiment.Request(
        scenario=loaded.scaled(options.scale) if options.scale != 1.0 else loaded,
        ccs=options.cc,
        iterations=iterations,
        seed=options.seed,
        repeat=options.repeat,
        isolated_cc=options.isolated_cc and not options.quick,
        carrier=options.carrier,
        timeout_s=float(options.timeout_s),
    )


def _check_writable(*paths: Path | None) -> None:
    """Before minutes of measuring, not after."""
    for path in paths:
        if path and (path.is_dir() or not path.resolve().parent.is_dir()):
            raise UsageError(f"{path}: cannot be written: no such folder, or a folder itself")


def _run_in_vm(options: argparse.Namespace) -> int:
    program = carrier.REPOSITORY / "tests" / "lab" / "mlcc-lab"
    command = [str(program), "run", str(_find(options.scenario).resolve())]
    command += ["--cc", ",".join(options.cc), "--carrier", options.carrier or "module"]
    for name in ("iterations", "seed", "repeat", "scale", "timeout_s"):
        if getattr(options, name) is not None:
            command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    if options.quick or not options.isolated_cc:
        command.append("--no-isolated-cc")
    _check_writable(options.json, options.plot)
    status, text = vm.run(options.vm, command)
    if status != EXIT_OK or text is None:
        return status
    if options.json:
        options.json.write_text(text, encoding="utf-8")
    if options.plot:  # here: drawing takes minutes on an emulated CPU
        _draw(json.loads(text), options.plot)
    return EXIT_OK
