# SPDX-License-Identifier: BSD-2-Clause
"""The records of a capture file, pcap or pcapng, also packed with gzip: one after another.

dpkt forgets how long a frame was before it was cut and which interface it is from, libpcap refuses
interfaces that differ, scapy reads no if_tsoffset, and tshark remembers every connection.
"""

import gzip
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from .errors import PlanError
from .traffic import Progress

REPORT_EVERY = 1 << 12  # records
BLOCK_MAX = 64 << 20  # bytes: what says it is longer is damaged
GZIP = b"\x1f\x8b"
PCAPNG = b"\x0a\x0d\x0d\x0a"
# of the first four bytes, as the writer has them: parts of a second, bytes of a record's header
PCAP = {0xA1B2C3D4: (10**6, 16), 0xA1B23C4D: (10**9, 16), 0xA1B2CD34: (10**6, 24)}
INTERFACE, OLD_PACKET, SIMPLE_PACKET, STATISTICS, PACKET = 1, 2, 3, 5, 6
SECTION = 0x0A0D0D0A  # in either byte order
IF_TSRESOL, IF_TSOFFSET = 9, 14
ISB_IFDROP, ISB_OSDROP = 5, 7


class Record(NamedTuple):
    """One frame, or its beginning."""

    seconds: float
    link: int  # its LINKTYPE
    length: int  # before it was cut
    data: bytes


class Cut(Exception):
    """The file ends in the middle of something."""


class Damaged(Exception):
    """The file is not what it says."""


class Interface(NamedTuple):
    """Of a section of a pcapng."""

    link: int
    parts: int  # of a second
    offset: int  # seconds


def read(path: str, progress: Progress, notes: list[str]) -> Iterator[Record]:
    """All whole records; that the last one is not is noted."""
    try:
        size = max(1, Path(path).stat().st_size)
        with Path(path).open("rb") as raw:
            packed = raw.read(2) == GZIP
            raw.seek(0)
            file: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            for number, record in enumerate(_records(file, notes)):
                yield record
                if number % REPORT_EVERY == 0:
                    progress(f"reading {path}"[:60], raw.tell() / size)
    except (Cut, EOFError):
        notes.append("the capture ends within a record: what is before it was read")
    except Damaged as error:
        raise PlanError(f"{path}: no capture: {error}") from None
    except (OSError, ValueError, struct.error, zlib.error) as error:
        raise PlanError(f"{path}: no capture: {str(error)[:100]}") from None


def _whole(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise Cut
    return data


def _records(file: BinaryIO, notes: list[str]) -> Iterator[Record]:
    magic = file.read(4)
    if len(magic) < 4:
        raise Damaged("empty" if not magic else "only a few bytes")
    if magic == PCAPNG:
        yield from _pcapng(file, notes)
    for order in "<>":
        if kind := PCAP.get(*struct.unpack(order + "I", magic)):
            yield from _pcap(file, order, *kind)
            return
    if magic != PCAPNG:
        raise Damaged("neither pcap nor pcapng, nor these packed with gzip")


def _pcap(file: BinaryIO, order: str, parts: int, header: int) -> Iterator[Record]:
    link = struct.unpack(order + "HHiIII", _whole(file, 20))[5] & 0xFFFF
    while head := file.read(header):
        if len(head) < header:
            raise Cut
        seconds, part, captured, length = struct.unpack_from(order + "IIII", head)
        if captured > BLOCK_MAX:
            raise Damaged(f"a record of {captured} bytes")
        if part >= parts:
            raise Damaged(f"{part} of the {parts} parts that a second has")
        yield Record(seconds + part / parts, link, length, _whole(file, captured))


def _blocks(file: BinaryIO) -> Iterator[tuple[str, int, bytes]]:
    """Of a pcapng, each with its byte order, which sections choose."""
    order, head = "<", PCAPNG + _whole(file, 4)
    while head:
        if len(head) < 8:
            raise Cut
        more = b""
        if head[:4] == PCAPNG:
            more = _whole(file, 4)
            order = "<" if more == b"\x4d\x3c\x2b\x1a" else ">"
            if struct.unpack(order + "I", more)[0] != 0x1A2B3C4D:
                raise Damaged("a section of no known byte order")
        kind, size = struct.unpack(order + "II", head)
        if not 12 <= size <= BLOCK_MAX or size % 4:
            raise Damaged(f"a block of {size} bytes")
        yield order, kind, _whole(file, size - 8 - len(more))
        head = file.read(8)


def _pcapng(file: BinaryIO, notes: list[str]) -> Iterator[Record]:
    """Sections may have other interfaces, and these other units and links."""
    known: list[Interface] = []
    lost = 0
    for order, kind, body in _blocks(file):
        if kind == SECTION:
            known = []
        elif kind == INTERFACE:
            known.append(_interface(order, body))
        elif kind in (PACKET, OLD_PACKET):
            yield _packet(order, kind, body, known)
        elif kind == SIMPLE_PACKET:
            raise Damaged("its packets have no times (simple packet blocks)")
        elif kind == STATISTICS:
            lost = max(lost, _lost(order, body))
    if lost:
        notes.append(f"whoever captured has lost {lost} frames: bytes are too few")


def _options(order: str, body: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    while at + 4 <= len(body) - 4:
        code, size = struct.unpack_from(order + "HH", body, at)
        if code == 0:
            break
        yield code, body[at + 4 : at + 4 + size]
        at += 4 + (size + 3) // 4 * 4


def _interface(order: str, body: bytes) -> Interface:
    parts, offset = 10**6, 0
    for code, value in _options(order, body, 8):
        if code == IF_TSRESOL and len(value) == 1:
            parts = 2 ** (value[0] & 127) if value[0] & 128 else int(10 ** value[0])
        elif code == IF_TSOFFSET and len(value) == 8:
            (offset,) = struct.unpack(order + "q", value)
    return Interface(struct.unpack_from(order + "H", body)[0], parts, offset)


def _lost(order: str, body: bytes) -> int:
    """Frames, by the interface or the system, since the capture began."""
    return sum(
        int(struct.unpack(order + "Q", value)[0])
        for code, value in _options(order, body, 12)
        if code in (ISB_IFDROP, ISB_OSDROP) and len(value) == 8
    )


def _packet(order: str, kind: int, body: bytes, known: list[Interface]) -> Record:
    form = order + ("IIIII" if kind == PACKET else "HxxIIII")
    if len(body) < 24:
        raise Damaged(f"a packet in a block of {len(body) + 12} bytes")
    number, high, low, captured, length = struct.unpack_from(form, body)
    if number >= len(known) or captured > len(body) - 24:
        raise Damaged(f"a packet of {captured} bytes from interface {number}, which is not there")
    one = known[number]
    when = one.offset + (high << 32 | low) / one.parts
    return Record(when, one.link, length, body[20 : 20 + captured])
