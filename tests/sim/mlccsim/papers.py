# SPDX-License-Identifier: GPL-2.0
"""What the measurements of tests/sim/papers share."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from mlcclab.interval import estimate

from . import report
from .cli import find
from .scenario import Scenario, Step

Json = dict[str, Any]

# TMDML's, and how many hosts its job has there.
NETWORKS: dict[str, tuple[Json, int]] = {
    "tmdml-fat-tree-8": ({"kind": "fat-tree", "k": 4}, 8),
    "tmdml-fat-tree-128": ({"kind": "fat-tree", "k": 8}, 128),
    "tmdml-bcube-9": ({"kind": "bcube", "n": 3}, 9),
    "tmdml-bcube-121": ({"kind": "bcube", "n": 11}, 121),
}


def sized(name: str, nbytes: int) -> Scenario:
    """One iteration of TMDML's job on one of them, that sends so much and computes nothing.

    Its hosts leave after that: else the first ones would send the next one's bytes beside it.
    """
    scenario = find("tmdml-fat-tree-8")
    topology, hosts = NETWORKS[name]
    job, links = scenario.jobs[0], {key: scenario.topology[key] for key in ("rate", "delay")}
    job = replace(
        job, steps=(Step(0.0, nbytes),), values=job.values | {"leaves": True, "hosts": hosts}
    )
    return replace(scenario, name=name, topology=topology | links, jobs=(job,), iterations=1)


def with_half(values: Sequence[float], digits: int = 1) -> str:
    """A mean and its 95 % interval."""
    return report.with_half(vars(estimate(values)), digits)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Markdown, a row as soon as it is there."""
    for row in chain((head, ["---"] * len(head)), rows):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print()
