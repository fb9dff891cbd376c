# SPDX-License-Identifier: GPL-2.0
"""TMDML's tables (Yang et al., ICC '21; rdma/dcqcn/tmdml.h has the title)."""

import argparse
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from mlcclab.errors import UsageError

from .engine import INSTANT_S, Run, simulate
from .papers import Json, sized, table, with_half
from .scenario import Scenario, goodput_bps

MODELS = {"ResNet50": 97_700_000, "AlexNet": 240_000_000, "VGG-16": 527_800_000}

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

# Tables I and II: marks of switches 9, 13, 17, 15, 12, on the way from server 1 to 8; CNPs of the
# flows from servers 1 to 7.
ECN = {"PS": (126, 230, 0, 286, 118058), "All-reduce": (42348, 49949, 0, 32726, 38091)}
CNP = {
    "PS": (12477, 12525, 12487, 12489, 12368, 12410, 12464),
    "All-reduce": (1966, 1931, 2116, 1991, 1083, 1103, 1043),
}
SERVER = 7  # number 8


def bound_s(scenario: Scenario, seed: int) -> float:
    """What the link with most flows needs for both rounds; a BCube's host has two links."""
    found = simulate(scenario, Run("dcqcn", seed), detail=1, stop_s=INSTANT_S)["network"]["flows"]
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


def first_round(kind: str, seed: int, nbytes: int = MODELS["VGG-16"]) -> Json:
    """All gradients to the parameter server, or each shard to its host."""
    scenario = sized("tmdml-fat-tree-8", nbytes)
    job = scenario.jobs[0]
    if kind == "All-reduce":
        return simulate(scenario, Run("dcqcn", seed), detail=1, workload="all-to-all")
    # a pair for each worker, all to one host
    pair = job.values | {"workload": "pair", "hosts": 2}
    pairs = tuple(replace(job, name=f"w{i}", values=pair) for i in range(SERVER))
    where = tuple((i, SERVER) for i in range(SERVER))
    workers = replace(scenario, jobs=pairs, placed=where)
    return simulate(workers, Run("dcqcn", seed), detail=1)


def _counts(kind: str, seed: int) -> tuple[list[int], list[int]]:
    network = first_round(kind, seed)["network"]
    flows = sorted((f for f in network["flows"] if f["to"] == SERVER), key=lambda f: f["from"])
    marked = {switch["node"]: switch["marked"] for switch in network["switches"]}
    return [marked[node] for node in flows[0]["path"]], [flow["cnps"] for flow in flows]


def marks(options: argparse.Namespace) -> None:
    """Tables I and II."""
    found = {kind: [_counts(kind, seed) for seed in options.seeds] for kind in ECN}
    for part, paper, first in ((0, ECN, "switch"), (1, CNP, "server")):
        columns = ("9", "13", "17", "15", "12") if not part else tuple("1234567")
        rows: list[list[object]] = []
        for kind, theirs in paper.items():
            ours = zip(*(counts[part] for counts in found[kind]), strict=True)
            rows += [[kind, "paper", *theirs]]
            rows += [[kind, "ours", *(with_half(column, 0) for column in ours)]]
        table([first, "", *columns], rows)
    near = fmean(sum(cnps[4:]) / 3 for _, cnps in found["All-reduce"])
    far = fmean(sum(cnps[:4]) / 4 for _, cnps in found["All-reduce"])
    print(f"CNPs of flows from the other pod, over those of this pod's: {far / near:.2f}")
