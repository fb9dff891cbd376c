# SPDX-License-Identifier: GPL-2.0
"""The picture: iteration times under each mode, as the lab draws them, and the losses."""

from pathlib import Path
from typing import Any

from mlcclab import plot
from mlcclab.plot import COLOURS, plt

Json = dict[str, Any]


def draw(report: Json, path: Path) -> None:
    """One panel a mode, from the report alone."""
    results = report["results"]
    with plt.rc_context(plot.STYLE):
        figure, axes = plt.subplots(
            1, len(results) + 1, figsize=(3.2 * (len(results) + 1), 3.2), layout="constrained"
        )
        limits = plot.time_limits(results)
        for panel, result in zip(axes, results, strict=False):
            plot.iterations(panel, result, limits)
            panel.set_title(f"{result['cc']}: {result['slowdown_mean']:.2f}")
            panel.set_xlabel("iteration")
        _losses(axes[-1], report)
        figure.suptitle(f"{report['about']}, {report['rate_mbps']:g} Mb/s", x=0.01, ha="left")
        figure.savefig(path, dpi=150, format="png")
        plt.close(figure)


def _losses(axes: Any, report: Json) -> None:
    for index, (name, values) in enumerate(report["losses"].items()):
        axes.plot(values, color=COLOURS[index % len(COLOURS)], linewidth=1.1, label=name)
    axes.set_title("loss" + ("" if report["same_losses"] else ": DIFFERS between runs"))
    axes.set_xlabel("iteration")
    axes.legend(fontsize=7.5)
