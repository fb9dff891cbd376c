# SPDX-License-Identifier: GPL-2.0
"""Captures as others write them: links, tunnels, units, cut frames; tshark says what is there."""

import gzip
import json
import os
import shutil
import struct
import subprocess
import unittest
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

from common import program
from mlccplan import capture
from mlccplan.errors import PlanError
from mlccplan.traffic import Traffic
from synthetic import ROCE_PORT, TCP, Frame, Training, host, packet, pair, write_pcap

PAYLOAD = 1000
FRAME = Frame(0, host(1), host(2), PAYLOAD, (1, 2))
MAC = bytes(12)
SAMPLES = Path("/usr/share/doc/python3-dpkt/examples/data")


def quiet(label: str, done: float) -> None:
    """No progress."""


def whole(protocol: int = TCP, before: bytes = b"") -> bytes:
    """All of a packet, from its IP header on."""
    return packet(FRAME, protocol, before) + bytes(PAYLOAD)


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
INNER = whole()
FRAMED = ethernet(0x800, INNER)
TCP6 = struct.pack(">HHIIBBHHH", 1, 2, 0, 0, 5 << 4, 16, 0, 0, 0) + bytes(PAYLOAD)
TUNNELS = {
    "vlan": ethernet(0x8100, b"\0\5\x08\0" + INNER),
    "qinq": ethernet(0x88A8, b"\0\5\x81\0\0\6\x08\0" + INNER),
    "mpls": ethernet(0x8847, b"\0\1\0\x40\0\2\1\x40" + INNER),
    "pseudowire": ethernet(0x8847, b"\0\1\1\x40" + bytes(4) + FRAMED),
    "pppoe": ethernet(0x8864, struct.pack(">BBHHH", 17, 0, 1, len(INNER) + 2, 33) + INNER),
    "ipip": ethernet(0x800, v4(4, INNER)),
    "4in6": ethernet(0x86DD, v6(4, INNER)),
    "gre": ethernet(0x800, v4(47, b"\x20\0\x08\0" + bytes(4) + INNER)),
    "nvgre": ethernet(0x800, v4(47, b"\x20\0\x65\x58" + bytes(4) + FRAMED)),
    "erspan": ethernet(0x800, v4(47, b"\x10\0\x88\xbe" + bytes(4) + b"\x10" + bytes(7) + FRAMED)),
    "vxlan": ethernet(0x800, v4(17, udp(4789, b"\x08" + bytes(7) + FRAMED))),
    "vxlan, groups": ethernet(0x800, v4(17, udp(4789, b"\x88" + bytes(7) + FRAMED))),
    "vxlan, linux": ethernet(0x800, v4(17, udp(8472, b"\x08" + bytes(7) + FRAMED))),
    "vxlan over 6": ethernet(0x86DD, v6(17, udp(4789, b"\x08" + bytes(7) + FRAMED))),
    "gpe": ethernet(0x800, v4(17, udp(4790, b"\x0c\0\0\1" + bytes(4) + INNER))),
    "geneve": ethernet(0x800, v4(17, udp(6081, b"\x02\0\x65\x58" + bytes(12) + FRAMED))),
    "extensions": ethernet(
        0x86DD, v6(0, b"\x2b\0\1\4\0\0\0\0" + b"\x3c\0\0\0\0\0\0\0" + b"\6\0\1\4\0\0\0\0" + TCP6)
    ),
    "atomic fragment": ethernet(0x86DD, v6(44, b"\6\0\0\0\0\0\0\7" + TCP6)),
    "no length": ethernet(0x86DD, v6(6, TCP6, 0)),
    "jumbogram": ethernet(
        0x86DD, v6(0, b"\6\0\xc2\4" + struct.pack(">I", 8 + len(TCP6)) + TCP6, 0)
    ),
    "snap": MAC + struct.pack(">H", 8 + len(INNER)) + b"\xaa\xaa\3\0\0\0\x08\0" + INNER,
}
LINKS = {
    0: b"\2\0\0\0" + INNER,
    9: b"\xff\3\0\x21" + INNER,
    12: INNER,
    101: INNER,
    108: b"\0\0\0\2" + INNER,
    113: bytes(14) + b"\x08\0" + INNER,
    228: INNER,
    229: v6(6, TCP6),
    276: b"\x08\0" + bytes(18) + INNER,
}


