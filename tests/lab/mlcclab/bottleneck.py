# SPDX-License-Identifier: GPL-2.0
"""One direction of the link: the queue of a router's device, and what marks or drops there."""

import json
from dataclasses import dataclass

from . import features, offloads, shell, units, wire
from .link import TIMER_JITTER_S, Link

TBF_BURST = 64 * 1024
PRIO_BANDS = 4  # and one for lower effort
LE_DSCP = 1
# Kmax in Kmin: where one packet in ten is marked, and above which all are.
DCQCN_KMAX = 4
# of notification packets, as NICs and the driver have it (np_cnp_dscp)
CNP_DSCP = 48


@dataclass(frozen=True)
class LinkCounters:
    """What a bottleneck has seen so far."""

    bytes: int
    drops: int
    marks: int

    def since(self, earlier: "LinkCounters") -> "LinkCounters":
        """The difference to an earlier reading."""
        return LinkCounters(
            self.bytes - earlier.bytes, self.drops - earlier.drops, self.marks - earlier.marks
        )


def tc(namespace: str, device: str, where: str, qdisc: str, verb: str = "add") -> None:
    """One qdisc."""
    command = ["tc", "-n", namespace, "qdisc", verb, "dev", device]
    shell.run([*command, *where.split(), *qdisc.split()])


def token_bucket(link: Link, rate: float, limit: int) -> str:
    """A queue of that rate, with a link's frames."""
    size = f"burst {burst(rate, link.mtu)} limit {limit}"
    return f"tbf rate {rate:.0f}bit {size} {offloads.cutter(link)}"


def burst(rate: float, mtu: int = units.MTU) -> int:
    """Of a token bucket: what the link carries in the timer's jitter."""
    return max(5000, 3 * mtu, int(rate / 8 * TIMER_JITTER_S))


class Bottleneck:
    """What a device sends through."""

    def __init__(self, link: Link, router: str, device: str, rdma: bool) -> None:
        self.link = link
        self.router = router
        self.device = device
        self.rdma = rdma
        # what marks or drops in the place of a qdisc
        self.program: wire.Program | None = None
        self._build()

    def counters(self) -> LinkCounters:
        """Read them."""
        show = ["qdisc", "show", "dev", self.device]
        qdiscs = json.loads(shell.run(["tc", "-j", "-s", "-n", self.router, *show]))
        root = next(qdisc for qdisc in qdiscs if qdisc.get("root"))
        marks = sum(qdisc.get("marked", 0) + qdisc.get("ecn_mark", 0) for qdisc in qdiscs)
        drops = root["drops"]
        if self.program:
            marked, lost = self.program.counts()
            marks, drops = marks + marked, drops + lost
        return LinkCounters(root["bytes"], drops, marks)

    def change_rate(self, rate: float) -> None:
        """What waits in the queue stays there."""
        self._tc("root handle 1:", token_bucket(self.link, rate, self.link.limit), "change")

    def _tc(self, where: str, qdisc: str, verb: str = "add") -> None:
        tc(self.router, self.device, where, qdisc, verb)

    def _build(self) -> None:
        link = self.link
        if link.queue == "prio":
            self._priorities()
            return
        if link.queue == "policer":
            self._policer()
            return
        self._tc("root handle 1:", token_bucket(link, link.rate, link.limit))
        if link.queue == "red-ecn" and self.rdma:
            self._dcqcn_marking()
        elif link.queue == "red-ecn":
            self._marking()
        elif link.queue == "fq_codel":
            packets = max(10, link.limit // link.frame)
            codel = f"fq_codel limit {packets} memory_limit {link.limit * 2}"
            self._tc("parent 1:1 handle 10:", codel)

    def _policer(self) -> None:
        """Drop what exceeds the rate and the bucket. The qdisc behind it only counts."""
        link = self.link
        self._tc("root handle 1:", f"bfifo limit {TBF_BURST}")
        self.program = wire.policer(self.router, self.device, link.rate, link.limit)

    def _marking(self) -> None:
        """Mark everything above the threshold, as DCTCP wants it."""
        link, mark = self.link, self.link.ecn_threshold
        if features.has_qdisc("red"):
            self._red(mark, mark, "probability 1 ecn")
            return
        saved = burst(link.rate, link.mtu)
        self.program = wire.marker(self.router, self.device, link.rate, saved, link.limit, mark)

    def _dcqcn_marking(self) -> None:
        """Mark from the threshold on, one in ten at four times that, as DCQCN wants it.

        ACKs cannot be marked. They are not dropped instead: RoCE has a lossless class. CNPs have
        one of their own, which goes first, as they have in clusters: else they would wait in the
        queue of the other direction, and senders hear of a queue when it is another.
        """
        kmin = self.link.ecn_threshold
        self._tc("parent 1:1 handle 20:", "prio bands 2 priomap" + 16 * " 1")
        self._filter(f"parent 20: protocol ip u32 match ip dsfield {CNP_DSCP << 2:#x} 0xfc", "20:1")
        self._red(kmin, DCQCN_KMAX * kmin, "probability 0.1 ecn nodrop", "20:2")

    def _red(self, kmin: int, kmax: int, how: str, parent: str = "1:1") -> None:
        """Let RED follow the queue as closely as its average can."""
        red = f"red limit {self.link.limit} min {kmin} max {kmax} avpkt 1000"
        red += f" burst {(2 * kmin + kmax) // 3000 + 1} bandwidth {self.link.rate:.0f}bit {how}"
        self._tc(f"parent {parent} handle 10:", red)

    def _priorities(self) -> None:
        """Strict priorities by the top bits of the DSCP, out of HTB.

        Each band is guaranteed next to nothing and borrows all of the rate, in
        the order of its prio. Class selectors: CS0 and CS1 are the lowest band,
        CS2 and CS3 the next, and so on; below all of them is lower effort (RFC 8622).
        """
        link, rate = self.link, self.link.rate
        saved = max(TBF_BURST, burst(rate, link.mtu))
        sized = f"burst {saved} cburst {saved} quantum {10 * link.frame}"
        where = "root"
        if link.offloads:  # HTB makes no frames
            self._tc("root handle 9:", token_bucket(link, offloads.CUTTER_RATE / 2, 1 << 30))
            where = "parent 9:1"
        self._tc(f"{where} handle 1:", "htb default 14")
        self._class(f"parent 1: classid 1:1 htb rate {rate:.0f}bit {sized}")
        for band in range(PRIO_BANDS + 1):
            minor = 11 + band
            leaf = f"parent 1:1 classid 1:{minor} htb rate {rate / 1000:.0f}bit"
            self._class(f"{leaf} ceil {rate:.0f}bit prio {band} {sized}")
            self._tc(f"parent 1:{minor}", f"bfifo limit {link.limit}")
            if band == PRIO_BANDS:
                which = f"prio 1 u32 match ip dsfield {LE_DSCP << 2:#x} 0xfc"
            else:
                tos = (PRIO_BANDS - 1 - band) << 6
                which = f"prio 2 u32 match ip dsfield {tos:#x} 0xc0"
            self._filter(f"parent 1: protocol ip {which}", f"1:{minor}")

    def _class(self, words: str) -> None:
        shell.run(["tc", "-n", self.router, "class", "add", "dev", self.device, *words.split()])

    def _filter(self, match: str, flow: str) -> None:
        command = ["tc", "-n", self.router, "filter", "add", "dev", self.device]
        shell.run([*command, *match.split(), "flowid", flow])
