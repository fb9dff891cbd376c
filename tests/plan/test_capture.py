# SPDX-License-Identifier: GPL-2.0
"""Captures: tunnels, RoCE, cut frames, segments that are there twice, and what is no capture."""

import gzip
import json
import random
import shutil
import struct
import subprocess
import unittest
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

import synthetic
from common import program
from mlccplan import capture, graph, profile
from mlccplan.errors import PlanError
from mlccplan.traffic import Traffic
from synthetic import ROCE_PORT, TCP, UDP, Frame, Training, host, packet, pcap

PAYLOAD = 1000
FRAME = Frame(0, host(1), host(2), PAYLOAD, (1, 2))
MAC = bytes(12)


def v4(protocol: int, inner: bytes, total: int | None = None, fragment: int = 0) -> bytes:
    """Between the outer endpoints."""
    total = 20 + len(inner) if total is None else total
    ends = ip_address(host(101)).packed + ip_address(host(102)).packed
    return struct.pack(">BBHHHBBH", 0x45, 0, total, 7, fragment, 64, protocol, 0) + ends + inner


def v6(protocol: int, inner: bytes, said: int | None = None) -> bytes:
    said = len(inner) if said is None else said
    ends = ip_address("2001:db8::1").packed + ip_address("2001:db8::2").packed
    return struct.pack(">IHBB", 6 << 28, said, protocol, 64) + ends + inner


def udp(port: int, inner: bytes) -> bytes:
    return struct.pack(">HHHH", 50000, port, 8 + len(inner), 0) + inner


def ethernet(kind: int, inner: bytes) -> bytes:
    return MAC + struct.pack(">H", kind) + inner


MORE = 0x2000  # fragments
INNER = packet(FRAME, TCP, b"") + bytes(PAYLOAD)
FRAMED = ethernet(0x800, INNER)
TCP6 = struct.pack(">HHIIBBHHH", 1, 2, 0, 0, 5 << 4, 16, 0, 0, 0) + bytes(PAYLOAD)
HOP_BY_HOP = b"\x2b\0\1\4\0\0\0\0" + b"\x3c\0\0\0\0\0\0\0" + b"\6\0\1\4\0\0\0\0"
TUNNELS = {
    "udp": packet(FRAME, UDP) + bytes(PAYLOAD),
    "vlan": ethernet(0x8100, b"\0\5\x08\0" + INNER),
    "qinq": ethernet(0x88A8, b"\0\5\x81\0\0\6\x08\0" + INNER),
    "mpls": ethernet(0x8847, b"\0\1\0\x40\0\2\1\x40" + INNER),
    "pppoe": ethernet(0x8864, struct.pack(">BBHHH", 17, 0, 1, len(INNER) + 2, 33) + INNER),
    "ipip": ethernet(0x800, v4(4, INNER)),
    "4in6": ethernet(0x86DD, v6(4, INNER)),
    "gre": ethernet(0x800, v4(47, b"\x20\0\x08\0" + bytes(4) + INNER)),
    "nvgre": ethernet(0x800, v4(47, b"\x20\0\x65\x58" + bytes(4) + FRAMED)),
    "erspan": ethernet(0x800, v4(47, b"\x10\0\x88\xbe" + bytes(4) + b"\x10" + bytes(7) + FRAMED)),
    "vxlan": ethernet(0x800, v4(17, udp(4789, b"\x08" + bytes(7) + FRAMED))),
    "vxlan, linux": ethernet(0x800, v4(17, udp(8472, b"\x08" + bytes(7) + FRAMED))),
    "vxlan over 6": ethernet(0x86DD, v6(17, udp(4789, b"\x08" + bytes(7) + FRAMED))),
    "geneve": ethernet(0x800, v4(17, udp(6081, b"\x02\0\x65\x58" + bytes(12) + FRAMED))),
    "extensions": ethernet(0x86DD, v6(0, HOP_BY_HOP + TCP6)),
    "no length": ethernet(0x86DD, v6(6, TCP6, 0)),
}
LINKS = {
    101: INNER,
    113: bytes(14) + b"\x08\0" + INNER,
    229: v6(6, TCP6),
    276: b"\x08\0" + bytes(18) + INNER,
}
ENDS = ((host(1), 1, 2), ("2001:db8::1", 1, 2))


