# SPDX-License-Identifier: GPL-2.0
"""Which spine each flow of a leaf-spine network goes by, chosen by who knows all of them."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

ROUNDS = 12
SWAPS = 12  # with others, that are tried for a flow in a round
# Among plans with the same slowdowns: evenly loaded links.
EVEN = 1e-4

Link = tuple[int, int, int]  # a rack's, 0: up, 1: down, to or from a spine


class Ring(NamedTuple):
    """Whose it is, the part of all weight that job has, and how much of the time it would send."""

    owner: int
    weight: float
    duty: float


class Flow(NamedTuple):
    """Of a ring, between two racks."""

    ring: int
    sends: int
    receives: int


class Plan:
    """Flows of the rings; those within a rack have no spine.

    The best plan is the one with the least slowdown, by weight, if others' phases came at random
    and links were shared fairly: a phase takes as many times as long as there are flows on its
    busiest link, each counted by its duty.  Found by local search, so it need not be the best.
    """

    def __init__(self, rings: Sequence[Ring], flows: Sequence[Flow], spines: int) -> None:
        self.rings, self.flows, self.spines = rings, flows, spines
        self.cross = [i for i, flow in enumerate(flows) if flow.sends != flow.receives]
        self.at: dict[int, int] = {}
        self.on: dict[Link, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self.load: dict[Link, float] = defaultdict(float)
        self.of_ring: dict[int, list[int]] = defaultdict(list)
        self.of_owner: dict[int, list[int]] = defaultdict(list)
        for i in self.cross:
            self.of_ring[flows[i].ring].append(i)
        for number, ring in enumerate(rings):
            self.of_owner[ring.owner].append(number)

    def links(self, i: int, spine: int) -> tuple[Link, Link]:
        """That a flow goes by on its way over this spine."""
        _, sends, receives = self.flows[i]
        return (sends, 0, spine), (receives, 1, spine)

    def put(self, i: int, spine: int) -> None:
        """A flow that is nowhere yet."""
        ring = self.flows[i].ring
        self.at[i] = spine
        for link in self.links(i, spine):
            self.on[link][ring] += 1
            self.load[link] += self.rings[ring].duty

    def drop(self, i: int) -> None:
        """The same flow is nowhere again."""
        ring = self.flows[i].ring
        for link in self.links(i, self.at[i]):
            self.load[link] -= self.rings[ring].duty
            self.on[link][ring] -= 1
            if not self.on[link][ring]:
                del self.on[link][ring]

    def slowdown(self, ring: int) -> float:
        """Over the time it would take with links of its own."""
        duty, worst = self.rings[ring].duty, 1.0
        for i in self.of_ring[ring]:
            for link in self.links(i, self.at[i]):
                own = self.on[link][ring]
                others = self.load[link] - own * duty
                worst = max(worst, 1 - duty + duty * (own + others))
        return worst

    def slowdowns(self, rings: Iterable[int]) -> float:
        """What the jobs that these are of, each as slow as its slowest ring, add to the mean."""
        owners = {self.rings[ring].owner for ring in rings}
        return sum(
            self.rings[self.of_owner[owner][0]].weight
            * max(self.slowdown(ring) for ring in self.of_owner[owner])
            for owner in owners
        )

    def _cost(self, rings: set[int], links: set[Link]) -> float:
        uneven = sum(self.load[link] ** 2 for link in links)
        return self.slowdowns(rings) + EVEN * uneven

    def _move(self, moves: Sequence[tuple[int, int]]) -> bool:
        """Flows to spines, if that is better; returns whether it is."""
        old = [(i, self.at[i]) for i, _ in moves]
        links = {link for move in (*moves, *old) for link in self.links(*move)}
        rings = {ring for link in links for ring in self.on[link]}
        before = self._cost(rings, links)
        self._to(moves)
        if self._cost(rings, links) < before - 1e-12:
            return True
        self._to(old)
        return False

    def _to(self, moves: Sequence[tuple[int, int]]) -> None:
        for i, _ in moves:
            self.drop(i)
        for i, spine in moves:
            self.put(i, spine)

    def begin(self) -> None:
        """Longest duty first, each apart from its ring's others and where least is."""

        def taken(i: int, spine: int) -> tuple[int, float]:
            ring, links = self.flows[i].ring, self.links(i, spine)
            own = sum(self.on[link].get(ring, 0) for link in links)
            return own, sum(self.load[link] for link in links)

        for i in sorted(self.cross, key=lambda i: -self.rings[self.flows[i].ring].duty):
            self.put(i, min(range(self.spines), key=lambda spine: taken(i, spine)))

    def improve(self, rng: random.Random) -> bool:
        """A round: each flow may move, or change places with others of its racks."""
        better = False
        order = self.cross[:]
        rng.shuffle(order)
        for i in order:
            for spine in range(self.spines):
                better |= spine != self.at[i] and self._move([(i, spine)])
            for other in self._others(i, rng):
                if self.at[other] != self.at[i]:
                    better |= self._move([(i, self.at[other]), (other, self.at[i])])
        return better

    def _others(self, i: int, rng: random.Random) -> list[int]:
        def meets(a: Flow, b: Flow) -> bool:
            return a.sends == b.sends or a.receives == b.receives

        flow, at = self.flows[i], self.at[i]
        found = [k for k in self.cross if self.at[k] != at and meets(self.flows[k], flow)]
        return rng.sample(found, min(SWAPS, len(found)))


def planned(rings: Sequence[Ring], flows: Sequence[Flow], spines: int, seed: int) -> Plan:
    """The best that is found."""
    plan, rng = Plan(rings, flows, spines), random.Random(f"{seed} plan")
    plan.begin()
    for _ in range(ROUNDS):
        if not plan.improve(rng):
            break
    return plan
