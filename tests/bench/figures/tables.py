# SPDX-License-Identifier: GPL-2.0
"""The tables: which scenarios, under which congestion controls, and what is said of each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import cells
from .cells import Json

ROOT = Path(__file__).resolve().parents[3]
RESULTS = Path("Documentation/results.md")
SHIPPED = ROOT / "tests" / "lab" / "scenarios"
SEEDS = range(1, 6)  # of every measurement


@dataclass(frozen=True)
class Place:
    """Where a table is measured, and by which protocol: the same for all that is measured there."""

    name: str
    iterations: int
    kernel: str | None = None  # of a virtual machine; None: the running one
    scale: float = 1.0
    scenarios: Path = SHIPPED


@dataclass(frozen=True)
class Column:
    """One figure, of one congestion control or of several with a slash between them."""

    title: str
    cell: Callable[[Json, str], str]
    ccs: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """What lies between the markers of its name in its file."""

    name: str
    file: Path
    title: str
    place: Place
    scenarios: tuple[str, ...]
    columns: tuple[Column, ...]
    neighbours: bool = False  # a row for each ordinary flow, not for each scenario


@dataclass(frozen=True)
class Measurement:
    """One run of mlcc-lab: a scenario with all that any table wants of it."""

    scenario: str
    place: Place
    ccs: tuple[str, ...]

    @property
    def file(self) -> Path:
        """Of the scenario."""
        return self.place.scenarios / f"{self.scenario}.toml"


NATIVE = Place("native", iterations=24)
# 1 Gb/s is more than an emulated CPU carries. Behind fair queueing jobs take 16 iterations to fit.
GUEST = Place("6.12", iterations=40, kernel="6.12", scale=0.2)

ANNOUNCED = "mlcc+hints"
BASE = "mlcc:neutral"
JOBS = ("cubic", "mlcc", ANNOUNCED)
WITH_BASE = ("cubic", BASE, "mlcc")
IN_GUEST = ("cubic", "dctcp", "mlcc")

SHOWN = (
    "three-equal-98",
    "six-equal",
    "unequal",
    "ecn",
    "loss-001",
    "two-way",
)


def _slowdowns(**titles: str) -> tuple[Column, ...]:
    """A column for each congestion control, by its title."""
    return tuple(Column(title, cells.slowdown, (cc,)) for title, cc in titles.items())


TABLES = (
    Table(
        "fit",
        RESULTS,
        "jobs that fit together",
        NATIVE,
        (*SHOWN, "noise-10"),
        (
            *_slowdowns(cubic="cubic", mlcc="mlcc", announced=ANNOUNCED),
            Column("p99", cells.slowdown_p99, JOBS),
            Column("converged", cells.converged, ("mlcc", ANNOUNCED)),
            Column("retransmits per MB", cells.resent, JOBS),
        ),
    ),
    Table(
        "others",
        RESULTS,
        "other congestion controls",
        NATIVE,
        ("three-equal-98",),
        _slowdowns(
            cubic="cubic",
            reno="reno",
            bbr="bbr",
            hotnets22="mlcc:hotnets22",
            mltcp="mlcc:mltcp",
            mlcc="mlcc",
        ),
    ),
    Table(
        "misfits",
        RESULTS,
        "jobs that do not fit, and false claims",
        NATIVE,
        ("incompatible", "nonharmonic-110", "nonharmonic-120", "false-claim-small"),
        (
            *_slowdowns(cubic="cubic", base=BASE, mlcc="mlcc"),
            Column("worst job", cells.worst_job, WITH_BASE),
            Column("p99", cells.slowdown_p99, WITH_BASE),
        ),
    ),
    Table(
        "neighbours",
        RESULTS,
        "traffic that is not ours",
        NATIVE,
        ("beside-bulk", "beside-tcp"),
        (
            Column("slowdown of the job", cells.slowdown, WITH_BASE),
            Column("harm to the neighbour", cells.harm, WITH_BASE),
            Column("neighbour beside mlcc / cubic", cells.beside_cubic, ("mlcc",)),
        ),
        neighbours=True,
    ),
    Table(
        "guest",
        RESULTS,
        "in a virtual machine, with the module",
        GUEST,
        ("fq-codel", "ecn"),
        (
            *_slowdowns(cubic="cubic", dctcp="dctcp", mlcc="mlcc"),
            Column("p99", cells.slowdown_p99, IN_GUEST),
            Column("retransmits per MB", cells.resent, IN_GUEST),
        ),
    ),
)


def measurements(table: Table) -> Iterator[Measurement]:
    """What has to be measured for a table."""
    for scenario in table.scenarios:
        yield Measurement(scenario, table.place, _all_ccs(scenario, table.place))


def _all_ccs(scenario: str, place: Place) -> tuple[str, ...]:
    """Of all tables, so that a scenario is measured once, with everything taking turns."""
    wanted = [
        cc
        for table in TABLES
        if table.place == place and scenario in table.scenarios
        for column in table.columns
        for cc in column.ccs
    ]
    return tuple(dict.fromkeys(wanted))
