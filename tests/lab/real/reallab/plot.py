# SPDX-License-Identifier: GPL-2.0
"""The picture: iteration times under each mode, and the losses below."""

from pathlib import Path
from typing import Any

from mlcclab.plot import COLOURS, STYLE, plt

Json = dict[str, Any]


def draw(report: Json, path: Path) -> None:
    """One panel a mode, from the report alone; the first repeat of each."""
    results = report["results"]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(results) + 1, figsize=(3.2 * (len(results) + 1), 3.2), layout="constrained"
        )
        limits = _limits(report)
        for panel, result in zip(axes, results, strict=False):
            _times(panel, report, result, limits)
        axes[0].set_ylabel("iteration time [ms]")
        _losses(axes[-1], report)
        figure.suptitle(f"{report['about']}, {report['rate_mbps']:g} Mb/s", x=0.01, ha="left")
        figure.savefig(path, dpi=150, format="png")
        plt.close(figure)


def _limits(report: Json) -> tuple[float, float]:
    low = min(job["mean_ms"] for job in report["isolated"])
    jobs = [job for result in report["results"] for job in result["repeats"][0]["jobs"]]
    high = max(job["p99_ms"] for job in jobs)
    return 0.95 * low, 1.05 * high


def _times(axes: Any, report: Json, result: Json, limits: tuple[float, float]) -> None:
    first = result["repeats"][0]
    for index, job in enumerate(first["jobs"]):
        colour = COLOURS[index % len(COLOURS)]
        axes.plot(job["iterations_ms"], color=colour, linewidth=1.1, label=job["name"])
        alone = report["isolated"][index]["mean_ms"]
        axes.axhline(alone, color=colour, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_ylim(*limits)
    axes.set_xlabel("iteration")
    axes.set_title(f"{result['mode']}: {first['slowdown_mean']:.2f}")


def _losses(axes: Any, report: Json) -> None:
    for index, (name, values) in enumerate(report["losses"].items()):
        axes.plot(values, color=COLOURS[index % len(COLOURS)], linewidth=1.1, label=name)
    axes.set_title("loss" + ("" if report["same_losses"] else ": DIFFERS between runs"))
    axes.set_xlabel("iteration")
    axes.legend(fontsize=7.5)
