# SPDX-License-Identifier: BSD-2-Clause
"""The command line."""

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import mlcc_client

from . import (
    apply,
    argument,
    classes,
    gain,
    layout,
    place,
    problem,
    profile,
    profiling,
    progress,
    reader,
    report,
    solve,
)
from .errors import EXIT_MISFIT, EXIT_OK, EXIT_USAGE, MisfitError, PlanError
from .layout import Layout, Options
from .report import Json

ABOUT = """\
Says which training jobs fit on the same links, and how far to shift each so that they do.

A job computes, then communicates, again and again: on a circle whose perimeter is the job's period
its communication is an arc. Jobs that share a link fit if their circles, laid on one of the least
common multiple of their periods, can be rotated so that no more is wanted than the link has.
"""

EPILOG = """\
a problem:
  {"links": [{"name": "tor1-up", "gbps": 50}],
   "jobs": [{"name": "a", "period_ms": 255, "routes": [["tor1-up"]],
             "arcs": [{"start_ms": 141, "length_ms": 114, "gbps": 42}]},
            {"name": "b", "period_ms": 255, "routes": [["tor1-up"]],
             "arcs": [{"start_ms": 141, "length_ms": 114, "gbps": 42}]}]}

examples:
  mlcc-plan check problem.json           how good it is as it stands
  mlcc-plan solve problem.json           shifts for all jobs
  mlcc-plan -j solve --precision exact - < problem.json
  mlcc-plan place candidates.json        which placement is the best
  mlcc-plan draw problem.json circles.svg
  mlcc-plan apply --dry-run problem.json what mlccd would be asked for
  mlcc-plan profile --help               more of what it can tell of traffic

exit status: 0 done, 1 the problem or a file is refused, 2 usage, 3 mlccd does not answer,
4 check, apply: the jobs do not fit
"""


class _Parser(argparse.ArgumentParser):
    """Wrong usage is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str]) -> int:
    """Parse, run, and turn every error into one line."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        options = _parser().parse_args(arguments)
        with progress.shown(options.verb):
            return int(options.command(options))
    except PlanError as error:
        print(f"mlcc-plan: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except MemoryError:
        print("mlcc-plan: the problem does not fit into memory", file=sys.stderr)
        return PlanError.status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mlcc-plan",
        description=ABOUT,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-j", "--json", action="store_true", help="for programs")
    parser.add_argument("--version", action="version", version="mlcc-plan 0.1")
    verbs = parser.add_subparsers(required=True, metavar="VERB", parser_class=_Parser)
    _add_shifting(verbs)
    _add_classes(verbs)
    _add_apply(verbs)
    profiling.add_options(
        _verb(verbs, "profile", "say what the traffic of jobs looks like, measured", _profile)
    )
    gain.add_options(
        _verb(verbs, "gain", "predict what mlcc would save, from mlcc-ctl observe", _gain)
    )
    return parser


def _verb(
    verbs: Any, name: str, about: str, command: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=about, description=f"{about}.")
    # behind the verb, too; what is not said here must not undo what was said before it
    verb.add_argument(
        "-j", "--json", action="store_true", default=argparse.SUPPRESS, help="for programs"
    )
    verb.set_defaults(command=command, verb=name)
    return verb


def _model_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--strict",
        action="store_true",
        help="at most one job at a time on a link, whatever it sends (HotNets'22); else as CASSINI "
        "has it, by bandwidth",
    )
    verb.add_argument(
        "--tolerance",
        type=argument.percent,
        default=layout.TOLERANCE,
        metavar="PERCENT",
        help="plan periods that are so near a ratio of 1 to 4 as if they had it; 0: never "
        f"(default {layout.TOLERANCE * 100:g})",
    )


def _search_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--precision",
        type=argument.steps,
        default=72,
        metavar="DEGREES",
        help="of a job's own circle, between two shifts; or exact: any shift (default 5)",
    )
    verb.add_argument(
        "--limit",
        type=argument.seconds,
        metavar="S",
        help="seconds for improving and proving (default 5 up to 20 jobs, 0.3 up to 100, then "
        "0.01 more for each job)",
    )
    verb.add_argument(
        "--seed",
        type=argument.whole(0, 2**31 - 1),
        default=1,
        metavar="N",
        help="of the search (default 1)",
    )


def _add_shifting(verbs: Any) -> None:
    """The verbs that lay a problem out."""
    for name, command, about in (
        ("check", _check, "how well the jobs fit with the shifts that they have"),
        ("solve", _solve, "find a shift for each job"),
        ("place", _place, "rank candidate placements, each with its best shifts"),
        ("draw", _draw, "draw the circles of links"),
    ):
        verb = _verb(verbs, name, about, command)
        verb.add_argument("problem", help="a file; - for standard input")
        if command is _draw:
            verb.add_argument("picture", type=Path, help="the file to write, .svg or .png")
        _model_options(verb)
        if command is not _check:
            _search_options(verb)


def _add_classes(verbs: Any) -> None:
    verb = _verb(
        verbs, "classes", "assign priority classes, so that jobs on a link differ", _classes
    )
    verb.add_argument("problem", help="a file; - for standard input")
    verb.add_argument(
        "--count",
        type=argument.whole(1, classes.CLASSES_MAX),
        default=classes.CLASSES_MAX,
        metavar="K",
        help=f"how many the switches have, 1 to {classes.CLASSES_MAX} (default "
        f"{classes.CLASSES_MAX})",
    )


