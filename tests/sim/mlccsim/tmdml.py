# SPDX-License-Identifier: GPL-2.0
"""TMDML's tables (Yang et al., ICC '21; rdma/dcqcn/tmdml.h has the title)."""

import argparse
from collections import Counter
from dataclasses import replace
from itertools import pairwise

from mlcclab.errors import UsageError

from .cli import find
from .engine import INSTANT_S, Run, simulate
from .papers import Json, table, with_half
from .scenario import Scenario, Step, goodput_bps

MODELS = {"ResNet50": 97_700_000, "AlexNet": 240_000_000, "VGG-16": 527_800_000}

# How many hosts the job has on each.
NETWORKS: dict[str, tuple[Json, int]] = {
    "tmdml-fat-tree-8": ({"kind": "fat-tree", "k": 4}, 8),
    "tmdml-fat-tree-128": ({"kind": "fat-tree", "k": 8}, 128),
    "tmdml-bcube-9": ({"kind": "bcube", "n": 3}, 9),
    "tmdml-bcube-121": ({"kind": "bcube", "n": 11}, 121),
}

# Tables IV and V: ms under DCQCN, under TMDML.
PAPER = {
    ("tmdml-fat-tree-8", "ResNet50"): (206.04, 139.89),
    ("tmdml-fat-tree-128", "ResNet50"): (392.72, 160.32),
    ("tmdml-fat-tree-8", "AlexNet"): (592.57, 349.69),
    ("tmdml-fat-tree-128", "AlexNet"): (934.16, 394.48),
    ("tmdml-fat-tree-8", "VGG-16"): (1236.63, 769.01),
    ("tmdml-fat-tree-128", "VGG-16"): (1972.64, 907.92),
    ("tmdml-bcube-9", "ResNet50"): (187.42, 162.68),
    ("tmdml-bcube-121", "ResNet50"): (197.28, 182.56),
    ("tmdml-bcube-9", "AlexNet"): (467.43, 353.82),
    ("tmdml-bcube-121", "AlexNet"): (487.6, 460.4),
    ("tmdml-bcube-9", "VGG-16"): (1063.69, 900.88),
    ("tmdml-bcube-121", "VGG-16"): (1134.72, 1060.4),
}
# What takes seconds and not minutes.
SMALL = ("tmdml-fat-tree-8", "tmdml-bcube-9")


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


def bound_s(scenario: Scenario, seed: int) -> float:
    """What the link with most flows needs for both rounds; a BCube's host has two links."""
    found = simulate(scenario, Run("dcqcn", seed), detail=1, stop=INSTANT_S)["network"]["flows"]
    ports = 2 if scenario.topology["kind"] == "bcube" else 1
    between = Counter(link for flow in found for link in pairwise(flow["path"]))
    host = max(Counter(flow["from"] for flow in found).values())
    shard = scenario.jobs[0].steps[0].bytes / scenario.jobs[0].values["hosts"]
    flows = max(*between.values(), host / ports)
    return 2 * flows * shard * 8 / goodput_bps(scenario)


def _row(name: str, model: str, seeds: range) -> list[object]:
    scenario = sized(name, MODELS[model])
    runs = [[simulate(scenario, Run(cc, seed)) for cc in ("dcqcn", "tmdml")] for seed in seeds]
    took = [[1e3 * run["jobs"][0]["iterations_s"][0] for run in pair] for pair in runs]
    dcqcn, tmdml = PAPER[name, model]
    return [
        model,
        name.removeprefix("tmdml-"),
        f"{dcqcn:.0f} to {tmdml:.0f}",
        f"{100 * (1 - tmdml / dcqcn):.1f}",
        *(with_half(column) for column in zip(*took, strict=True)),
        with_half([100 * (1 - ours / plain) for plain, ours in took]),
        with_half([1e3 * bound_s(scenario, seed) for seed in seeds]),
    ]


def completion(options: argparse.Namespace) -> None:
    """Tables IV and V."""
    wanted = [key for key in PAPER if key[0] in SMALL]
    if options.only:
        wanted = [tuple(options.only.split(":"))]
        if wanted[0] not in PAPER:
            raise UsageError(f"--only: one of {', '.join(map(':'.join, PAPER))}")
    head = ["model", "network", "paper, ms", "paper: less, %", "DCQCN, ms", "TMDML, ms"]
    rows = (_row(name, model, options.seeds) for name, model in wanted)
    table([*head, "less, %", "bound, ms"], rows)
