# SPDX-License-Identifier: BSD-2-Clause
"""Reads a capture with tshark: who sent how much to whom, and how much of it was payload.

tshark knows the formats and the tunnels; of each frame it gives the innermost headers. Captures may
hold the beginnings of frames only: lengths are those that headers say. Retransmitted bytes are
counted again, but a capture that has each segment several times, of all hosts or interfaces, is
told by TCP's sequence numbers: what was there before does not count.
"""

import os
import resource
import subprocess
from array import array
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np

from . import progress
from .errors import PlanError
from .traffic import SAMPLES_MAX, Floats, Flow, Traffic, ordered

MEMORY_MAX = 4 << 30  # of tshark, which needs 200 MB
TOLD_EVERY = 4096  # frames
SHORT = 0.01  # of the bytes: so many may be in frames without headers, or without IP
TWICE, TIMES_MAX = 1.5, 16  # bytes in segments, for each byte of the sequence: more is made up
STEPS_MIN = 8  # of a sequence that is one
AHEAD_MAX = 1 << 26  # bytes of the sequence: farther away is another connection

FIELDS = (
    "frame.time_epoch",
    "frame.len",
    "frame.protocols",
    "_ws.short",
    "ip.src",
    "ip.dst",
    "ip.len",
    "ip.hdr_len",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.plen",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.len",
    "udp.srcport",
    "udp.dstport",
    "udp.length",
    "infiniband.bth.opcode",
    "infiniband.bth.padcnt",
)
# lengths of 0 are of segments that the NIC was to cut; frames that were cut cannot be put together
PREFERENCES = (
    "ipv6.tso_support:TRUE",
    "ip.defragment:FALSE",
    "ipv6.defragment:FALSE",
    "tcp.analyze_sequence_numbers:FALSE",
    "tcp.desegment_tcp_streams:FALSE",
)
TSHARK = [
    *("tshark", "-n", "-r", "-", "-c", str(SAMPLES_MAX + 1)),
    *("-M", "100000"),  # frames, after which it forgets connections
    *("-d", "udp.port==8472,vxlan"),  # Linux's own
    *("-T", "fields", "-E", "occurrence=l"),
    *(word for preference in PREFERENCES for word in ("-o", preference)),
    *(word for field in FIELDS for word in ("-e", field)),
]

# pcap in either byte order, in microseconds, nanoseconds and as modified; pcapng; gzip. Of others
# tshark takes many for a capture.
PCAP = ("a1b2c3d4", "a1b23c4d", "a1b2cd34")
MAGIC = (*map(bytes.fromhex, PCAP), *(bytes.fromhex(one)[::-1] for one in PCAP))
MAGIC += (b"\x0a\x0d\x0d\x0a", b"\x1f\x8b")

UDP_BYTES, BTH_BYTES, ICRC_BYTES = 8, 12, 4
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


class Frame(NamedTuple):
    """What is known of one that has IP headers."""

    flow: Flow
    payload: int
    sequence: int = -1  # of the first byte, for TCP


class ShortError(Exception):
    """A frame was cut before the end of its headers."""


def read(path: str) -> Traffic:
    """All that endpoints sent each other; frames without IP count if there are no others."""
    notes: list[str] = []
    columns = _Columns(path)
    for line in _lines(path, notes):
        values = line.rstrip("\n").split("\t")
        if len(values) == len(FIELDS):  # else it was stopped there
            columns.add(dict(zip(FIELDS, values, strict=True)))
    return columns.traffic(notes)


