# SPDX-License-Identifier: BSD-2-Clause
"""Chooses among placements: the question that a cluster's scheduler asks.

A candidate says which routes, and which GPUs, some jobs would have. Each is solved, and they are
ranked as CASSINI does, by the mean score of the links; before that, by whether everything fits.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import problem, reader, report
from .errors import PlanError
from .layout import Layout, Options
from .problem import Job, Link, Problem
from .reader import Field
from .solve import limit_s, solve

CANDIDATES_MAX = 1000

MOVED = {"routes": Field(problem.ROUTES), "gpus": problem.JOB["gpus"]}


def _moves(where: str, value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict):
        raise PlanError(f"{where}: {reader.quoted(value)} is not an object")
    return {
        reader.name(where, name): reader.table(f"{where}.{name}", table, MOVED)
        for name, table in value.items()
    }


CANDIDATE = {
    "name": Field(reader.name, required=True),
    "jobs": Field(_moves, required=True),
}
DOCUMENT = problem.DOCUMENT | {
    "candidates": Field(
        reader.each(lambda where, value: reader.table(where, value, CANDIDATE), 1, CANDIDATES_MAX),
        required=True,
    )
}


@dataclass(frozen=True)
class Candidate:
    """A placement, and the problem that it makes."""

    name: str
    problem: Problem


def from_json(document: Any) -> list[Candidate]:
    """Every candidate is checked before one is solved."""
    read = reader.table("problem", document, DOCUMENT)
    links = problem.links_of(read["links"])
    names = [table["name"] for table in read["jobs"]]
    reader.unique("jobs", names)
    reader.unique("candidates", [table["name"] for table in read["candidates"]])
    return [_candidate(table, read["jobs"], links) for table in read["candidates"]]


def _candidate(
    table: Mapping[str, Any], jobs: tuple[Mapping[str, Any], ...], links: Mapping[str, Link]
) -> Candidate:
    moves, where = table["jobs"], f"candidate {table['name']}"
    known = {job["name"] for job in jobs}
    for name in moves:
        if name not in known:
            raise PlanError(f"{where}: there is no job {name}")
    try:
        placed = tuple(_placed(job, moves.get(job["name"], {}), links) for job in jobs)
    except PlanError as error:
        raise PlanError(f"{where}: {error}") from None
    return Candidate(table["name"], Problem(placed, tuple(links.values())))


def _placed(job: Mapping[str, Any], move: Mapping[str, Any], links: Mapping[str, Link]) -> Job:
    return problem.job_of({**job, **{key: value for key, value in move.items() if value}}, links)


def rank(candidates: list[Candidate], options: Options) -> report.Json:
    """Solve them all; the best is first."""
    begun, results = time.monotonic(), []
    for candidate in candidates:
        # the time that one problem would have is for all of them
        limit = limit_s(options, len(candidate.problem.jobs))
        share = replace(options, limit_s=limit / len(candidates))
        solved = report.document(solve(Layout(candidate.problem, share)))
        results.append({"name": candidate.name, **solved})
    results.sort(key=_key)
    return {
        "best": results[0]["name"],
        "seconds": round(time.monotonic() - begun, 3),
        "candidates": results,
    }


def _key(result: report.Json) -> tuple[Any, ...]:
    return (
        not result["feasible"],
        result["compatible"] is not True,
        -result["score_mean"],
        -result["score_min"],
        result["name"],
    )


def text(ranked: report.Json) -> str:
    """A line for each candidate."""
    rows = [["CANDIDATE", "FITS", "MEAN", "WORST", "AT MOST", "PROVEN"]]
    words = {True: "yes", False: "no", None: "unknown"}
    for one in ranked["candidates"]:
        rows.append(
            [
                one["name"],
                words[one["compatible"]] if one["feasible"] else "no: GPU",
                *(f"{one[key]:.4f}" for key in ("score_mean", "score_min", "score_bound")),
                words[one["proven"]],
            ]
        )
    return report.align(rows)