def _add_apply(verbs: Any) -> None:
    verb = _verb(verbs, "apply", "give mlccd the shifts of its jobs, and their classes", _apply)
    add = verb.add_argument
    add("problem", help="a file; - for standard input")
    add("--dry-run", action="store_true", help="mlccd only says whether it would do it")
    add(
        "--guard",
        type=argument.guard,
        default=0,
        metavar="MS",
        help="by how much the clock of a host may be wrong: so much more room on either side of "
        "every arc (default 0)",
    )
    add("--here", action="store_true", help="leave out jobs that this mlccd does not have")
    add(
        "--best", action="store_true", help="the best shifts there are, even if the jobs do not fit"
    )
    add("--as-is", action="store_true", help="the shifts that the jobs have in the problem")
    add("--no-shifts", action="store_true", help="take shifts away; for --classes alone")
    add(
        "--classes",
        type=argument.whole(1, classes.CLASSES_MAX),
        metavar="K",
        help="give each job a DSCP, out of K classes (see mlcc-plan classes)",
    )
    add(
        "--dscp",
        type=argument.dscps,
        metavar="LIST",
        help="of the classes, the lowest first (default 0,8,16...)",
    )
    add("--clear", action="store_true", help="take shifts and DSCPs away from the problem's jobs")
    add("--socket", default=mlcc_client.SOCKET, metavar="PATH", help="mlccd's")
    _model_options(verb)
    _search_options(verb)


def _options(arguments: argparse.Namespace) -> Options:
    return Options(
        steps=getattr(arguments, "precision", 72),
        strict=arguments.strict,
        tolerance=arguments.tolerance,
        limit_s=getattr(arguments, "limit", None),
        seed=getattr(arguments, "seed", 1),
    )


def _print(arguments: argparse.Namespace, result: Any, text: Callable[[Any], str]) -> None:
    said = json.dumps(result, allow_nan=False) if arguments.json else text(result)
    progress.end()
    print(said)


def _laid_out(arguments: argparse.Namespace) -> Layout:
    return Layout(problem.from_json(reader.load(arguments.problem)), _options(arguments))


def _check(arguments: argparse.Namespace) -> int:
    found = report.document(solve.check(_laid_out(arguments)))
    _print(arguments, found, report.text)
    return EXIT_OK if found["score_min"] == 1 and found["feasible"] else EXIT_MISFIT


def _solve(arguments: argparse.Namespace) -> int:
    _print(arguments, report.document(solve.solve(_laid_out(arguments))), report.text)
    return EXIT_OK


def _place(arguments: argparse.Namespace) -> int:
    candidates = place.from_json(reader.load(arguments.problem))
    _print(arguments, place.rank(candidates, _options(arguments)), place.text)
    return EXIT_OK


def _draw(arguments: argparse.Namespace) -> int:
    try:
        from . import draw  # only here: the rest works without matplotlib
    except ImportError as error:
        raise PlanError(f"draw: {error}; the package is python3-matplotlib") from None
    draw.draw(solve.solve(_laid_out(arguments)), arguments.picture)
    _print(arguments, {"picture": str(arguments.picture)}, lambda result: result["picture"])
    return EXIT_OK


def _classes(arguments: argparse.Namespace) -> int:
    laid_out = Layout(problem.from_json(reader.load(arguments.problem)), Options())
    _print(arguments, classes.assign(laid_out, arguments.count), classes.text)
    return EXIT_OK


def _apply(arguments: argparse.Namespace) -> int:
    values = apply.class_values(arguments)
    given = problem.from_json(reader.load(arguments.problem))
    found: Json = {}
    shifts: dict[str, apply.Slot] = {}
    notes: list[str] = []
    if not arguments.clear and not arguments.no_shifts:
        solution = _planned(arguments, given)
        found = report.document(solution)
        if not arguments.best and not (found["compatible"] and found["feasible"]):
            raise MisfitError(f"{report.summary(found)}; --best applies them all the same")
        shifts = apply.slots(given, solution)
        notes = [*found["notes"], *apply.several_arcs(solution.layout, shifts)]
    marks: dict[str, int] = {}
    if values:
        marks = apply.dscps(classes.assign(Layout(given, Options()), len(values)), values)
    names = [job.name for job in given.jobs]
    entries = apply.tell(arguments, names, shifts, marks)
    result = {
        "dry_run": arguments.dry_run,
        **{key: found.get(key) for key in ("compatible", "score_mean", "score_min")},
        "guard_ms": arguments.guard / 1000,
        "notes": notes,
        "jobs": entries,
    }
    _print(arguments, result, apply.text)
    return EXIT_OK


def _planned(arguments: argparse.Namespace, given: problem.Problem) -> solve.Solution:
    laid_out = Layout(apply.widened(given, arguments.guard), _options(arguments))
    return solve.check(laid_out) if arguments.as_is else solve.solve(laid_out)


def _profile(arguments: argparse.Namespace) -> int:
    _print(arguments, profiling.profiles(arguments), profile.text)
    return EXIT_OK


def _gain(arguments: argparse.Namespace) -> int:
    _print(arguments, gain.gains(arguments.files), gain.text)
    return EXIT_OK