def _memory() -> int:
    """What tshark may have; who has a limit may not raise it."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    return MEMORY_MAX if hard == resource.RLIM_INFINITY else min(MEMORY_MAX, hard)


def _lines(path: str, notes: list[str]) -> Iterator[str]:
    """What tshark says of each frame; that the last one is not whole is noted."""
    environment = os.environ | {"LC_ALL": "C.UTF-8", "WIRESHARK_CONFIG_DIR": "/nonexistent"}
    try:
        with Path(path).open("rb", buffering=0) as file, TemporaryFile("w+") as errors:
            if not file.read(4).startswith(MAGIC):
                raise PlanError(f"{path}: no capture: neither pcap nor pcapng, nor packed by gzip")
            size = max(1, os.fstat(file.fileno()).st_size)
            file.seek(0)
            with subprocess.Popen(
                TSHARK, stdin=file, stdout=PIPE, stderr=errors, text=True, env=environment
            ) as tshark:
                resource.prlimit(tshark.pid, resource.RLIMIT_AS, (_memory(), _memory()))
                assert tshark.stdout
                try:
                    for number, line in enumerate(tshark.stdout):
                        if number % TOLD_EVERY == 0:  # the position is tshark's, too
                            progress.part("reading", file.tell() / size)
                        yield line
                except BaseException:
                    tshark.kill()
                    raise
            errors.seek(0)
            said = [line for line in errors if line.strip() and "Running as user" not in line]
    except OSError as error:
        what = "tshark, of the package of that name," if error.filename == "tshark" else path
        raise PlanError(f"{what}: {error.strerror}") from None
    if any("cut short" in line for line in said):
        notes.append("the capture ends within a record: what is before it was read")
    elif tshark.returncode:
        why = said[-1].removeprefix("tshark: ").strip() if said else f"tshark: {tshark.returncode}"
        raise PlanError(f"{path}: no capture: {ascii(why)[1:-1][:150]}")


class _Columns:
    """Grows by a frame at a time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seconds, self._frames, self._payload = (array("d") for _ in range(3))
        self._new = array("d")  # of the payload, that was not there before
        self._flow = array("q")
        self._flows: dict[Flow, int] = {}
        self._ends: dict[Flow, int] = {}  # of the sequence, so far
        self._others = (array("d"), array("d"))
        self._short = 0.0

    def add(self, fields: dict[str, str]) -> None:
        if len(self._seconds) + len(self._others[0]) >= SAMPLES_MAX:
            raise PlanError(f"{self._path}: more than {SAMPLES_MAX} frames")
        if not fields["frame.time_epoch"]:
            raise PlanError(f"{self._path}: no capture: its frames have no times")
        when, length = float(fields["frame.time_epoch"]), int(fields["frame.len"])
        try:
            frame = _frame(fields)
        except ShortError:
            frame = None
            self._short += length
        except ValueError:  # of headers that make no sense
            frame = None
        if frame is None:
            self._others[0].append(when)
            self._others[1].append(length)
            return
        self._seconds.append(when)
        self._frames.append(length)
        self._payload.append(frame.payload)
        self._new.append(self._news(frame))
        self._flow.append(self._flows.setdefault(frame.flow, len(self._flows)))

    def _news(self, frame: Frame) -> int:
        """Bytes behind all that were seen: with them what was left out before, and comes late."""
        if frame.sequence < 0 or not frame.payload:
            return frame.payload
        end = frame.sequence + frame.payload
        behind = (self._ends.get(frame.flow, frame.sequence) - end) % (1 << 32)
        if behind < AHEAD_MAX:
            return 0
        self._ends[frame.flow] = end
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
        columns = (self._seconds, *self._once(notes), self._flow)
        return ordered(self._path, columns, "pcap", "payload", tuple(self._flows), notes)


def _frame(fields: dict[str, str]) -> Frame | None:
    """What the innermost headers say; None: without IP."""
    last = {name: at for at, name in enumerate(fields["frame.protocols"].split(":"))}
    link = max(last.get("eth", -1), last.get("ethertype", -1))
    version = max(("ip", "ipv6"), key=lambda name: last.get(name, -1))
    network = last.get(version, -1)
    transport = max(("tcp", "udp"), key=lambda name: last.get(name, -1))
    length = fields["tcp.len" if transport == "tcp" else "udp.length"]
    ended = last.get(transport, -1) > max(link, network) and length != ""
    if fields["_ws.short"] and not ended:
        raise ShortError
    ends = fields[f"{version}.src"], fields[f"{version}.dst"]
    if network < max(0, link) or not all(ends):
        return None
    if not last.keys().isdisjoint(("icmp", "icmpv6")):  # which quote others' headers
        return Frame(Flow(*ends), 0)
    said = int(fields["ipv6.plen"] or 0)
    if version == "ip":
        said = int(fields["ip.len"] or 0) - int(fields["ip.hdr_len"] or 0)
    if not ended:
        return Frame(Flow(*ends), max(0, said))
    flow = Flow(*ends, int(fields[f"{transport}.srcport"]), int(fields[f"{transport}.dstport"]))
    if transport == "tcp":
        return Frame(flow, int(length), int(fields["tcp.seq_raw"]))
    payload = min(said, int(length)) - UDP_BYTES
    if opcode := fields["infiniband.bth.opcode"]:
        headers = ROCE_HEADERS.get(int(opcode, 0))
        padding = int(fields["infiniband.bth.padcnt"] or 0)
        payload = 0 if headers is None else payload - BTH_BYTES - headers - padding - ICRC_BYTES
    return Frame(flow, max(0, payload))
