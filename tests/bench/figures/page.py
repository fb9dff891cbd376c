# SPDX-License-Identifier: GPL-2.0
"""Tables in Markdown: what is between the markers of a name, and the caption with its origin."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlcclab.errors import LabError

from .cells import Json
from .tables import SEEDS, Column, Table

END = "<!-- end -->"
SEEDS_SAID = f"seeds {SEEDS[0]}-{SEEDS[-1]}"
CAPTION = re.compile(r"^Commit `(?P<commit>[0-9a-f]{7,40})`, carrier (?P<carrier>bpf|module), ")


@dataclass(frozen=True)
class Kept:
    """A report of mlcc-lab, and what it does not say itself."""

    commit: str
    date: str
    cpus: str
    took_s: float
    report: Json


@dataclass(frozen=True)
class Origin:
    """What a caption says for machines."""

    commit: str
    carrier: str


def _begin(name: str) -> str:
    return f"<!-- results: {name} -->"


def _bounds(text: str, name: str, path: Path) -> tuple[int, int]:
    """Where the text between the markers begins and ends."""
    begin = _begin(name)
    if text.count(begin) != 1:
        raise LabError(f"{path}: needs the line {begin} once, has it {text.count(begin)} times")
    start = text.index(begin) + len(begin)
    end = text.find(END, start)
    following = text.find("<!-- results: ", start)
    if end < 0 or 0 <= following < end:
        raise LabError(f"{path}: no {END} behind {begin}")
    return start, end


def between(path: Path, name: str) -> str:
    """What a page says now."""
    text = path.read_text(encoding="utf-8")
    start, end = _bounds(text, name, path)
    return text[start:end].strip()


def replace(path: Path, name: str, block: str) -> None:
    """Put a block between the markers; the rest of the page stays as it is."""
    text = path.read_text(encoding="utf-8")
    start, end = _bounds(text, name, path)
    new = path.with_name(f".{path.name}.new")
    new.write_text(f"{text[:start]}\n\n{block}\n\n{text[end:]}", encoding="utf-8")
    new.replace(path)


def origin(block: str) -> Origin | None:
    """What the caption of a block says; None where there is none yet."""
    for line in block.splitlines():
        if found := CAPTION.match(line):
            return Origin(found["commit"], found["carrier"])
    return None


def render(table: Table, kept: Sequence[Kept]) -> str:
    """Rows and caption."""
    head = ["scenario", "load", *(["neighbour"] if table.neighbours else [])]
    head += [column.title for column in table.columns]
    lines = [markdown(head), markdown(["---"] * len(head))]
    for item in kept:
        lines += [markdown(row) for row in _rows(table, item.report)]
    return "\n".join([*lines, "", caption(table, kept)])


def markdown(texts: Sequence[str]) -> str:
    """One row of a table."""
    return f"| {' | '.join(texts)} |"


def _rows(table: Table, report: Json) -> Iterator[list[str]]:
    head = [f"{report['about']} (`{report['scenario']}`)", f"{report['load']:.0%}"]
    results = {result["cc"]: result for result in report["results"]}
    if not table.neighbours:
        yield [*head, *(_cell(column, results, "") for column in table.columns)]
        return
    for flow in report["results"][0]["flows"]:
        name = flow["name"]
        cells = [_cell(column, results, name) for column in table.columns]
        yield [*head, f"{name} ({flow['kind']})", *cells]


def _cell(column: Column, results: dict[str, Json], neighbour: str) -> str:
    return " / ".join(column.cell(results[cc], neighbour) for cc in column.ccs)


def caption(table: Table, kept: Sequence[Kept]) -> str:
    """Everything that a reader needs to measure it again."""
    rate, iterations = kept[0].report["rate_mbps"], table.place.iterations
    protocol = [f"{rate:g} Mb/s", SEEDS_SAID, f"{iterations} iterations"]
    words = [*origin_words(kept), *protocol, dates(kept)]
    return f"{', '.join(words)}: `tests/bench/results {table.name}`."


def origin_words(kept: Sequence[Kept]) -> list[str]:
    """Of what, and where; the first two are also for machines."""
    return [
        f"Commit `{kept[0].commit}`",
        f"carrier {kept[0].report['carrier']}",
        f"Linux {_one_of(item.report['kernel'] for item in kept)}",
        _one_of(item.cpus for item in kept),
    ]


def dates(kept: Sequence[Kept]) -> str:
    """From when to when."""
    days = sorted({item.date for item in kept})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _one_of(values: Iterator[str]) -> str:
    return " and ".join(sorted(set(values)))
