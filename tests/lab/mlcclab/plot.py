# SPDX-License-Identifier: GPL-2.0
"""The picture: iteration times on the left, the link's shares on the right; of the median run."""

import os
import tempfile
from pathlib import Path
from typing import Any

# matplotlib wants a writable folder for its font cache, root may have none.
os.environ.setdefault("MPLCONFIGDIR", f"{tempfile.gettempdir()}/mlcc-lab-matplotlib")

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

Json = dict[str, Any]

# Okabe and Ito's palette: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#555555")
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.axisbelow": True,
}


def draw(document: Json, path: Path) -> None:
    """One row per congestion control, from the report alone."""
    results = document["results"]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(results),
            2,
            figsize=(11, 0.6 + 2.5 * len(results)),
            squeeze=False,
            gridspec_kw={"width_ratios": (1, 1.15)},
            layout="constrained",
        )
        limits = time_limits(results)
        for (left, right), result in zip(axes, results, strict=True):
            iterations(left, result, limits)
            _shares(right, document, result)
        _same_times([right for _, right in axes])
        _legend(figure, axes[0][1])
        axes[-1][0].set_xlabel("iteration")
        axes[-1][1].set_xlabel("time [s]")
        figure.suptitle(_headline(document), x=0.01, ha="left", fontsize=11)
        figure.savefig(path, dpi=150, format="png")
        plt.close(figure)


def _headline(document: Json) -> str:
    load = "" if document["load"] is None else f" (load {document['load']:.0%})"
    about = f": {document['about']}" if document["about"] else ""
    return f"{document['scenario']}{about}{load}"


def _drawn(result: Json) -> Json:
    """Of several runs the one whose shares the report has: no run looks like their mean."""
    return result["repeats"][result["shown"]] if "shown" in result else result


def _title(result: Json) -> str:
    title = f"{result['cc']}: slowdown {result['slowdown_mean']:.2f}"
    if "shown" not in result:
        return title
    own, runs = _drawn(result)["slowdown_mean"], len(result["repeats"])
    return f"{title}, mean of {runs} runs; here {own:.2f}"


def time_limits(results: list[Json]) -> tuple[float, float]:
    """The same scale for every row; a lone outlier may leave the picture."""
    jobs = [job for result in results for job in _drawn(result)["jobs"]]
    low = min(min(job["isolated_ms"], *job["iterations_ms"]) for job in jobs)
    high = max(max(job["p99_ms"], job["isolated_ms"]) for job in jobs)
    margin = (high - low) * 0.1 or 1.0
    return low - margin, high + 2 * margin


def iterations(axes: Any, result: Json, limits: tuple[float, float]) -> None:
    """Of each job, and how long they take alone."""
    for index, job in enumerate(_drawn(result)["jobs"]):
        colour = COLOURS[index % len(COLOURS)]
        times = job["iterations_ms"]
        axes.plot(times, color=colour, linewidth=1.3, marker="o", markersize=2.2)
        axes.plot(_isolated(job), color=colour, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_ylim(*limits)
    axes.set_ylabel("iteration time [ms]")
    axes.set_title(_title(result))
    axes.annotate(
        "dashed: alone on the link",
        (0.99, 0.02),
        xycoords="axes fraction",
        ha="right",
        fontsize=7.5,
        color="#777777",
    )


def _isolated(job: Json) -> list[float]:
    return [job["isolated_ms"]] * len(job["iterations_ms"])


def _shares(axes: Any, document: Json, result: Json) -> None:
    """Stacked areas of the receivers' rates, as a share of what the link can carry.

    Receivers are read one after the other: a sum of theirs may be over it for a moment.
    """
    shares, capacity = result["shares"], document["goodput_mbps"]
    if capacity is None:  # nothing but the machine: what it had at most
        totals = zip(*(series["mbps"] for series in shares["series"]), strict=True)
        capacity = max(map(sum, totals)) or 1.0
    totals = zip(*(series["mbps"] for series in shares["series"]), strict=True)
    full = [max(capacity, sum(total)) for total in totals]
    rates = [
        [mbps / most for mbps, most in zip(series["mbps"], full, strict=True)]
        for series in shares["series"]
    ]
    begin, step = shares.get("from_ms", 0.0), shares["step_ms"]
    times = [(begin + (i + 1) * step) / 1e3 for i in range(len(full))]
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(rates))]
    names = [series["name"] for series in shares["series"]]
    axes.stackplot(times, rates, labels=names, colors=colours, step="pre", linewidth=0, alpha=0.9)
    axes.set_ylim(0, 1)
    axes.set_xlim(times[0], times[-1])
    axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
    axes.set_ylabel("share of the link")
    axes.grid(False)


def _same_times(axes: list[Any]) -> None:
    """What takes longer is longer."""
    limits = [each.get_xlim() for each in axes]
    for each in axes:
        each.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))


def _legend(figure: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncols=min(8, len(labels)), fontsize=8.5)
