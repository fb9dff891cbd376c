# SPDX-License-Identifier: GPL-2.0
"""Two builds of the BPF carrier against each other, under the same scenarios and seeds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from . import experiment, report, runner, shell, verdict
from .carrier import LOADER, MLCCD, BpfCarrier
from .errors import LabError, UsageError
from .experiment import Measurement
from .scenario import Scenario
from .schedule import Contender, Request
from .stats import rounded
from .table import align, half_width, warnings
from .verdict import CANNOT_TELL, Comparison, Figure

Json = dict[str, Any]

NAMES = ("first", "second")
ALL = "all"
# For eyes.
TITLES = {
    "slowdown_mean": "slowdown",
    "slowdown_p99": "slowdown p99",
    "retransmits_per_mb": "retr/MB",
}


def needs_mlccd(cc: str, scenarios: Sequence[Scenario]) -> bool:
    """Whether jobs announce their phases."""
    return any(runner.announced(cc, item.jobs) for item in scenarios)


def check_builds(builds: Sequence[Path], loader: bool, mlccd: bool) -> None:
    """That they are there, and what is needed of them is built."""
    for build in builds:
        if not build.is_dir():
            raise UsageError(f"--builds: {build}: no such folder")
        if loader and not (build / LOADER).is_file():
            raise UsageError(f"--builds: {build / LOADER}: not built: make -C {build} carrier")
        if mlccd and not (build / MLCCD).is_file():
            raise UsageError(f"--builds: {build / MLCCD}: not built: make -C {build} userspace")


def check_scenarios(scenarios: Sequence[Scenario]) -> None:
    """That each is one of its own, and the BPF carrier's."""
    names = [item.name for item in scenarios]
    for item in scenarios:
        if names.count(item.name) > 1:
            raise UsageError(f"{item.name}: named twice")
        if item.transport != "tcp":
            raise UsageError(f"{item.name}: builds are of carriers of TCP, not of {item.transport}")


def measure(cc: str, builds: Sequence[Path], requests: Sequence[Request]) -> list[Measurement]:
    """Both builds in turns, on each scenario."""
    contenders = [
        Contender(name, cc, BpfCarrier(tree=build))
        for name, build in zip(NAMES, builds, strict=True)
    ]
    return experiment.take_turns(requests, contenders)


def document(cc: str, builds: Sequence[Path], measurements: Sequence[Measurement]) -> Json:
    """The whole report; Documentation/lab.md describes its keys."""
    scenarios = [_scenario(cc, measurement) for measurement in measurements]
    rows = [row for scenario in scenarios for row in _rows(scenario)]
    if len(scenarios) > 1:
        rows += _over_all(scenarios)
    return {
        "schema": 1,
        "builds": described(builds),
        "cc": cc,
        **{key: scenarios[0][key] for key in ("kernel", "seed", "repeat")},
        "verdict": decisive(rows)["verdict"],
        "rows": rows,
        "scenarios": scenarios,
    }


def decisive(rows: Sequence[Json]) -> Json:
    """The row that the whole is judged by: the slowdown over all."""
    return next(row for row in reversed(rows) if row["figure"] == verdict.SLOWDOWN.key)


def described(builds: Sequence[Path]) -> list[Json]:
    """Where each is, and what git says that its sources are."""
    return [
        {"build": name, "folder": str(build), "commit": _commit(build)}
        for name, build in zip(NAMES, builds, strict=True)
    ]


def _commit(build: Path) -> str | None:
    command = ["git", "-C", str(build), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return shell.run(command).strip()
    except LabError:  # no git, or no repository of its own
        return None


def _scenario(cc: str, measurement: Measurement) -> Json:
    """As a report of `run`, with the build beside the congestion control."""
    document = report.document(measurement)
    for result in document["results"]:
        for item in (result, *result["repeats"]):
            item["build"], item["cc"] = item["cc"], cc
    return document


def _by_seed(scenario: Json) -> list[list[Json]]:
    """The repeats of the first build, and of the second."""
    results = {result["build"]: result["repeats"] for result in scenario["results"]}
    return [results[name] for name in NAMES]


def _of_jobs(scenario: Json, figure: Figure) -> Comparison:
    first, second = ([run[figure.key] for run in runs] for runs in _by_seed(scenario))
    return verdict.paired(figure, first, second)


def _rows(scenario: Json) -> Iterator[Json]:
    for figure in verdict.OF_JOBS:
        yield _row(scenario["scenario"], _of_jobs(scenario, figure))
    for index, flow in enumerate(scenario["results"][0]["flows"]):
        key = verdict.HARM.key
        first, second = ([r["flows"][index][key] for r in runs] for runs in _by_seed(scenario))
        harms = verdict.paired(verdict.HARM, first, second)
        yield _row(scenario["scenario"], harms, flow["name"])


def _over_all(scenarios: Sequence[Json]) -> Iterator[Json]:
    for figure in verdict.OF_JOBS:
        each = [_of_jobs(scenario, figure) for scenario in scenarios]
        yield _row(ALL, verdict.mean_of(each))


def _row(scenario: str, comparison: Comparison, neighbour: str | None = None) -> Json:
    difference = comparison.difference
    bounds = difference.bounds if difference else None
    return {
        "scenario": scenario,
        "figure": comparison.figure.key,
        "neighbour": neighbour,
        "first": [round(value, 4) for value in comparison.first],
        "second": [round(value, 4) for value in comparison.second],
        "difference": rounded(difference.mean, 4) if difference else None,
        "difference_ci95": [round(bound, 4) for bound in bounds] if bounds else None,
        "least": comparison.figure.least,
        "verdict": comparison.verdict,
    }


def text(document: Json) -> str:
    """Which builds, a line per scenario and figure (less is better), and one sentence."""
    builds = [
        f"{build['build']}: {build['folder']} ({build['commit'] or 'no commit'})"
        for build in document["builds"]
    ]
    rows = [["scenario", "figure", *NAMES, "difference", "±", "verdict"]]
    lines = align(rows + [_cells(row) for row in document["rows"]], 2)
    notes = [
        f"{scenario['scenario']}: {line}"
        for scenario in document["scenarios"]
        for line in warnings(scenario)
    ]
    return "\n".join([*builds, *lines, *notes, sentence(document)])


def _cells(row: Json) -> list[str]:
    neighbour = row["neighbour"]
    figure = TITLES[row["figure"]] if neighbour is None else f"{row['figure']} to {neighbour}"
    means = [f"{fmean(row[name]):.4f}" if row[name] else "-" for name in NAMES]
    difference = "-" if row["difference"] is None else f"{row['difference']:+.4f}"
    half = half_width(row["difference_ci95"], 4)
    return [row["scenario"], figure, *means, difference, half, row["verdict"]]


def sentence(document: Json) -> str:
    """The verdict in plain words."""
    row, seeds = decisive(document["rows"]), document["repeat"]
    low, high = row["difference_ci95"]
    figures = (
        f"its slowdown differs by {row['difference']:+.4f} "
        f"(95 %: {low:+.4f} to {high:+.4f}, {seeds} seeds)"
    )
    if row["verdict"] == CANNOT_TELL:
        return f"Cannot tell whether the second build is better or worse than the first: {figures}."
    return f"The second build is {row['verdict']} than the first: {figures}."
