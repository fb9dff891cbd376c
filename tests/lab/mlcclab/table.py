# SPDX-License-Identifier: GPL-2.0
"""The report for eyes."""

from collections.abc import Callable, Sequence
from typing import Any

Json = dict[str, Any]

# A job alone under CUBIC takes 0 to 1 % longer than the link's rate says.
BUSY_RATIO = 1.03

Column = tuple[str, Callable[[Json, Json], str]]

COLUMNS: list[Column] = [
    ("cc", lambda result, job: result["cc"]),
    ("job", lambda result, job: job["name"]),
    ("isolated", lambda result, job: _fixed(job["isolated_ms"], 1)),
    ("own cc", lambda result, job: _fixed(job["isolated_cc_ms"], 1)),
    ("mean", lambda result, job: _fixed(job["mean_ms"], 1)),
    ("p90", lambda result, job: _fixed(job["p90_ms"], 1)),
    ("p99", lambda result, job: _fixed(job["p99_ms"], 1)),
    ("slowdown", lambda result, job: _fixed(job["slowdown"], 3)),
    ("±", lambda result, job: half_width(job["slowdown_ci95"], 3)),
    ("converged", lambda result, job: _or_dash(job["converged_at"])),
    ("retr/MB", lambda result, job: _fixed(job["retransmits_per_mb"], 2)),
]


def _fixed(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def half_width(bounds: Sequence[float] | None, digits: int) -> str:
    """Half the width of an interval."""
    return _fixed((bounds[1] - bounds[0]) / 2 if bounds else None, digits)


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def align(rows: list[list[str]], left: int) -> list[str]:
    """Lines with aligned columns, the first ones to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def text(report: Json) -> str:
    """The whole."""
    return "\n".join(lines(report) + warnings(report))


def lines(report: Json) -> list[str]:
    """Times in ms, a line per cc and job, then the sums."""
    rows = [[name for name, _ in COLUMNS]]
    for result in report["results"]:
        rows += [[cell(result, job) for _, cell in COLUMNS] for job in result["jobs"]]
    found = align(rows, 2)
    for result in report["results"]:
        said = [_sums(result), _communication(result), *map(flow_line, result["flows"])]
        found += [f"{result['cc']}: {line}" for line in said]
    return found


def _sums(result: Json) -> str:
    """A line, of all jobs."""
    link, half = result["link"], half_width(result["slowdown_ci95"], 3)
    words = [
        f"slowdown {result['slowdown_mean']:.3f} ± {half}",
        f"p90 {result['slowdown_p90']:.3f}",
        f"p99 {result['slowdown_p99']:.3f}",
        f"{_fixed(result['retransmits_per_mb'], 2)} retr/MB",
        f"jain {result['jain']:.3f}",
    ]
    if link["utilisation"] is not None:
        words += [f"link {link['utilisation']:.0%}", f"{link['drops']:.0f} drops"]
    return ", ".join([*words, *([f"{link['ecn_marks']:.0f} marks"] if link["ecn_marks"] else [])])


def _communication(result: Json) -> str:
    """A line, of the time that the jobs' phases take."""
    words = f"communication {result['comm_mean_ms']:.2f} ms, median {result['comm_p50_ms']:.2f} ms"
    if result["comm_over_cubic"] is None:
        return words
    mean, median = (
        _with_half_width(result, key, 3) for key in ("comm_over_cubic", "comm_p50_over_cubic")
    )
    return f"{words}: {mean} and {median} of cubic's"


def warnings(report: Json) -> list[str]:
    """Why these figures may say more about this machine than about the network."""
    lines = []
    if any(result["link"]["softnet_drops"] for result in report["results"]):
        lines.append("warning: the machine itself dropped packets (softnet); it is too busy")
    jobs = [job for result in report["results"] for job in result["jobs"] if job["ideal_ms"]]
    late = max((job["isolated_ms"] / job["ideal_ms"] for job in jobs), default=0.0)
    if late > BUSY_RATIO:
        lines.append(
            f"warning: alone on the link a job took {late:.2f} times what the link allows; "
            "unless the scenario explains it (loss, delay, a slow path), the machine is too busy"
        )
    return lines


def flow_line(flow: Json) -> str:
    """What a neighbour has, and what it lost; of times the p99 counts."""
    if flow["kind"] == "bulk":
        has = f"{flow['mbps']:.0f} Mb/s (alone {flow['isolated_mbps']:.0f})"
    else:
        alone = "/".join(_fixed(flow[f"isolated_{key}"], 1) for key in ("p50_ms", "p99_ms"))
        times = "/".join(_fixed(flow[key], 1) for key in ("p50_ms", "p99_ms"))
        has = f"p50/p99 {times} ms (alone {alone})"
    if flow["beside_cubic"] is not None:
        has += f", {_with_half_width(flow, 'beside_cubic', 2)} of cubic's"
    return f"flow {flow['name']}: {has}, harm {_with_half_width(flow, 'harm', 2)}"


def _with_half_width(figures: Json, key: str, digits: int) -> str:
    return f"{_fixed(figures[key], digits)} ± {half_width(figures[f'{key}_ci95'], digits)}"
