# SPDX-License-Identifier: BSD-2-Clause
"""Reads a capture: who sent how much to whom, and how much of it was payload.

Captures may hold the beginnings of frames only, so lengths are those that the IP headers say;
where that is 0 (the NIC was to cut the segment: TSO, BIG TCP), that of the record. Tunnels are
opened: endpoints are those of the innermost IP header. Retransmitted bytes are counted again, but
a capture that has each segment several times, of all hosts or interfaces, is told by TCP's sequence
numbers: what was there before does not count.
"""

import struct
from array import array
from socket import AF_INET, AF_INET6, inet_ntop
from typing import NamedTuple

import numpy as np

from . import records
from .errors import PlanError
from .traffic import SAMPLES_MAX, Floats, Flow, Progress, Traffic, ordered

DEPTH_MAX = 16  # headers before the innermost IP header: more is no frame that anyone would send
SHORT = 0.01  # of the bytes: so many may be in frames without headers, or without IP
TWICE, TIMES_MAX = 1.5, 16  # bytes in segments, for each byte of the sequence: more is made up
STEPS_MIN = 8  # of a sequence that is one
AHEAD_MAX = 1 << 26  # bytes of the sequence: farther away is another connection
FRAGMENTS_MAX = 1 << 16  # datagrams of which the first fragment is remembered

IPV4, IPV6, ETHERNET, MPLS, ROCE = 0x0800, 0x86DD, 0x6558, 0x8847, 0x8915
VLANS = (0x8100, 0x88A8, 0x9100, 0x9200)
PPPOE, ERSPAN, ERSPAN3 = 0x8864, 0x88BE, 0x22EB
PPP = {0x21: IPV4, 0x57: IPV6, 0x281: MPLS}
FAMILIES = {2: IPV4, 10: IPV6, 24: IPV6, 28: IPV6, 30: IPV6}  # AF_INET6 of Linux, the BSDs, macOS
LINKS = {
    0: "NULL",
    1: "EN10MB",
    9: "PPP",
    12: "RAW",
    14: "RAW",
    50: "PPP_HDLC",
    101: "RAW",
    108: "LOOP",
    113: "LINUX_SLL",
    228: "IPV4",
    229: "IPV6",
    247: "INFINIBAND",
    276: "LINUX_SLL2",
}
OTHERS = {  # LINKTYPE_ that somebody may have captured; tcpdump.org/linktypes.html has all
    6: "IEEE802_5",
    104: "C_HDLC",
    105: "IEEE802_11",
    107: "FRELAY",
    119: "IEEE802_11_PRISM",
    127: "IEEE802_11_RADIOTAP",
    147: "USER0",
    189: "USB_LINUX",
    192: "PPI",
    195: "IEEE802_15_4_WITHFCS",
    197: "ERF",
    220: "USB_LINUX_MMAPPED",
    224: "FC_2",
    239: "NFLOG",
    242: "IPOIB",
    253: "NETLINK",
}
HOP_BY_HOP, IPIP, TCP, UDP, IPV6_IN, FRAGMENT, GRE, AH, MPLS_IN = 0, 4, 6, 17, 41, 44, 47, 51, 137
EXTENSIONS = (HOP_BY_HOP, 43, 60, 135, 139, 140)
JUMBO = 0xC2
VXLAN, VXLAN_GPE, GENEVE, GRE_IN_UDP, MPLS_IN_UDP = (4789, 8472), 4790, 6081, 4754, 6635
GPE = {1: IPV4, 2: IPV6, 3: ETHERNET, 5: MPLS}

ROCE_PORT = 4791
GRH_BYTES, BTH_BYTES, ICRC_BYTES = 40, 12, 4
# Headers between BTH and payload, by opcode (InfiniBand Architecture, volume 1, chapter 9);
# others carry none of a job's bytes: acknowledgements, requests to read, atomics, CNPs.
SEND_AND_WRITE = (0, 0, 0, 4, 0, 4, 16, 0, 0, 4, 16, 20)
ROCE_HEADERS = {
    **dict(enumerate(SEND_AND_WRITE)),
    **{0x0D: 4, 0x0E: 0, 0x0F: 4, 0x10: 4, 0x16: 4, 0x17: 4},  # answers to reads, invalidations
    **{0x20 + opcode: size for opcode, size in enumerate(SEND_AND_WRITE)},  # unreliable
    **{0x64: 8, 0x65: 12},  # datagrams
    **{0xA0 + opcode: size + 4 for opcode, size in enumerate(SEND_AND_WRITE)},  # extended (XRC)
    **{0xAD: 4, 0xAE: 0, 0xAF: 4, 0xB0: 4, 0xB6: 8, 0xB7: 8},
    **dict.fromkeys(range(0xC0, 0x100), 0),  # a manufacturer's, of headers that nobody knows: DC
}

