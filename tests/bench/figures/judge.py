# SPDX-License-Identifier: GPL-2.0
"""The hostile suite's table: a row for each cell, or each neighbour in it, with verdicts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from . import bars, cells, page
from .bars import Bar, Span
from .cells import Json
from .hostile import CCS, Cell
from .page import Kept

OURS, BASES = "mlcc", ("cubic", "reno")
HEAD = (
    "network",
    "slowdown",
    "retransmits per MB",
    "ratio",
    "neighbour, beside mlcc / cubic",
    "bars",
)


@dataclass(frozen=True)
class Row:
    """A cell, or one neighbour of it: figures by name and congestion control, bars by name."""

    cell: Cell
    neighbour: str = ""
    figures: Mapping[str, Mapping[str, Span]] = field(default_factory=dict)
    bars: Mapping[str, Bar] = field(default_factory=dict)


def _runs(report: Json, cc: str) -> list[Json]:
    """A run for each seed."""
    result = next(item for item in report["results"] if item["cc"] == cc)
    return list(result.get("repeats", [result]))


def _judged(cell: Cell, run: Json) -> list[Json]:
    return [job for job in run["jobs"] if cell.judged in (None, job["name"])]


def _slowdown(cell: Cell, run: Json) -> float:
    return fmean(job["slowdown"] for job in _judged(cell, run))


def _resent(cell: Cell, run: Json) -> float:
    jobs = _judged(cell, run)
    sent = sum(job["sent_mb"] for job in jobs)
    return sum(job["retransmits"] for job in jobs) / sent if sent else 0.0


def rows(cell: Cell, report: Json) -> list[Row]:
    """The jobs' figures are in the first one."""
    figures, found = _of_jobs(cell, report)
    flows = report["results"][0]["flows"]
    if not flows:
        return [Row(cell, "", figures, found)]
    made = []
    for index, flow in enumerate(flows):
        bar = _of_neighbour(report, index)
        name = f"{flow['name']} ({flow['cc']} {flow['kind']})"
        made.append(Row(cell, name, figures, {**found, "neighbour": bar}))
        figures, found = {}, {}
    return made


def _of_jobs(cell: Cell, report: Json) -> tuple[dict[str, dict[str, Span]], dict[str, Bar]]:
    runs = {cc: _runs(report, cc) for cc in CCS}
    slow = {cc: [_slowdown(cell, run) for run in runs[cc]] for cc in CCS}
    again = {cc: [_resent(cell, run) for run in runs[cc]] for cc in CCS}
    found = {"alone": bars.alone(slow[OURS], slow["cubic"])} if cell.alone else {}
    found["job"] = bars.job(slow[OURS], [slow[cc] for cc in BASES])
    found["retransmits"] = bars.resent(again[OURS], [again[cc] for cc in BASES])
    spans = {"slowdown": slow, "retransmits": again}
    return {name: _spans(values) for name, values in spans.items()}, found


def _of_neighbour(report: Json, index: int) -> Bar:
    """A run in which nothing was carried says nothing."""
    flows = [run["flows"][index] for run in _runs(report, OURS)]
    known = [flow["beside_cubic"] for flow in flows if flow["beside_cubic"] is not None]
    return bars.neighbour(known, flows[0]["kind"])


def _spans(values: Mapping[str, Sequence[float]]) -> dict[str, Span]:
    return {cc: bars.span(of_cc) for cc, of_cc in values.items()}


def table(judged: Sequence[Row]) -> str:
    """Markdown, with what it comes to."""
    lines = [page.markdown(HEAD), page.markdown(["---"] * len(HEAD))]
    lines += [page.markdown(list(_cells(row))) for row in judged]
    return "\n".join([*lines, "", summary(judged)])


def _cells(row: Row) -> Iterator[str]:
    found = row.bars
    yield f"`{row.cell.name}`" if "slowdown" in row.figures else ""
    slow = _of_each(row, "slowdown")
    yield " / ".join(cells.interval(each.mean, each.ends, 3) for each in slow)
    yield " / ".join(cells.interval(each.mean, None, 2) for each in _of_each(row, "retransmits"))
    yield ratio(found["retransmits"].span) if "retransmits" in found else ""
    has = found["neighbour"].span if "neighbour" in found else None
    yield f"{row.neighbour} {cells.interval(has.mean, has.ends, 2)}" if has else "-"
    yield verdicts(found)


def _of_each(row: Row, name: str) -> list[Span]:
    """All congestion controls', in the same order."""
    return [row.figures[name][cc] for cc in CCS] if name in row.figures else []


def ratio(found: Span) -> str:
    """Of two means: its interval is not symmetric, and may have no ends."""
    mean = cells.interval(found.mean, None, 2)
    return "{} ({:.2f} to {:.2f})".format(mean, *found.ends) if found.ends else mean


def verdicts(found: Mapping[str, Bar]) -> str:
    """Which bars are not met, worst first."""
    said = []
    for verdict, shown in ((bars.MISSED, "**missed**"), (bars.CANNOT_TELL, bars.CANNOT_TELL)):
        if names := [name for name, bar in found.items() if bar.verdict == verdict]:
            said.append(f"{shown}: {', '.join(names)}")
    return "; ".join(said) or bars.MET


def summary(judged: Sequence[Row]) -> str:
    """How many of each."""
    count = Counter(bar.verdict for row in judged for bar in row.bars.values())
    counts = (f"{count[each]} {each}" for each in (bars.MET, bars.MISSED, bars.CANNOT_TELL))
    return f"Bars: {', '.join(counts)}."


def captions(kept: Mapping[Cell, Kept]) -> str:
    """A line for each place."""
    places: dict[str | None, list[Kept]] = {}
    for cell, item in kept.items():
        places.setdefault(cell.kernel, []).append(item)
    lines = []
    for items in places.values():
        count, dates = f"{len(items)} networks", page.dates(items)
        words = [*page.origin_words(items), count, page.SEEDS_SAID, dates]
        lines.append(f"{', '.join(words)}: `tests/bench/hostile`.")
    return "\n\n".join(lines)