ENDS = ((host(1), 1, 2), ("2001:db8::1", 1, 2))
# of 4.0: lengths of 0 in IPv6 and small jumbograms; that a pseudowire needs to be configured
UNKNOWN_TO_TSHARK = ("no length", "jumbogram", "pseudowire")


def lengths(path: Path) -> list[int]:
    """Of TCP's or UDP's payload, of each frame, as tshark has them: of the innermost header."""
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=l"]
    command += ["-e", "tcp.len", "-e", "udp.length", "-d", "udp.port==8472,vxlan"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [int(tcp) if tcp else int(of_udp or 8) - 8 for tcp, of_udp in rows]


class Folder(unittest.TestCase):
    """A place for files."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "x"

    def read(self, rows: list[bytes], link: int = 1, cut: int = 1 << 16) -> Traffic:
        """A capture of these frames, cut to so many bytes each."""
        out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, cut, link)
        for when, row in enumerate(rows):
            out += struct.pack("<IIII", when, 0, len(row[:cut]), len(row)) + row[:cut]
        self.path.write_bytes(out)
        return capture.read(str(self.path), quiet)

    def needs(self, *tools: str) -> None:
        for tool in tools:
            if not shutil.which(tool):
                self.skipTest(f"no {tool} here")


class Headers(Folder):
    """Whatever is around it, a segment's payload and its endpoints are the same."""

    def test_tunnels(self) -> None:
        for name, frame in TUNNELS.items():
            for cut in (1 << 16, 160):
                with self.subTest(tunnel=name, cut=cut):
                    found = self.read([frame] * 3, 1, cut)
                    self.assertEqual(found.payload.tolist(), [PAYLOAD] * 3)
                    self.assertIn((found.flows[0].sender, *found.flows[0][2:]), ENDS)
                    self.assertEqual(found.frames[0], len(frame))

    def test_links(self) -> None:
        for link, frame in LINKS.items():
            with self.subTest(link=link):
                self.assertEqual(self.read([frame] * 3, link, 128).payload.tolist(), [PAYLOAD] * 3)

    def test_as_tshark(self) -> None:
        """These frames are what their names say."""
        self.needs("tshark")
        names = [name for name in TUNNELS if name not in UNKNOWN_TO_TSHARK]
        self.read([TUNNELS[name] for name in names])
        said = dict(zip(names, lengths(self.path), strict=True))
        self.assertEqual(said, dict.fromkeys(said, PAYLOAD))
        for link, frame in LINKS.items():
            self.read([frame] * 3, link)
            self.assertEqual(lengths(self.path), [PAYLOAD] * 3, link)

    def test_infiniband(self) -> None:
        """Four bytes a word, from the local header to the invariant checksum."""
        bth = bytes((7, 0)) + bytes(10) + bytes(PAYLOAD) + bytes(4)
        for follows, more in ((2, b""), (3, v6(0x1B, b"", len(bth)))):
            words = (8 + len(more) + len(bth)) // 4
            lrh = struct.pack(">BBHHH", 0, follows, 5, words, 6)
            found = self.read([lrh + more + bth + bytes(2)] * 3, 247)
            self.assertEqual(found.payload.tolist(), [PAYLOAD] * 3)
        roce = ethernet(0x8915, v6(0x1B, bth))
        self.assertEqual(self.read([roce] * 3).payload.tolist(), [PAYLOAD] * 3)

    def test_roce_in_a_tunnel(self) -> None:
        """Reliable, extended, and of a manufacturer."""
        for opcode, extended in ((7, 0), (0xA7, 4), (0xC7, 0)):
            bth = bytes((opcode, 0)) + bytes(10 + extended) + bytes(PAYLOAD) + bytes(4)
            inner = ethernet(0x800, v4(17, udp(ROCE_PORT, bth)))
            rows = [ethernet(0x800, v4(17, udp(4789, b"\x08" + bytes(7) + inner)))] * 3
            self.assertEqual(self.read(rows, 1, 128).payload.tolist(), [PAYLOAD] * 3)

    def test_fragments(self) -> None:
        """Together they have what the datagram has, and its ports; in a tunnel, too."""
        vxlan = udp(4789, b"\x08" + bytes(7) + FRAMED)
        for datagram, payload in ((udp(9, bytes(1792)), 1792), (vxlan, PAYLOAD)):
            parts = [datagram[at : at + 400] for at in range(0, len(datagram), 400)]
            rows = [
                ethernet(0x800, v4(17, part, None, index * 50 | MORE * (part is not parts[-1])))
                for index, part in enumerate(parts)
            ]
            found = self.read(rows, 1, 128)
            self.assertEqual(len(found.flows), 1)
            self.assertEqual(found.payload.sum(), payload)

    def test_segments_that_the_nic_cuts(self) -> None:
        rows = [ethernet(0x800, v4(6, TCP6 + bytes(200_000), 0))] * 3
        found = self.read(rows, 1, 128)
        self.assertEqual(found.payload.tolist(), [PAYLOAD + 200_000] * 3)
        self.assertEqual(found.frames[0], len(rows[0]))

    def test_left_out(self) -> None:
        """Such as what MACsec encrypts: what is left is no job's whole traffic."""
        sealed = ethernet(0x88E5, bytes(len(INNER)))
        found = self.read([FRAMED, sealed] * 3)
        self.assertEqual(found.payload.tolist(), [PAYLOAD] * 3)
        said = "50% of the bytes are in frames without IP, and left out"
        self.assertEqual(found.notes, (said,))
        self.assertEqual(self.read([FRAMED] * 3).notes, ())

    def test_refused_by_name(self) -> None:
        for link, name in ((127, "127 .IEEE802_11_RADIOTAP"), (150, "150 .of no name")):
            with self.assertRaisesRegex(PlanError, f"link type {name}.* is not one that is read"):
                self.read([INNER] * 3, link)
        with self.assertRaisesRegex(PlanError, "cut before the end of their headers"):
            self.read([TUNNELS["vxlan"]] * 3, 1, 64)
        record = struct.pack("<IIII", 1, 1_000_000, len(INNER), len(INNER)) + INNER
        damaged = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 16, 101) + record
        for data, why in ((b"", "empty"), (damaged, "of the 1000000 parts")):
            self.path.write_bytes(data)
            with self.assertRaisesRegex(PlanError, why):
                capture.read(str(self.path), quiet)


