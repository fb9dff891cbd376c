# SPDX-License-Identifier: GPL-2.0
"""A comparison for eyes."""

from statistics import fmean
from typing import Any

from .comparison import NAMES, decisive
from .table import align, half_width, warnings
from .verdict import CANNOT_TELL

Json = dict[str, Any]

FIGURES = {
    "slowdown_mean": "slowdown",
    "slowdown_p99": "slowdown p99",
    "retransmits_per_mb": "retr/MB",
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
    figure = FIGURES[row["figure"]] if neighbour is None else f"{row['figure']} to {neighbour}"
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