Key = tuple[bytes, bytes, int, int]  # addresses and ports


class Frame(NamedTuple):
    """What is known of one."""

    payload: int
    key: Key
    end: int = 0  # of what the outermost IP header says it has
    sequence: int = -1  # of the first byte, for TCP


def read(path: str, progress: Progress) -> Traffic:
    """All that endpoints sent each other; frames without IP count if there are no others."""
    notes: list[str] = []
    columns = _Columns(path)
    for record in records.read(path, progress, notes):
        columns.add(record)
    return columns.traffic(notes)


class _Columns:
    """Grows by a frame at a time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seconds, self._frames, self._payload = (array("d") for _ in range(3))
        self._new = array("d")  # of the payload, that was not there before
        self._flow = array("q")
        self._flows: dict[Key, int] = {}
        self._ends: dict[Key, int] = {}  # of the sequence, so far
        self._others = (array("d"), array("d"))
        self._short = 0.0
        self._fragments: dict[bytes, Key] = {}

    def add(self, record: records.Record) -> None:
        if len(self._seconds) + len(self._others[0]) >= SAMPLES_MAX:
            raise PlanError(f"{self._path}: more than {SAMPLES_MAX} frames")
        if record.link not in LINKS:
            name = OTHERS.get(record.link, "of no name known here")
            raise PlanError(
                f"{self._path}: link type {record.link} ({name}) is not one that is read: "
                + ", ".join(f"{number} {known}" for number, known in LINKS.items())
            )
        length = max(record.length, len(record.data))
        try:
            frame = _Dissection(record.data, length, self._fragments).frame(record.link)
        except (struct.error, IndexError):
            frame = None
            if len(record.data) < length:
                self._short += length
        if frame is None:
            self._others[0].append(record.seconds)
            self._others[1].append(length)
            return
        self._seconds.append(record.seconds)
        self._frames.append(max(length, frame.end))
        self._payload.append(max(0, frame.payload))
        self._new.append(self._news(frame))
        self._flow.append(self._flows.setdefault(frame.key, len(self._flows)))

    def _news(self, frame: Frame) -> int:
        """Bytes behind all that were seen: with them what was left out before, and comes late."""
        if frame.sequence < 0 or frame.payload <= 0:
            return max(0, frame.payload)
        end = frame.sequence + frame.payload
        behind = (self._ends.get(frame.key, frame.sequence) - end) % (1 << 32)
        if behind < AHEAD_MAX:
            return 0
        self._ends[frame.key] = end
        ahead = (1 << 32) - behind
        return ahead if ahead < AHEAD_MAX else frame.payload

    def _once(self, notes: list[str]) -> tuple[Floats, Floats]:
        """Frames and payload, each segment once."""
        frames, payload, new = (np.array(c) for c in (self._frames, self._payload, self._new))
        times = np.bincount(self._flow, payload) / np.maximum(1, np.bincount(self._flow, new))
        counts = np.bincount(self._flow, new > 0) >= STEPS_MIN
        several = counts & (times > TWICE) & (times < TIMES_MAX)
        if not several.any():
            return frames, payload
        notes.append(
            f"segments are in the capture up to {times[several].max():.1f} times, as of several "
            "hosts or interfaces: each counts once"
        )
        again = several[np.array(self._flow)] & (payload > 0)
        frames[again] = np.where(new > 0, frames - payload + new, 0)[again]
        payload[again] = new[again]
        return frames, payload

    def traffic(self, notes: list[str]) -> Traffic:
        if self._short > SHORT * (sum(self._frames) + self._short):
            raise PlanError(
                f"{self._path}: frames were cut before the end of their headers: capture at least "
                "128 bytes of each (tcpdump -s 128), 256 in tunnels"
            )
        if not self._seconds:
            when, length = self._others
            columns = (when, length, length, np.zeros(len(when)))
            return ordered(self._path, columns, "pcap", "frames", notes=notes)
        left = sum(self._others[1])
        share = left / (left + sum(self._frames))
        if share > SHORT:
            notes.append(f"{share:.0%} of the bytes are in frames without IP, and left out")
        flows = [Flow(_address(a), _address(b), *ports) for a, b, *ports in self._flows]
        columns = (self._seconds, *self._once(notes), self._flow)
        return ordered(self._path, columns, "pcap", "payload", flows, notes)


class _Dissection:
    """Of one frame: from header to header, each at an offset, until the payload."""

    def __init__(self, data: bytes, length: int, fragments: dict[bytes, Key]) -> None:
        self._data, self._length, self._fragments = data, length, fragments
        self._depth = 0
        self._end = 0  # what the IP headers leave; 0 before the first
        self._outer_end = 0
        self._datagram = b""  # that this is the first fragment of

    def frame(self, link: int) -> Frame | None:
        found = self._link(link)
        if found is None:
            return None
        if self._datagram:
            if len(self._fragments) >= FRAGMENTS_MAX:
                self._fragments.clear()
            self._fragments[self._datagram] = found.key
        return found._replace(end=self._outer_end)

    def _short(self, at: int) -> int:
        return int.from_bytes(self._data[at : at + 2], "big") if self._data[at + 1] >= 0 else 0

    def _link(self, link: int) -> Frame | None:
        data = self._data
        if link == 1:
            return self._ethernet(0)
        if link == 113:
            return self._network(self._short(14), 16)
        if link == 276:
            return self._network(self._short(0), 20)
        if link == 247:
            return self._infiniband()
        if link in (0, 108):
            family = int.from_bytes(data[:4], "big")
            swapped = int.from_bytes(data[:4], "little")
            return self._network(FAMILIES.get(family) or FAMILIES.get(swapped, 0), 4)
        if link in (9, 50):
            return self._ppp(2 if data[:2] == b"\xff\x03" else 0)
        return self._network(IPV6 if data[0] >> 4 == 6 else IPV4, 0)

    def _ppp(self, at: int) -> Frame | None:
        if self._data[at] & 1:  # the protocol's upper byte was left out
            return self._network(PPP.get(self._data[at], 0), at + 1)
        return self._network(PPP.get(self._short(at), 0), at + 2)

    def _ethernet(self, at: int) -> Frame | None:
        return self._network(self._short(at + 12), at + 14)

    def _network(self, kind: int, at: int) -> Frame | None:
        """What an EtherType says is there."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            return None
        data = self._data
        if kind == IPV4:
            return self._ipv4(at) if data[at] >> 4 == 4 else None
        if kind == IPV6:
            return self._ipv6(at) if data[at] >> 4 == 6 else None
        if kind in VLANS:
            return self._network(self._short(at + 2), at + 4)
        if kind in (MPLS, MPLS + 1):
            return self._mpls(at)
        if kind == ETHERNET:
            return self._ethernet(at)
        if kind == PPPOE:
            return self._ppp(at + 6)
        if kind == ROCE:
            self._end = self._outer_end = at + GRH_BYTES + self._short(at + 4)
            return self._bth(
                at + GRH_BYTES, (data[at + 8 : at + 24], data[at + 24 : at + 40], 0, 0)
            )
        if kind < 0x600 and data[at : at + 6] == b"\xaa\xaa\x03\0\0\0":
            return self._network(self._short(at + 6), at + 8)
        return None

    def _mpls(self, at: int) -> Frame | None:
        while not self._data[at + 2] & 1:
            at += 4
        version = self._data[at + 4] >> 4
        if version == 0:  # a control word, then the frame of a pseudowire
            return self._network(ETHERNET, at + 8)
        return self._network({4: IPV4, 6: IPV6}.get(version, 0), at + 4)

    def _bounded(self, at: int, said: int) -> None:
        """An IP header at this offset says how much it has; 0: as much as there is."""
        end = at + said if said else self._end or self._length
        self._end = min(end, self._end) if self._end else end
        self._outer_end = self._outer_end or self._end

    def _ipv4(self, at: int) -> Frame | None:
        data = self._data
        total, number, fragment = struct.unpack_from(">HHH", data, at + 2)
        header = (data[at] & 15) * 4
        self._bounded(at, total)
        key = (data[at + 12 : at + 16], data[at + 16 : at + 20], 0, 0)
        if len(key[1]) < 4 or header < 20:
            raise IndexError
        protocol = data[at + 9]
        if fragment & 0x3FFF:
            datagram = data[at + 12 : at + 20] + struct.pack(">HB", number, protocol)
            if fragment & 0x1FFF:
                return Frame(self._end - at - header, self._fragments.get(datagram, key))
            self._datagram = datagram
        return self._transport(protocol, at + header, key)

    def _ipv6(self, at: int) -> Frame | None:
        data = self._data
        said, protocol = struct.unpack_from(">HB", data, at + 4)
        key = (data[at + 8 : at + 24], data[at + 24 : at + 40], 0, 0)
        if len(key[1]) < 16:
            raise IndexError
        if not said and protocol == HOP_BY_HOP and data[at + 42] == JUMBO:
            (said,) = struct.unpack_from(">I", data, at + 44)
        self._bounded(at, 40 + said if said else 0)
        there = at + 40
        while protocol in EXTENSIONS:
            protocol, there = data[there], there + 8 * (1 + data[there + 1])
        if protocol == FRAGMENT:
            following, offset, number = struct.unpack_from(">BxHI", data, there)
            datagram = data[at + 8 : at + 40] + struct.pack(">IB", number, following)
            protocol, there = following, there + 8
            if offset & 0xFFF8:
                return Frame(self._end - there, self._fragments.get(datagram, key))
            if offset & 1:
                self._datagram = datagram
            while protocol in EXTENSIONS:
                protocol, there = data[there], there + 8 * (1 + data[there + 1])
        return self._transport(protocol, there, key)

    def _transport(self, protocol: int, at: int, key: Key) -> Frame | None:
        data = self._data
        if protocol == AH:
            return self._transport(data[at], at + 4 * (2 + data[at + 1]), key)
        if protocol == TCP:
            payload = self._end - at - (data[at + 12] >> 4) * 4
            ends = (*key[:2], self._short(at), self._short(at + 2))
            return Frame(payload, ends, 0, struct.unpack_from(">I", data, at + 4)[0])
        if protocol == UDP:
            return self._udp(at, (*key[:2], self._short(at), self._short(at + 2)))
        if protocol == GRE:
            return self._gre(at, key)
        inner = {IPIP: IPV4, IPV6_IN: IPV6, MPLS_IN: MPLS}.get(protocol)
        return self._network(inner, at) if inner else Frame(self._end - at, key)

    def _udp(self, at: int, key: Key) -> Frame | None:
        data, at, port = self._data, at + 8, key[3]
        plain = Frame(self._end - at, key)
        if ROCE_PORT in key[2:]:
            return self._bth(at, key)
        if port in VXLAN and data[at] & 0x77 == 0 and data[at] & 8:
            return self._network(ETHERNET, at + 8)
        if port == VXLAN_GPE and data[at] & 4:
            return self._network(GPE.get(data[at + 3], 0), at + 8)
        if port == GENEVE and data[at] >> 6 == 0:
            return self._network(self._short(at + 2), at + 8 + 4 * (data[at] & 63))
        if port == GRE_IN_UDP:
            return self._gre(at, key)
        return self._network(MPLS, at) if port == MPLS_IN_UDP else plain

    def _gre(self, at: int, key: Key) -> Frame | None:
        flags, kind = self._short(at), self._short(at + 2)
        if flags & 0x4007:  # routing, or the version of PPTP
            return Frame(self._end - at, key)
        there = at + 4 + 4 * sum(bool(flags & bit) for bit in (0x8000, 0x2000, 0x1000))
        if kind == ERSPAN:
            return self._network(ETHERNET, there + 8 * bool(flags & 0x1000))
        if kind == ERSPAN3:
            return self._network(ETHERNET, there + 12 + 8 * (self._data[there + 11] & 1))
        return self._network(kind, there)

    def _bth(self, at: int, key: Key) -> Frame:
        opcode, padding = self._data[at], self._data[at + 1] >> 4 & 3
        if opcode not in ROCE_HEADERS:
            return Frame(0, key)
        headers = BTH_BYTES + ROCE_HEADERS[opcode] + padding + ICRC_BYTES
        return Frame(self._end - at - headers, key)

    def _infiniband(self) -> Frame | None:
        """A local route header, a global one perhaps, then as RoCE has it."""
        data = self._data
        follows = data[1] & 3
        self._end = self._outer_end = 4 * (self._short(4) & 0x7FF)
        if follows == 3:
            return self._bth(8 + GRH_BYTES, (data[16:32], data[32:48], 0, 0))
        return self._bth(8, (data[6:8], data[2:4], 0, 0)) if follows == 2 else None


def _address(raw: bytes) -> str:
    if len(raw) == 2:
        return f"lid-{int.from_bytes(raw, 'big')}"
    return inet_ntop(AF_INET if len(raw) == 4 else AF_INET6, raw)