class Files(Folder):
    """What the tools of tcpdump and Wireshark write."""

    def same(self, path: Path, other: Traffic, seconds: float = 1e-6) -> None:
        found = capture.read(str(path), quiet)
        self.assertEqual(found.payload.tolist(), other.payload.tolist())
        self.assertEqual([f[:2] for f in found.flows], [f[:2] for f in other.flows])
        self.assertLess(abs(found.seconds - other.seconds).max(), seconds)

    def test_formats(self) -> None:
        self.needs("editcap", "mergecap")
        write_pcap(self.path, ((f.seconds, packet(f)) for f in Training(pair()).frames()))
        other, new = capture.read(str(self.path), quiet), self.path.with_suffix(".new")
        for form in ("pcap", "nsecpcap", "modpcap", "pcapng"):
            for more in ((), ("-s", "60"), ("-t", "3600.5")):
                subprocess.run(["editcap", "-F", form, *more, str(self.path), str(new)], check=True)
                self.same(new, other)
        packed = self.path.with_suffix(".gz")
        packed.write_bytes(gzip.compress(new.read_bytes()))
        self.same(packed, other)

    def test_merged(self) -> None:
        """Two hosts' captures, in other units and of other links."""
        self.needs("editcap", "mergecap")
        frames = Training(pair()).frames()
        files = [self.path.with_suffix(f".{number}") for number in range(3)]
        for number, link, before in ((0, 1, MAC + b"\x08\0"), (1, 113, bytes(14) + b"\x08\0")):
            ours = [f for f in frames if f.sender == host(number)]
            write_pcap(files[number], ((f.seconds, packet(f, TCP, before)) for f in ours), link)
        nano = self.path.with_suffix(".nano")
        subprocess.run(["editcap", "-F", "nsecpcap", str(files[1]), str(nano)], check=True)
        subprocess.run(["mergecap", "-w", str(files[2]), str(files[0]), str(nano)], check=True)
        write_pcap(self.path, ((f.seconds, packet(f)) for f in frames))
        self.same(files[2], capture.read(str(self.path), quiet))

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

    def test_sections(self) -> None:
        """Of either byte order, with interfaces that count from elsewhere, in other parts."""
        out = b""
        sections = (("<", 9, 1e9, 0), (">", 0x8A, 1024, 4), (">", 3, 1e3, -9))
        for order, resolution, parts, offset in sections:
            out += struct.pack(order + "IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
            options = struct.pack(order + "HHB3xHHqHH", 9, 1, resolution, 14, 8, offset, 0, 0)
            size = 20 + len(options)
            out += struct.pack(order + "IIHHI", 1, size, 101, 0, 0) + options
            out += struct.pack(order + "I", size)
            out += struct.pack(order + "IIIIIHHQHHI", 5, 40, 0, 0, 0, 5, 8, 17, 0, 0, 40)
            for when in (10, 11):
                stamp = int((when - offset) * parts)
                head = (6, 32 + 40, 0, stamp >> 32, stamp & 0xFFFFFFFF, 40, len(INNER))
                out += struct.pack(order + "7I", *head) + INNER[:40] + struct.pack(order + "I", 72)
        self.path.write_bytes(out)
        found = capture.read(str(self.path), quiet)
        self.assertEqual(found.seconds.tolist(), [0, 0, 0, 1, 1, 1])
        self.assertIn("lost 17 frames", found.notes[0])
        self.assertEqual(found.payload.tolist(), [PAYLOAD] * 6)

    def test_cut_short(self) -> None:
        """Anywhere in the last record, packed or not: what is before it, and a note."""
        self.needs("editcap")
        write_pcap(self.path, ((f.seconds, packet(f)) for f in Training(pair()).frames()))
        new = self.path.with_suffix(".new")
        for form in ("pcap", "pcapng"):
            subprocess.run(["editcap", "-F", form, str(self.path), str(new)], check=True)
            data = new.read_bytes()
            for cut in (1, 3, 20, 50, 60, 65):
                new.write_bytes(data[:-cut])
                done = program("-j", "profile", "--pcap", str(new))
                (one,) = json.loads(done.stdout)["profiles"]
                self.assertTrue(one["periodic"])
                self.assertIn("ends within a record", one["notes"][0])
            new.write_bytes(gzip.compress(data)[:-30])
            self.assertTrue(capture.read(str(new), quiet).notes)

    def test_samples(self) -> None:
        """Captures of real hosts: payloads are those that tshark counts."""
        self.needs("tshark")
        files = [
            path for path in (SAMPLES / "http.pcap", SAMPLES / "dns_icmp.pcap") if path.exists()
        ]
        if not files:
            self.skipTest("no captures of python3-dpkt here")
        for path in files:
            found = capture.read(str(path), quiet)
            ports = [bool(found.flows[flow].sender_port) for flow in found.flow.tolist()]
            self.assertEqual(found.payload[ports].sum(), sum(lengths(path)), path)


LIVE = """
ip link set lo up || exit 77
ip link set lo gso_max_size 200000 2>/dev/null  # BIG TCP, where there is that
for how in "-i lo" "-i any" "-i any -y LINUX_SLL"; do
	timeout 20 tcpdump -Z root $how -n -s 128 -B 16384 -U --immediate-mode -w "$0.pcap" ip6 2>&- &
	until [ -s "$0.pcap" ]; do sleep 0.1; kill -0 $! || exit 77; done
	python3 -c '
import socket, threading
listening = socket.create_server(("::1", 5001), family=socket.AF_INET6)
sender = socket.create_connection(("::1", 5001))
near, _ = listening.accept()
thread = threading.Thread(target=lambda: sender.sendall(bytes(20_000_000)) or sender.close())
thread.start()
while near.recv(1 << 20): pass
thread.join()'
	sleep 0.5
	kill $! && wait $!
	mv "$0.pcap" "$0.$(echo "$how" | tr -d ' -')"
done
"""


class Live(Folder):
    """Segments of this kernel's own, larger than an IP header can say, by tcpdump."""

    def test_loopback(self) -> None:
        self.needs("tcpdump", "unshare", "ip")
        if os.geteuid():
            self.skipTest("only root may capture")
        command = ["unshare", "-n", "sh", "-c", LIVE, str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        files = sorted(self.path.parent.glob("x.i*"))
        if len(files) < 3:
            self.skipTest(f"tcpdump cannot capture here: {done.stderr[-200:]!a}")
        for path in files:
            found = capture.read(str(path), quiet)
            sent = found.payload.sum() / 20_000_000  # TCP may send some again
            self.assertTrue(1 <= sent < 1.1, f"{path.name}: {sent}")
