# SPDX-License-Identifier: GPL-2.0
"""Captures of jobs that nobody ran: who sends what is given, and noise is drawn."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from itertools import permutations
from typing import NamedTuple

import numpy as np

from common import Json
from mlccplan import profile, traffic
from mlccplan.traffic import Flow

FRAME_BYTES = 60_000  # of payload, as where a host has the NIC cut segments
ACK_EVERY = 4
TCP, UDP, ROCE_PORT = 6, 17, 4791
ETHERNET = bytes(12) + b"\x08\x00"


class Edge(NamedTuple):
    """Who sends how much to whom in an iteration, and when: from so many ms to so many."""

    sender: str
    receiver: str
    nbytes: int = 1_200_000
    start_ms: float = 0
    end_ms: float = 20
    ports: tuple[int, int] = (0, 0)  # 0: one for each edge


class Frame(NamedTuple):
    """One of a capture."""

    seconds: float
    sender: str
    receiver: str
    payload: int
    ports: tuple[int, int]


@dataclass
class Training:
    """A job; the coefficient of variation is that of its iterations' times."""

    edges: Sequence[Edge]
    period_ms: float = 100
    variation: float = 0.02
    iterations: int = 40
    seed: int = 1
    starts_ms: list[float] = field(default_factory=list)

    def frames(self) -> list[Frame]:
        noise = np.random.default_rng(self.seed)
        frames: list[Frame] = []
        at = noise.uniform(0, self.period_ms)
        longest = max(edge.end_ms for edge in self.edges)
        for _ in range(self.iterations):
            self.starts_ms.append(at)
            for number, edge in enumerate(self.edges):
                frames += self._burst(edge, number, at + abs(noise.normal(0, 0.5)), noise)
            at += max(longest + 1, self.period_ms * noise.normal(1, self.variation))
        return sorted(frames)

    def _burst(
        self, edge: Edge, number: int, at: float, noise: np.random.Generator
    ) -> Iterable[Frame]:
        """Frames at times that vary, and acknowledgements without payload."""
        count = -(-edge.nbytes // FRAME_BYTES)
        times = at + np.sort(noise.uniform(edge.start_ms, edge.end_ms, count))
        ports = edge.ports if any(edge.ports) else (40_000 + number, 50_000 + number)
        left = edge.nbytes
        for index, when in enumerate(times.tolist()):
            yield Frame(when / 1000, edge.sender, edge.receiver, min(left, FRAME_BYTES), ports)
            left -= FRAME_BYTES
            if index % ACK_EVERY == 0:
                yield Frame(when / 1000 + 5e-5, edge.receiver, edge.sender, 0, ports[::-1])

    @property
    def mean_ms(self) -> float:
        """Of the iterations that the noise has made, all but the last, whose end is not seen."""
        return (self.starts_ms[-1] - self.starts_ms[0]) / (self.iterations - 1)

    @property
    def nbytes(self) -> int:
        return sum(edge.nbytes for edge in self.edges)


def host(number: int) -> str:
    """Documentation's addresses (RFC 5737)."""
    return f"192.0.2.{number}"


def ring(count: int) -> list[Edge]:
    return [Edge(host(i), host((i + 1) % count)) for i in range(count)]


def clique(count: int) -> list[Edge]:
    return [Edge(host(a), host(b), 600_000) for a, b in permutations(range(count), 2)]


def tree(count: int) -> list[Edge]:
    """A binary one: up, then down."""
    pairs = [(host(child), host((child - 1) // 2)) for child in range(1, count)]
    return [
        *(Edge(child, parent, start_ms=0, end_ms=10) for child, parent in pairs),
        *(Edge(parent, child, start_ms=10, end_ms=20) for child, parent in pairs),
    ]


def star(count: int) -> list[Edge]:
    """All to the first, then it to all."""
    return [
        *(Edge(host(leaf), host(0), end_ms=9) for leaf in range(1, count)),
        *(Edge(host(0), host(leaf), start_ms=11) for leaf in range(1, count)),
    ]


def servers(workers: int, count: int) -> list[Edge]:
    """Every worker with every server, which listens on a port."""
    edges = []
    for worker in range(workers):
        for server in range(count):
            near, far = host(worker), host(100 + server)
            port = 40_000 + worker * count + server
            edges.append(Edge(near, far, end_ms=9, ports=(port, 2222)))
            edges.append(Edge(far, near, start_ms=11, ports=(2222, port)))
    return edges


def pair() -> list[Edge]:
    return [Edge(host(0), host(1)), Edge(host(1), host(0))]


def packet(frame: Frame, protocol: int = TCP, before: bytes = ETHERNET) -> bytes:
    """Headers only, as tcpdump -s 54 keeps them."""
    sport, dport = frame.ports
    if protocol == TCP:
        inner = struct.pack(">HHIIBBHHH", sport, dport, 0, 0, 5 << 4, 16, 0, 0, 0)
    else:
        inner = struct.pack(">HHHH", sport, dport, 8 + frame.payload, 0)
    addresses = [ip_address(end).packed for end in (frame.sender, frame.receiver)]
    length = 20 + len(inner) + frame.payload
    header = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, 64, protocol, 0)
    return before + header + b"".join(addresses) + inner


def pcap(rows: Iterable[tuple[float, bytes, int]], link: int = 1, cut: int = 1 << 16) -> bytes:
    """Of times, frames and their lengths on the wire; classic, in microseconds."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, cut, link)]
    for when, data, length in rows:
        seconds, part = divmod(round(when * 1e6), 10**6)
        parts += [struct.pack("<IIII", seconds, part, len(data[:cut]), length), data[:cut]]
    return b"".join(parts)


def capture_of(frames: Iterable[Frame]) -> bytes:
    """As tcpdump writes it."""
    return pcap((frame.seconds, packet(frame), 54 + frame.payload) for frame in frames)


def profiled(frames: Sequence[Frame]) -> Json:
    """The profile of what a capture of one job has."""
    seconds, senders, receivers, payload, ports = zip(*frames, strict=True)
    flows = list(map(Flow, senders, receivers, *zip(*ports, strict=True)))
    numbers = {flow: number for number, flow in enumerate(dict.fromkeys(flows))}
    flow = [numbers[one] for one in flows]
    columns = (seconds, np.array(payload) + 54, payload, flow)
    seen = traffic.ordered("x", columns, "pcap", "payload", tuple(numbers))
    return profile.of_job("job", seen, 0.001)["profiles"][0]
