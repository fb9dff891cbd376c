# SPDX-License-Identifier: BSD-2-Clause
"""Reads a capture, pcap or pcapng: who sent how much to whom, and how much of it was payload.

Captures may hold the beginnings of frames only, so lengths are those that the IP headers say.
Retransmitted bytes are counted again.
"""

import struct
from array import array
from pathlib import Path
from socket import AF_INET, AF_INET6, inet_ntop
from typing import Any, NamedTuple

import numpy as np

from .errors import PlanError
from .traffic import SAMPLES_MAX, Flow, Progress, Traffic, ordered

REPORT_EVERY = 1 << 12  # frames
ETHERNET_BYTES = 14
LINUX_SLL, LINUX_SLL2 = 113, 276
RAW = (12, 14, 101)  # link types of captures without a link's header

ROCE_PORT = 4791
BTH_BYTES, ICRC_BYTES = 12, 4
# Headers between BTH and payload, by opcode (InfiniBand Architecture, volume 1, chapter 9);
# others carry none of a job's bytes: acknowledgements, requests to read, atomics, CNPs.
SEND_AND_WRITE = (0, 0, 0, 4, 0, 4, 16, 0, 0, 4, 16, 20)
ROCE_HEADERS = {
    **dict(enumerate(SEND_AND_WRITE)),
    **{0x0D: 4, 0x0E: 0, 0x0F: 4, 0x10: 4, 0x16: 4, 0x17: 4},  # answers to reads, invalidations
    **{0x20 + opcode: size for opcode, size in enumerate(SEND_AND_WRITE)},  # unreliable
    **{0x64: 8, 0x65: 12},  # datagrams
}


class Frame(NamedTuple):
    """What is known of one."""

    length: int
    payload: int
    key: tuple[bytes, bytes, int, int]  # addresses and ports


def read(path: str, progress: Progress) -> Traffic:
    """All that endpoints sent each other; frames without IP count if there are no others."""
    try:
        import dpkt
    except ImportError:
        raise PlanError("--pcap needs dpkt: the package is python3-dpkt") from None
    try:
        size = max(1, Path(path).stat().st_size)
        with Path(path).open("rb") as file:
            reader = dpkt.pcap.UniversalReader(file)
            columns = _Columns(dpkt, path, reader.datalink())
            for number, (when, frame) in enumerate(reader):
                columns.add(float(when), frame)
                if number % REPORT_EVERY == 0:
                    progress(f"reading {path}"[:60], file.tell() / size)
    except (OSError, ValueError, struct.error, ArithmeticError, dpkt.dpkt.Error) as error:
        raise PlanError(f"{path}: no capture: {str(error) or 'cut short'}") from None
    return columns.traffic()


class _Columns:
    """Grows by a frame at a time."""

    def __init__(self, dpkt: Any, path: str, link: int) -> None:
        self._dpkt, self._path, self._link = dpkt, path, link
        self._seconds, self._frames, self._payload = (array("d") for _ in range(3))
        self._flow = array("q")
        self._flows: dict[tuple[bytes, bytes, int, int], int] = {}
        self._others = (array("d"), array("d"))

    def add(self, when: float, data: bytes) -> None:
        if len(self._seconds) + len(self._others[0]) >= SAMPLES_MAX:
            raise PlanError(f"{self._path}: more than {SAMPLES_MAX} frames")
        frame = self._frame(data)
        if frame is None:
            self._others[0].append(when)
            self._others[1].append(len(data))
            return
        self._seconds.append(when)
        self._frames.append(frame.length)
        self._payload.append(frame.payload)
        self._flow.append(self._flows.setdefault(frame.key, len(self._flows)))

    def _frame(self, data: bytes) -> Frame | None:
        try:
            packet = self._packet(data)
            return None if packet is None else self._of(packet, len(data))
        except (self._dpkt.dpkt.Error, LookupError, ValueError, struct.error, TypeError):
            return None  # no frame that anyone would have sent

    def _packet(self, data: bytes) -> Any:
        """The IP packet, version 4 or 6, behind whatever the link has before it."""
        dpkt = self._dpkt
        if self._link in RAW:
            return dpkt.ip6.IP6(data) if data[0] >> 4 == 6 else dpkt.ip.IP(data)
        links = {LINUX_SLL: dpkt.sll.SLL, LINUX_SLL2: dpkt.sll2.SLL2}
        packet = links.get(self._link, dpkt.ethernet.Ethernet)(data).data
        return packet if isinstance(packet, dpkt.ip.IP | dpkt.ip6.IP6) else None

    def _of(self, packet: Any, captured: int) -> Frame:
        dpkt = self._dpkt
        first = True
        if isinstance(packet, dpkt.ip.IP):
            total, headers = packet.len or captured - ETHERNET_BYTES, packet.hl * 4
            first = packet.offset == 0
        else:
            total, headers = 40 + packet.plen, 40
        inner, ports = packet.data, (0, 0)
        payload = total - headers
        if first and isinstance(inner, dpkt.tcp.TCP | dpkt.udp.UDP):
            ports = (inner.sport, inner.dport)
            payload = _tcp(inner, payload) if isinstance(inner, dpkt.tcp.TCP) else _udp(inner)
        length = max(captured, ETHERNET_BYTES + total)
        return Frame(length, max(0, payload), (packet.src, packet.dst, *ports))

    def traffic(self) -> Traffic:
        if not self._seconds:
            when, length = self._others
            columns = (when, length, length, np.zeros(len(when)))
            return ordered(self._path, columns, "pcap", "frames")
        flows = [Flow(_address(a), _address(b), *ports) for a, b, *ports in self._flows]
        columns = (self._seconds, self._frames, self._payload, self._flow)
        return ordered(self._path, columns, "pcap", "payload", flows)


def _tcp(segment: Any, length: int) -> int:
    return length - segment.off * 4


def _udp(datagram: Any) -> int:
    length = int(datagram.ulen) - 8
    if ROCE_PORT not in (datagram.sport, datagram.dport):
        return length
    header = bytes(datagram.data[:2])
    if len(header) < 2 or header[0] not in ROCE_HEADERS:
        return 0
    padding = header[1] >> 4 & 3
    return length - BTH_BYTES - ROCE_HEADERS[header[0]] - padding - ICRC_BYTES


def _address(raw: bytes) -> str:
    return inet_ntop(AF_INET if len(raw) == 4 else AF_INET6, raw)