def swapped(data: bytes) -> bytes:
    """A pcap of the other byte order."""
    out = struct.pack(">IHHiIII", *struct.unpack_from("<IHHiIII", data))
    at = 24
    while at < len(data):
        head = struct.unpack_from("<4I", data, at)
        out += struct.pack(">4I", *head) + data[at + 16 : at + 16 + head[2]]
        at += 16 + head[2]
    return out


@unittest.skipUnless(shutil.which("tshark"), "no tshark here")
class Folder(unittest.TestCase):
    """A place for files."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "x"

    def read(self, rows: list[bytes], link: int = 1, cut: int = 1 << 16) -> Traffic:
        """A capture of these frames, cut to so many bytes each."""
        self.path.write_bytes(
            pcap(((when, row, len(row)) for when, row in enumerate(rows)), link, cut)
        )
        return capture.read(str(self.path))


class Headers(Folder):
    """Whatever is around it, a segment's payload and its endpoints are the same."""

    def test_tunnels(self) -> None:
        for cut in (1 << 16, 160):
            found = self.read(list(TUNNELS.values()), 1, cut)
            said = dict(zip(TUNNELS, found.payload.tolist(), strict=True))
            self.assertEqual(said, dict.fromkeys(TUNNELS, PAYLOAD))
            self.assertEqual(found.frames.tolist(), [len(frame) for frame in TUNNELS.values()])
            for flow in found.flows:
                self.assertIn((flow.sender, *flow[2:]), ENDS)

    def test_links(self) -> None:
        for link, frame in LINKS.items():
            with self.subTest(link=link):
                self.assertEqual(self.read([frame] * 3, link, 128).payload.tolist(), [PAYLOAD] * 3)

    def test_roce(self) -> None:
        """By opcode: BTH of 12, what follows it, padding, and the checksum of 4 bytes."""
        for opcode, more, payload in (
            *((0x06, 16, 1024), (0x07, 0, 1024), (0x0F, 4, 1024)),  # writes, an answer to a read
            *((0xA7, 4, 1024), (0xC7, 0, 1024)),  # extended, and of a manufacturer
            *((0x81, 16, 0), (0x11, 4, 0)),  # a CNP, an acknowledgement
        ):
            for padding in (0, 3):
                bth = bytes((opcode, padding << 4)) + bytes(10 + more + payload + padding + 4)
                plain = ethernet(0x800, v4(17, udp(ROCE_PORT, bth)))
                tunnel = ethernet(0x800, v4(17, udp(4789, b"\x08" + bytes(7) + plain)))
                found = self.read([plain, tunnel, plain], 1, 128)
                self.assertEqual(found.payload.tolist(), [payload] * 3, hex(opcode))

    def test_formats(self) -> None:
        """What tcpdump, editcap and mergecap write, packed or not; the help tells of mergecap."""
        data = synthetic.capture_of(Training(synthetic.pair()).frames())
        self.path.write_bytes(data)
        want, new = capture.read(str(self.path)), self.path.with_suffix(".new")
        forms = []
        for form in ("nsecpcap", "modpcap", "pcapng"):
            subprocess.run(["editcap", "-F", form, str(self.path), str(new)], check=True)
            forms.append(new.read_bytes())
        for form in (*forms, swapped(data), gzip.compress(forms[-1])):
            new.write_bytes(form)
            found = capture.read(str(new))
            self.assertEqual(found.payload.tolist(), want.payload.tolist())
            self.assertEqual(found.flows, want.flows)
            self.assertLess(abs(found.seconds - want.seconds).max(), 1e-5)

    def test_fragments(self) -> None:
        """Together they have what the datagram has."""
        datagram = udp(9, bytes(1792))
        parts = [datagram[at : at + 400] for at in range(0, len(datagram), 400)]
        rows = [
            ethernet(0x800, v4(17, part, None, index * 50 | MORE * (part is not parts[-1])))
            for index, part in enumerate(parts)
        ]
        self.assertEqual(self.read(rows, 1, 128).payload.sum(), 1792)

    def test_segments_that_the_nic_cuts(self) -> None:
        """TSO's have a length of 0, or BIG TCP's own header."""
        large = TCP6 + bytes(200_000)
        jumbo = b"\6\0\xc2\4" + struct.pack(">I", 8 + len(large)) + large
        for row in (ethernet(0x800, v4(6, large, 0)), ethernet(0x86DD, v6(0, jumbo, 0))):
            found = self.read([row] * 3, 1, 128)
            self.assertEqual(found.payload.tolist(), [PAYLOAD + 200_000] * 3)
            self.assertEqual(found.frames[0], len(row))

    def test_left_out(self) -> None:
        """Such as what MACsec encrypts: what is left is no job's whole traffic."""
        sealed = ethernet(0x88E5, bytes(len(INNER)))
        found = self.read([FRAMED, sealed] * 3)
        self.assertEqual(found.payload.tolist(), [PAYLOAD] * 3)
        said = "50% of the bytes are in frames without IP, and left out"
        self.assertEqual(found.notes, (said,))
        self.assertEqual(self.read([FRAMED] * 3).notes, ())

    def test_all_hosts(self) -> None:
        """What two hosts have seen, in segments of other sizes and out of order, counts once."""
        total, rows = 600_000, []
        for size in (60_000, 20_000, 12_000):
            for at in range(0, total, size):
                sequence = (0xFFFFF000 + at) % (1 << 32)
                tcp = struct.pack(">HHIIBBHHH", 1, 2, sequence, 0, 5 << 4, 16, 0, 0, 0)
                rows.append((at + size, ethernet(0x800, v4(6, tcp + bytes(size)))))
        rows.sort(key=lambda row: row[0])
        rows[7:9] = rows[8:6:-1]
        found = self.read([row for _, row in rows], 1, 128)
        self.assertEqual(found.payload.sum(), total)
        self.assertIn("3.0 times", found.notes[0])
        self.assertLess(found.frames.sum(), 1.1 * total)
        alone = self.read([row for _, row in rows if len(row) > 60_000], 1, 128)
        self.assertEqual((alone.payload.sum(), alone.notes), (total, ()))


