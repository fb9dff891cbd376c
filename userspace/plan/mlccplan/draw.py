# SPDX-License-Identifier: BSD-2-Clause
"""Draws the circles of a link: a ring for each job, time counter-clockwise from the right."""

from math import ceil, pi
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
# the same picture is the same file: no salt but this, and no clipping, whose names are addresses
mpl.rcParams["svg.hashsalt"] = "mlcc-plan"

from matplotlib import pyplot as plt  # noqa: E402  (needs the backend)

from .circle import Circle, Resource  # noqa: E402
from .errors import PlanError  # noqa: E402
from .solve import Solution  # noqa: E402

LINKS_MAX = 12
TURNS_DRAWN = 60  # of one ring: more are a grey blur
COLUMNS = 3
INCH = 4.2
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f")
FORMATS = {".svg", ".png"}


def draw(solution: Solution, path: Path) -> None:
    """Write the picture of the most crowded links that jobs share."""
    if path.suffix not in FORMATS:
        raise PlanError(f"{path}: the name has to end in .svg or .png")
    drawn = [
        (link, circle)
        for link in _links(solution)
        for circle in link.circles
        if len(circle.demands) > 1
    ]
    if not drawn:
        raise PlanError("there is nothing to draw: no link is shared")
    drawn = drawn[:LINKS_MAX]
    columns = min(COLUMNS, len(drawn))
    rows = ceil(len(drawn) / columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(INCH * columns, (INCH + 0.6) * rows),
        subplot_kw={"projection": "polar"},
        squeeze=False,
    )
    for axis in axes.flat[len(drawn) :]:
        axis.remove()
    for axis, (link, circle) in zip(axes.flat, drawn, strict=False):
        _circle(axis, solution, link, circle)
    figure.tight_layout()
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror}") from None
    plt.close(figure)


def _links(solution: Solution) -> list[Resource]:
    shared = [link for link in solution.layout.links.values() if len(link.jobs) > 1]
    return sorted(shared, key=lambda link: (-link.excess(solution.shifts), link.name))


def _circle(axis: plt.Axes, solution: Solution, link: Resource, circle: Circle) -> None:
    layout, perimeter = solution.layout, circle.perimeter
    height = 1 / (len(circle.demands) + 1)
    for ring, demand in enumerate(circle.demands.values()):
        bottom = 1 - (ring + 1) * height
        turns = perimeter // demand.period
        colour = COLOURS[ring % len(COLOURS)]
        name = layout.problem.jobs[demand.job].name
        shift = solution.shifts[demand.job]
        axis.bar(0, height * 0.8, 2 * pi, bottom, align="edge", color="#f0f0f0", clip_on=False)
        for turn in range(min(turns, TURNS_DRAWN)):
            begin = turn * demand.period + shift + demand.starts
            strength = demand.heights / link.capacity
            axis.bar(
                begin % perimeter * 2 * pi / perimeter,
                height * 0.8 * np.clip(strength, 0.15, 1),
                demand.lengths * 2 * pi / perimeter,
                bottom,
                align="edge",
                color=colour,
                clip_on=False,
                label=name if turn == 0 else None,
            )
    # in red outside, where more is wanted than there is
    total = circle.total(solution.shifts)
    over = total.heights > link.capacity
    scale = 2 * pi / perimeter
    red = {"align": "edge", "color": "r", "clip_on": False}
    axis.bar(total.times[over] * scale, 0.05, total.lengths[over] * scale, 1.0, **red)
    ms = layout.microseconds(perimeter) / 1000
    axis.set_ylim(0, 1.06)
    axis.set_yticks([])
    axis.grid(False)
    axis.spines["polar"].set_visible(False)
    axis.set_xticks(np.arange(8) * pi / 4, [f"{ms * eighth / 8:.4g}" for eighth in range(8)])
    axis.set_title(f"{link.name}: {ms:g} ms, score {1 - link.excess(solution.shifts):.3f}")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2, fontsize=8, frameon=False)
