# SPDX-License-Identifier: BSD-2-Clause
"""Who sends to whom: tells jobs apart, and names the pattern of one.

An edge is a pair of endpoints one of which sends a good part of what either of them sends anyone.
So control connections, and a host that watches all others, are none. Jobs that have no edge in
common are different jobs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .errors import PlanError
from .layout import connected
from .traffic import Floats, Traffic

EDGE = 0.05  # of the bytes of an endpoint's greatest pair: smaller ones are control traffic
LARGE = 0.1  # of a job's greatest pair: smaller ones are not its pattern
JOB = 0.01  # of all bytes: what sends less is no job
LISTED = 4  # endpoints in a sentence

Pair = tuple[str, str]


@dataclass(frozen=True)
class Pattern:
    """The name of a pattern, and what it rests on."""

    name: str
    basis: str
    partial: bool = False  # the capture may have one endpoint's traffic only


def split(traffic: Traffic) -> list[Traffic]:
    """The jobs in a capture, the one that sends most first."""
    pairs = _pairs(traffic)
    greatest: Counter[str] = Counter()
    for pair, nbytes in pairs.items():
        for end in pair:
            greatest[end] = max(greatest[end], nbytes)
    edges = [
        pair
        for pair, nbytes in pairs.items()
        if nbytes >= EDGE * max(greatest[end] for end in pair) and nbytes > 0
    ]
    found = [among(traffic, hosts) for hosts in connected(edges)]
    least = JOB * traffic.payload.sum()
    found = [one for one in found if one.payload.sum() >= least]
    return sorted(found, key=lambda one: -float(one.payload.sum())) or [traffic]


def among(traffic: Traffic, hosts: Iterable[str]) -> Traffic:
    """What these endpoints send each other."""
    known = set(hosts)
    ours = np.array([flow.sender in known and flow.receiver in known for flow in traffic.flows])
    chosen = ours[traffic.flow]
    if not chosen.any():
        raise PlanError(f"no frames among {', '.join(sorted(known))[:80]}")
    return traffic.of(chosen)


def _pairs(traffic: Traffic) -> dict[Pair, float]:
    """Bytes by sender and receiver."""
    sums = np.bincount(traffic.flow, traffic.payload, len(traffic.flows))
    pairs: dict[Pair, float] = defaultdict(float)
    for flow, nbytes in zip(traffic.flows, sums.tolist(), strict=True):
        pairs[flow.sender, flow.receiver] += nbytes
    return pairs


class Graph:
    """Endpoints of one job, its large pairs, and when in an iteration they send."""

    def __init__(self, traffic: Traffic, phase: Floats) -> None:
        self._traffic, self._phase = traffic, phase
        pairs = {pair: nbytes for pair, nbytes in _pairs(traffic).items() if nbytes > 0}
        least = LARGE * max(pairs.values(), default=0)
        self.large = {pair for pair, nbytes in pairs.items() if nbytes >= least}
        self.hosts = sorted({end for pair in self.large for end in pair})
        self._flows = [traffic.flows[index] for index in np.unique(traffic.flow).tolist()]
        self.both_ways = all((b, a) in self.large for a, b in self.large)
        # of each endpoint, whichever way the bytes go
        self.peers: dict[str, set[str]] = {host: set() for host in self.hosts}
        for one, other in self.large:
            self.peers[one].add(other)
            self.peers[other].add(one)
        self.edges = sum(map(len, self.peers.values())) // 2

    @property
    def hub(self) -> str | None:
        """The endpoint that every large pair has."""
        hubs = [host for host in self.hosts if len(self.peers[host]) == len(self.hosts) - 1]
        return hubs[0] if hubs and self.edges == len(self.hosts) - 1 else None

    @property
    def one_view(self) -> str | None:
        """The endpoint that every frame has: the capture may be its own, and miss the rest."""
        ends = [{flow.sender, flow.receiver} for flow in self._flows]
        return min(set.intersection(*ends), default=None)

    @property
    def circle(self) -> str:
        """To whom each endpoint of a ring sends; nobody, if it is none.

        Three endpoints both ways round cannot be told from a clique.
        """
        count = len(self.hosts)
        if self.both_ways and count > 3 and all(len(peers) == 2 for peers in self.peers.values()):
            steps, way = self.peers, "both neighbours"
        elif len(self.large) == count:
            steps, way = (
                {host: {b for a, b in self.large if a == host} for host in self.hosts},
                "the next",
            )
        else:
            return ""
        here, been = self.hosts[0], {self.hosts[0]}
        while left := steps[here] - been:
            been.add(here := min(left))
        return way if len(been) == count else ""

    @property
    def servers(self) -> tuple[list[str], list[str]] | None:
        """Two groups, all across and none within: the smaller one, and the other."""
        ours = set(self.hosts) - self.peers[self.hosts[0]]
        few, many = sorted(
            (sorted(ours), sorted(set(self.hosts) - ours)), key=lambda g: (len(g), g)
        )
        across = len(few) * len(many) == self.edges
        within = any(self.peers[host] & set(group) for group in (few, many) for host in group)
        return (few, many) if len(few) > 1 and across and not within else None

    def gathers(self, hub: str) -> bool:
        """Whether the hub has most of each endpoint's bytes before it sends that one any."""
        return all(
            self._quartile(peer, hub, 0.75) <= self._quartile(hub, peer, 0.25)
            for peer in self.peers[hub]
        )

    def _quartile(self, sender: str, receiver: str, part: float) -> float:
        """Until when in the iteration that part of the bytes is sent."""
        wanted = [flow[:2] == (sender, receiver) for flow in self._traffic.flows]
        chosen = np.array(wanted)[self._traffic.flow] & np.isfinite(self._phase)
        phase = self._phase[chosen]
        order = phase.argsort()
        nbytes = self._traffic.payload[chosen][order].cumsum()
        if not len(nbytes) or nbytes[-1] <= 0:
            return float("nan")
        return float(phase[order][np.searchsorted(nbytes, part * nbytes[-1])])

    def port_of(self, hub: str) -> int:
        """The one port of the hub to which all others connect from ports of their own; or 0."""
        ours, theirs = set(), set()
        for flow in self._flows:
            if flow[:2] in self.large:
                away = flow.sender == hub
                ours.add(flow.sender_port if away else flow.receiver_port)
                theirs.add(flow.receiver_port if away else flow.sender_port)
        return ours.pop() if len(ours) == 1 and len(theirs) > 1 and ours != theirs else 0


