# SPDX-License-Identifier: GPL-2.0
"""A static order of two jobs, by the T of their DCQCN, against the same T for both.

Congestion Control in Machine Learning Clusters (HotNets '22), figures 1 and 2.
"""

import argparse
from collections.abc import Iterable
from itertools import accumulate
from statistics import fmean, median

from mlcclab.stats import settled

from .cli import find
from .engine import Run, simulate
from .papers import Json, table, with_half

SCENARIO = "hotnets-first"
APART = 0.1  # of the shorter phase may overlap

Span = tuple[float, float]


def phases(job: Json) -> list[Span]:
    """When it sends: what it says of its iterations begins with computing."""
    ends = accumulate(job["iterations_s"])
    return [(end - sends, end) for end, sends in zip(ends, job["communication_s"], strict=True)]


def overlaps(one: list[Span], other: list[Span]) -> list[float]:
    """Of each of one's phases, the part in which the other sends, too."""
    return [
        sum(max(0.0, min(end, e) - max(begin, b)) for b, e in other) / (end - begin)
        for begin, end in one
    ]


def apart(jobs: list[Json]) -> int:
    """The first iteration from which phases stay apart; one more than there are: none."""
    met = [
        number
        for one, other in (jobs, jobs[::-1])
        for number, part in enumerate(overlaps(phases(one), phases(other)), 1)
        if part >= APART
    ]
    return max(met, default=0) + 1


def compare(options: argparse.Namespace) -> None:
    """Each job's mean iteration over that of a static order, and when phases are apart."""
    scenario = find(SCENARIO)
    static = [simulate(scenario, Run("dcqcn", seed))["jobs"] for seed in options.seeds]

    def row(name: str, cc: str) -> list[str]:
        runs = [simulate(scenario, Run(cc, seed), job_timer=0)["jobs"] for seed in options.seeds]
        return [name, *_faster(runs, static), _span(map(apart, runs))]

    names = [job.name for job in scenario.jobs]
    head = [SCENARIO, *(f"{name}, {what}" for what in ("all", "first four") for name in names)]
    table(
        [*head, "apart from iteration"],
        [
            row("plain DCQCN", "dcqcn"),
            row("`interleave`", "interleave"),
            ["the static order", *_faster(static, static), _span(map(apart, static))],
        ],
    )
    first = [[job["communication_s"][0] for job in jobs] for jobs in static]
    print("first phases, ms:", *(with_half([1e3 * one[i] for one in first]) for i in (0, 1)))


def _faster(runs: list[list[Json]], static: list[list[Json]]) -> list[str]:
    """Of all iterations but the first quarter, then of the first four."""
    return [
        with_half(
            [
                fmean(of(one[job]["iterations_s"])) / fmean(settled(other[job]["iterations_s"]))
                for one, other in zip(runs, static, strict=True)
            ],
            3,
        )
        for of in (settled, lambda times: times[:4])
        for job in (0, 1)
    ]


def _span(numbers: Iterable[int]) -> str:
    """The median, least and most."""
    found = list(numbers)
    return f"{median(found):g} ({min(found)} to {max(found)})"
