# SPDX-License-Identifier: BSD-2-Clause
"""Who sends to whom: tells jobs apart, and names the pattern of one.

An edge is a pair of endpoints one of which sends a good part of what either of them sends anyone.
So control connections, and a host that watches all others, are none. Jobs that have no edge in
common are different jobs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .errors import PlanError
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
    found = [among(traffic, hosts) for hosts in _components(edges)]
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


def _components(edges: Iterable[Pair]) -> list[set[str]]:
    joined: dict[str, set[str]] = {}
    for edge in edges:
        whole = set(edge).union(*(joined.get(end, ()) for end in edge))
        joined.update(dict.fromkeys(whole, whole))
    return list({id(one): one for one in joined.values()}.values())


class Graph:
    """Endpoints of one job, its large pairs, and when in an iteration they send."""

    def __init__(self, traffic: Traffic, phase: Floats) -> None:
        self._traffic, self._phase = traffic, phase
        pairs = {pair: nbytes for pair, nbytes in _pairs(traffic).items() if nbytes > 0}
        least = LARGE * max(pairs.values(), default=0)
        self.large = {pair for pair, nbytes in pairs.items() if nbytes >= least}
        self.hosts = sorted({end for pair in self.large for end in pair})
        seen = np.unique(traffic.flow).tolist()
        self._flows = [traffic.flows[index] for index in seen]

    @cached_property
    def peers(self) -> Mapping[str, set[str]]:
        """Of each endpoint, whichever way the bytes go."""
        peers: dict[str, set[str]] = {host: set() for host in self.hosts}
        for one, other in self.large:
            peers[one].add(other)
            peers[other].add(one)
        return peers

    @cached_property
    def both_ways(self) -> bool:
        return all((b, a) in self.large for a, b in self.large)

    @cached_property
    def hub(self) -> str | None:
        """The endpoint that every large pair has."""
        hubs = [host for host in self.hosts if len(self.peers[host]) == len(self.hosts) - 1]
        edges = sum(map(len, self.peers.values())) // 2
        return hubs[0] if hubs and edges == len(self.hosts) - 1 else None

    @cached_property
    def one_view(self) -> str | None:
        """The endpoint that every frame has: the capture may be its own, and miss the rest."""
        ends = [{flow.sender, flow.receiver} for flow in self._flows]
        common = set.intersection(*ends) if ends else set()
        return min(common, default=None) if len(self.hosts) > 2 else None

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
    for kind in (_pair, _ring, _clique, _star, _servers, _tree):
        if found := kind(graph):
            return found
    if graph.one_view:
        return _one_view(graph, graph.one_view)
    directions = "both ways" if graph.both_ways else "one way or both"
    count = sum(map(len, graph.peers.values())) // 2
    return Pattern("unknown", f"{len(graph.hosts)} endpoints, {count} pairs, {directions}")


def _one_view(graph: Graph, host: str) -> Pattern:
    return Pattern(
        "unknown",
        f"every frame is from or to {host}: a capture of one host, which sends to "
        f"{sum(a == host for a, _ in graph.large)} and receives from "
        f"{sum(b == host for _, b in graph.large)}; capture at a switch, or at all hosts",
        partial=True,
    )


def _pair(graph: Graph) -> Pattern | None:
    if len(graph.hosts) != 2:
        return None
    way = "to each other" if graph.both_ways else "one way"
    return Pattern("pair", f"two endpoints, which send {way}")


def _ring(graph: Graph) -> Pattern | None:
    """Each to the next; or both ways round, which three endpoints cannot be told from a clique."""
    count = len(graph.hosts)
    if graph.both_ways and count > 3 and all(len(peers) == 2 for peers in graph.peers.values()):
        steps = graph.peers
        way = "both neighbours"
    elif count > 2 and len(graph.large) == count:
        steps = {host: {b for a, b in graph.large if a == host} for host in graph.hosts}
        way = "the next"
    else:
        return None
    if len(set(_walk(steps))) != count:
        return None
    return Pattern("ring", f"{count} endpoints in a circle, each sends to {way}")


def _walk(steps: Mapping[str, set[str]]) -> Iterator[str]:
    """From an endpoint on, as long as there is one that was not there before."""
    here: str | None = next(iter(steps))
    been: set[str] = set()
    while here is not None:
        been.add(here)
        yield here
        here = min(steps[here] - been, default=None)


def _clique(graph: Graph) -> Pattern | None:
    count = len(graph.hosts)
    if count < 3 or len(graph.large) != count * (count - 1):
        return None
    return Pattern("clique", f"{count} endpoints, each sends to all others: all-to-all")


def _star(graph: Graph) -> Pattern | None:
    """Or one parameter server, to which all others connect."""
    hub = graph.hub
    if hub is None or len(graph.hosts) < 3 or not graph.both_ways:
        return None
    if graph.one_view and not graph.gathers(hub):
        return None
    others = f"{len(graph.hosts) - 1} endpoints send to {hub} only, and it answers each"
    if port := graph.port_of(hub):
        return Pattern("parameter-server", f"{others}; all connect to its port {port}")
    return Pattern("star", f"{others}; without a port that all connect to")


def _servers(graph: Graph) -> Pattern | None:
    """Several parameter servers: two groups, all across, none within."""
    if not graph.both_ways or len(graph.hosts) < 4 or graph.one_view:
        return None
    ours = {graph.hosts[0]} | (set(graph.hosts) - graph.peers[graph.hosts[0]])
    groups = sorted((ours, set(graph.hosts) - ours), key=lambda group: (len(group), sorted(group)))
    few, many = groups
    if len(few) < 2 or any(graph.peers[host] != many for host in few):
        return None
    if any(graph.peers[host] != few for host in many):
        return None
    return Pattern(
        "parameter-server",
        f"{len(many)} endpoints, each exchanges with all of {_listed(few)}, none with another",
    )


def _listed(hosts: Iterable[str]) -> str:
    names: Sequence[str] = sorted(hosts)
    return ", ".join(names[:LISTED]) + ("..." if len(names) > LISTED else "")


def _tree(graph: Graph) -> Pattern | None:
    count = len(graph.hosts)
    edges = sum(map(len, graph.peers.values())) // 2
    if count < 4 or not graph.both_ways or edges != count - 1 or graph.one_view:
        return None
    inner = [host for host in graph.hosts if len(graph.peers[host]) > 1]
    if len(inner) < 2:
        return None
    return Pattern(
        "tree", f"{count} endpoints, {edges} pairs without a circle, inner {_listed(inner)}"
    )