class Refused(Folder):
    """One line, whatever the file is."""

    def test_no_capture(self) -> None:
        for data in (b"", b"x" * 100, b"1,2\n3\n", b'{"a": 1}', b'"' * 200_000):
            self.path.write_bytes(data)
            with self.assertRaises(PlanError) as caught:
                capture.read(str(self.path))
            self.assertTrue(str(caught.exception).isprintable(), data[:40])
        with self.assertRaisesRegex(PlanError, "cut before the end of their headers"):
            self.read([TUNNELS["vxlan"]] * 3, 1, 64)

    def test_hosts_without_addresses(self) -> None:
        frame = MAC + b"\x89\x15" + bytes(100)
        self.path.write_bytes(pcap((when, frame, len(frame)) for when in range(200)))
        done = program("profile", "--pcap", str(self.path), "--hosts", "a=10.0.0.1,10.0.0.2")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no frames with IP addresses", done.stderr)

    def test_no_tshark(self) -> None:
        self.path.write_bytes(synthetic.capture_of([FRAME]))
        done = program("profile", "--pcap", str(self.path), PATH="/nonexistent")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("tshark, of the package of that name", done.stderr)

    def test_cut_short(self) -> None:
        """In the last record, packed or not: what is before it, and a note."""
        data = synthetic.capture_of(Training(synthetic.pair()).frames())
        for left in (data[:-3], gzip.compress(data)[:-30]):
            self.path.write_bytes(left)
            done = program("-j", "profile", "--pcap", str(self.path))
            (one,) = json.loads(done.stdout)["profiles"]
            self.assertTrue(one["periodic"])
            self.assertIn("ends within a record", one["notes"][0])

    def test_hostile(self) -> None:
        """Cut short and with bytes that were changed: a profile, or one line."""
        chosen = random.Random(5)
        good = synthetic.capture_of(Training(synthetic.ring(4), iterations=5).frames()[:150])
        read = 0
        for _ in range(40):
            data = bytearray(good[: chosen.randrange(len(good))])
            for _ in range(chosen.choice((0, 1, 20)) if data else 0):
                data[chosen.randrange(len(data))] = chosen.randrange(256)
            self.path.write_bytes(data)
            read += self.survives()
        self.assertGreater(read, 10)

    def survives(self) -> bool:
        try:
            whole = capture.read(str(self.path))
            for one in graph.split(whole) if whole.flows else [whole]:
                profile.text(profile.of_job("j", one, 0.001))
        except PlanError as error:
            self.assertTrue(str(error).isprintable())
            return False
        return True
