# SPDX-License-Identifier: GPL-2.0
"""Iteration time against cross traffic: t = A exp(B / (C - BW)^n), as Salamy's thesis has it."""

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

# matplotlib wants a writable folder for its font cache, root may have none.
os.environ.setdefault("MPLCONFIGDIR", f"{tempfile.gettempdir()}/mlcc-sim-matplotlib")

import matplotlib as mpl  # noqa: E402
import numpy as np  # noqa: E402
from scipy.optimize import curve_fit  # noqa: E402

mpl.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402  (needs the backend)

from mlcclab import program  # noqa: E402
from mlcclab.errors import UsageError  # noqa: E402
from mlcclab.options import Parser  # noqa: E402
from mlcclab.table import align  # noqa: E402

Json = dict[str, Any]

# The families that the thesis has.
POWERS = (0.5, 1.0, 2.0)
# A fit has two constants; less than this many points say nothing of it.
POINTS = 4

EPILOG = """\
examples:
  tests/sim/run tcp-cross --load 0,0.2,0.4,0.6,0.8 --seeds 1-5 --json sweep.json
  tests/sim/fit sweep.json
  tests/sim/fit sweep.json --plot sweep.png

BW is the cross traffic's load, C what the loaded link carries (Gb/s), t the mean iteration of all
jobs and seeds (ms). n is that one of 0.5, 1 and 2 whose least squares are least.
"""


@dataclass(frozen=True)
class Fit:
    """The curve, and how much of the variance it explains."""

    a: float
    b: float
    c: float
    n: float
    r2: float

    def __call__(self, bw: Any) -> Any:
        return curve(self.c, self.n)(bw, self.a, self.b)


def curve(c: float, n: float) -> Callable[[Any, float, float], Any]:
    """As curve_fit wants it."""
    return lambda bw, a, b: a * np.exp(b / (c - bw) ** n)


def fit(bw: Sequence[float], t: Sequence[float], c: float) -> Fit:
    """Of all families the best."""
    return max((_of_family(np.array(bw), np.array(t), c, n) for n in POWERS), key=lambda f: f.r2)


def _of_family(bw: Any, t: Any, c: float, n: float) -> Fit:
    """Starts from the logarithms' straight line."""
    slope, start = np.polyfit((c - bw) ** -n, np.log(t), 1)
    (a, b), _ = curve_fit(curve(c, n), bw, t, p0=(np.exp(start), slope), maxfev=10000)
    missed = np.sum((t - curve(c, n)(bw, a, b)) ** 2)
    return Fit(float(a), float(b), c, n, float(1 - missed / np.sum((t - np.mean(t)) ** 2)))


def points(sweep: Json, index: int) -> tuple[list[float], list[float]]:
    """Cross traffic in Gb/s and mean iterations in ms, under one of the congestion controls."""
    found = []
    for report in sweep["sweep"]:
        jobs = report["results"][index]["jobs"]
        means = [job["mean_ms"] for job in jobs if job["isolated_ms"]]
        if not means or not all(means):
            raise UsageError(f"load {report['load']}: a job has too few iterations")
        found.append((report["load"] * sweep["line_gbps"], fmean(means)))
    return [bw for bw, _ in found], [t for _, t in found]


def _load(path: Path) -> Json:
    try:
        sweep: Json = json.loads(path.read_text(encoding="utf-8"))
        loads = [report["load"] for report in sweep["sweep"] if sweep["line_gbps"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: no JSON of tests/sim/run --load") from None
    if len(loads) < POINTS or loads[-1] >= 1:
        raise UsageError(f"{path}: a fit takes {POINTS} loads or more, all of them below 1")
    return sweep


def _row(cc: str, found: Fit) -> list[str]:
    constants = (found.a, found.b, found.c, found.n)
    return [cc, *(f"{value:.4g}" for value in constants), f"{found.r2:.3f}"]


def _draw(
    path: Path, name: str, series: Sequence[tuple[str, list[float], list[float], Fit]]
) -> None:
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for cc, bw, t, found in series:
        (dots,) = axes.semilogy(bw, t, "o", label=f"{cc}, R² = {found.r2:.3f}")
        fine = np.linspace(bw[0], bw[-1], 200)
        axes.semilogy(fine, found(fine), "-", color=dots.get_color())
    axes.set(title=name, xlabel="cross traffic [Gb/s]", ylabel="mean iteration [ms]")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def _command(arguments: Sequence[str]) -> int:
    words = Parser(
        prog="tests/sim/fit",
        description="Fit iteration time against cross traffic to a sweep's JSON.",
        epilog=EPILOG,
    )
    words.add_argument("sweep", type=Path)
    words.add_argument("--plot", type=Path, metavar="FILE", help="a picture: .png, .svg, .pdf")
    options: argparse.Namespace = words.parse_args(arguments)
    if options.plot and options.plot.suffix not in {".png", ".svg", ".pdf"}:
        raise UsageError(f"--plot: {options.plot} does not end in .png, .svg or .pdf")
    sweep = _load(options.sweep)
    series = []
    for index, result in enumerate(sweep["sweep"][0]["results"]):
        bw, t = points(sweep, index)
        series.append((result["cc"], bw, t, fit(bw, t, sweep["line_gbps"])))
    rows = [["cc", "A ms", "B", "C Gb/s", "n", "R²"]]
    print("\n".join(align(rows + [_row(cc, found) for cc, _, _, found in series], 1)))
    if options.plot:
        _draw(options.plot, sweep["scenario"], series)
    return 0


def main(arguments: Sequence[str]) -> int:
    """Parse, fit, and turn every error into one line."""
    return program.run("tests/sim/fit", lambda: _command(arguments))
