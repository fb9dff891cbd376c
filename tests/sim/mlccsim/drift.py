# SPDX-License-Identifier: GPL-2.0
"""TMDML's Algorithm 1 (Yang et al., ICC '21, section III), as a number to hold simulations against.

In each slot problem (5) is to be solved: the least V phi + sum of Q_s (r_i of the flows through s),
where a weight n_i / sum n_j times what flow i still has to send, M_i, over its rate r_i is phi at
most, and no link has more than its capacity. n_i are the bottlenecks of its path, j the flows to
the same host. No flow is faster than it has to be where a queue waits, so r_i = w_i M_i / phi, and
what is left is one unknown: phi is as little as the links allow, or sqrt(A / V) with
A = sum of Q_i w_i M_i, if that is more. While no queue waits flows may have what others leave: phi
is made as small as it can be for them in turn, which is a weighted max-min share.

As no link is given more than its capacity, queues stay empty, and V does not matter. M_i is what
is left of the iteration, not of the round: else hosts that begin the second one early hold up those
that the first one's last flows come from.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

from .papers import line_rate, paths, simulate, sized, table, with_half
from .tmdml import MODELS, bound_s

Link = tuple[int, int]

SLOT_S = 1e-3
DONE = 1.0  # byte
SPARE = 1e-9  # of a link's capacity: nothing


@dataclass(frozen=True)
class Flow:
    """Its hosts, the links between them."""

    source: int
    to: int
    links: tuple[Link, ...]


def flow(nodes: Sequence[int]) -> Flow:
    """The one that goes this way."""
    return Flow(nodes[0], nodes[-1], tuple(pairwise(nodes)))


def weights(flows: Sequence[Flow]) -> list[float]:
    """n_i / sum n_j. Bottlenecks: a switch's links with as many flows as a host's; one at least."""
    load = Counter(link for f in flows for link in f.links)
    fans = max(Counter(f.to for f in flows).values())
    n = [max(1, sum(load[link] >= fans for link in f.links[1:])) for f in flows]
    total: Counter[int] = Counter()
    for f, count in zip(flows, n, strict=True):
        total[f.to] += count
    return [count / total[f.to] for f, count in zip(flows, n, strict=True)]


def least_phi(
    needs: Sequence[float], flows: Sequence[Flow], left: Callable[[Link], float]
) -> float:
    """The least that lets each flow have need / phi; left: a link's capacity."""
    load: dict[Link, float] = defaultdict(float)
    for need, f in zip(needs, flows, strict=True):
        for link in f.links:
            load[link] += need
    return max((need / left(link) for link, need in load.items()), default=0.0)


def solve(
    needs: Sequence[float], flows: Sequence[Flow], queues: Sequence[float], v: float, rate: float
) -> list[float]:
    """Problem (5): each flow's rate. needs: w_i M_i; queues: sum of Q_s on its way; v: V."""
    waits = sum(q * need for q, need in zip(queues, needs, strict=True))
    phi = max(least_phi(needs, flows, lambda _: rate), sqrt(waits / v))
    rates = [need / phi if phi else 0.0 for need in needs]
    used: dict[Link, float] = defaultdict(float)
    for r, f in zip(rates, flows, strict=True):
        for link in f.links:
            used[link] += r
    if waits:
        return rates
    return share(needs, flows, rates, {link: rate - gone for link, gone in used.items()}, rate)


def share(
    needs: Sequence[float],
    flows: Sequence[Flow],
    rates: list[float],
    left: dict[Link, float],
    rate: float,
) -> list[float]:
    """Of what is left, the flows that no full link stops, until one stops each."""

    def free(i: int) -> bool:
        return needs[i] > 0 and all(left[link] > SPARE * rate for link in flows[i].links)

    while going := [i for i in range(len(flows)) if free(i)]:
        phi = least_phi([needs[i] for i in going], [flows[i] for i in going], left.__getitem__)
        for i in going:
            rates[i] += needs[i] / phi
            for link in flows[i].links:
                left[link] -= needs[i] / phi
    return rates


def completion_s(
    flows: Sequence[Flow], nbytes: float, rate: float, weighed: Sequence[float]
) -> float:
    """Of scatter and gather, slot by slot; rate: bytes a second of each link."""
    left = [[nbytes, nbytes] for _ in flows]
    now = 0.0
    while any(max(rounds) > DONE for rounds in left):
        # the second round of a host's flows waits for all that comes to it in the first
        waits = {f.to for f, rounds in zip(flows, left, strict=True) if rounds[0] > DONE}
        turns = [
            0 if rounds[0] > DONE else int(rounds[1] > DONE and f.source not in waits) or None
            for f, rounds in zip(flows, left, strict=True)
        ]
        needs = [
            0.0 if turn is None else weight * sum(rounds[turn:])
            for turn, rounds, weight in zip(turns, left, weighed, strict=True)
        ]
        rates = solve(needs, flows, [0] * len(needs), 1, rate)
        going = [
            (rounds, turn, r)
            for rounds, turn, r in zip(left, turns, rates, strict=True)
            if turn is not None
        ]
        slot = min(SLOT_S, *(rounds[turn] / r for rounds, turn, r in going))
        for rounds, turn, r in going:
            rounds[turn] -= r * slot
        now += slot
    return now


def compare(options: argparse.Namespace) -> None:
    """Its completion times in ms, over the paths of each seed, and the simulated ones."""
    nbytes = MODELS["ResNet50"]
    scenario = sized("tmdml-fat-tree-8", nbytes)
    shard, rate = nbytes / scenario.jobs[0].values["hosts"], line_rate(scenario)

    def row(seed: int) -> list[float]:
        flows = [flow(nodes) for nodes in paths(scenario, seed)]
        models = (
            completion_s(flows, shard, rate, weighed)
            for weighed in (weights(flows), [1.0] * len(flows))
        )
        runs = (simulate(scenario, cc, seed)["simulated_s"] for cc in ("tmdml", "dcqcn"))
        return [1e3 * t for t in (*models, *runs, bound_s(scenario, seed))]

    columns = zip(*map(row, options.seeds), strict=True)
    head = ["Algorithm 1, ms", "with equal weights", "TMDML", "DCQCN", "bound"]
    table(head, [list(map(with_half, columns))])