def pattern(traffic: Traffic, phase: Floats) -> Pattern:
    """Of one job; the phase of each sample is since its iteration began, in any unit."""
    graph = Graph(traffic, phase)
    count, both_ways = len(graph.hosts), graph.both_ways
    if count == 2:
        way = "to each other" if both_ways else "one way"
        return Pattern("pair", f"two endpoints, which send {way}")
    if count > 2 and (way := graph.circle):
        return Pattern("ring", f"{count} endpoints in a circle, each sends to {way}")
    if count > 2 and len(graph.large) == count * (count - 1):
        return Pattern("clique", f"{count} endpoints, each sends to all others: all-to-all")
    view, hub = graph.one_view, graph.hub
    if both_ways and hub and (not view or graph.gathers(hub)):
        others = f"{count - 1} endpoints send to {hub} only, and it answers each"
        if port := graph.port_of(hub):
            return Pattern("parameter-server", f"{others}; all connect to its port {port}")
        return Pattern("star", f"{others}; without a port that all connect to")
    if view and count > 2:
        return _one_view(graph, view)
    if both_ways and count > 3 and (groups := graph.servers):
        few, many = groups
        basis = (
            f"{len(many)} endpoints, each exchanges with all of {_listed(few)}, none with another"
        )
        return Pattern("parameter-server", basis)
    if both_ways and count > 3 and graph.edges == count - 1:
        inner = _listed([host for host in graph.hosts if len(graph.peers[host]) > 1])
        basis = f"{count} endpoints, {graph.edges} pairs without a circle, inner {inner}"
        return Pattern("tree", basis)
    ways = "both ways" if both_ways else "one way or both"
    return Pattern("unknown", f"{count} endpoints, {graph.edges} pairs, {ways}")


def _one_view(graph: Graph, host: str) -> Pattern:
    return Pattern(
        "unknown",
        f"every frame is from or to {host}: a capture of one host, which sends to "
        f"{sum(a == host for a, _ in graph.large)} and receives from "
        f"{sum(b == host for _, b in graph.large)}; capture at a switch, or at all hosts",
        partial=True,
    )


def _listed(hosts: Sequence[str]) -> str:
    return ", ".join(hosts[:LISTED]) + ("..." if len(hosts) > LISTED else "")
