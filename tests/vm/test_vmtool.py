#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of vmtool: what needs neither a network, nor root, nor a guest."""

import io
import lzma
import os
import struct
import sys
import tarfile
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from vmtool import bpf, btf, build, cli, debug, fetch, guest, source, splat  # noqa: E402
from vmtool.cache import Kernel, find  # noqa: E402
from vmtool.util import VmError  # noqa: E402


def elf_with(name: bytes, content: bytes) -> bytes:
    """The smallest ELF file that has a section of that name."""
    names = b"\0" + name + b"\0.shstrtab\0"
    sections = [
        (0, 0, 0),
        (1, 64, len(content)),
        (len(name) + 2, 64 + len(content), len(names)),
    ]
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", named, 1, 0, 0, start, size, 0, 0, 1, 0)
        for named, start, size in sections
    )
    header = bytearray(64)
    header[:4] = b"\x7fELF"
    struct.pack_into("<Q", header, 0x28, 64 + len(content) + len(names))
    struct.pack_into("<HHH", header, 0x3A, 64, len(sections), 2)
    return bytes(header) + content + names + table


def image_with(kernel: bytes) -> bytes:
    """A bzImage as far as its boot header goes; the kernel's size follows the xz stream."""
    payload = lzma.compress(kernel) + struct.pack("<I", len(kernel))
    image = bytearray(2 * 512)
    image[0x1F1] = 1
    struct.pack_into("<II", image, 0x248, 16, len(payload))
    return bytes(image) + bytes(16) + payload


class BtfTest(unittest.TestCase):
    def test_section_is_found(self) -> None:
        self.assertEqual(btf.elf_section(elf_with(b".BTF", b"abc"), b".BTF"), b"abc")

    def test_missing_section_is_named(self) -> None:
        with self.assertRaisesRegex(VmError, r"\.BTF"):
            btf.elf_section(elf_with(b".text", b"abc"), b".BTF")

    def test_from_image(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            image, target = Path(scratch) / "vmlinuz", Path(scratch) / "btf"
            image.write_bytes(image_with(elf_with(b".BTF", b"\x9f\xeb rest")))
            btf.extract_btf(image, None, target)
            self.assertEqual(target.read_bytes(), b"\x9f\xeb rest")

    def test_other_compression_is_refused(self) -> None:
        with self.assertRaisesRegex(VmError, "xz"):
            btf.decompress_image(bytes(2048))


class SplatTest(unittest.TestCase):
    def test_quiet_log(self) -> None:
        log = f"[1] {splat.MARK}\n[2] tcp_mlcc: loading out-of-tree module taints kernel.\n"
        self.assertEqual(splat.find(log), [])

    def test_boot_is_not_judged(self) -> None:
        self.assertEqual(splat.find(f"[0] WARNING: CPU: 0\n[1] {splat.MARK}\n[2] fine\n"), [])

    def test_kinds(self) -> None:
        for text in (
            "WARNING: CPU: 0 PID: 1 at net/ipv4/tcp.c:1",
            "BUG: kernel NULL pointer dereference, address: 0",
            "Oops: 0000 [#1] PREEMPT SMP",
            "Call Trace:",
            "BUG: KASAN: use-after-free in mlcc_init",
            "kernel BUG at lib/list_debug.c:1!",
            "refcount_t: underflow; use-after-free.",
            "BUG: KCSAN: data-race in mlcc_job_acked [tcp_mlcc] / mlcc_slot_show [tcp_mlcc]",
            "unreferenced object 0xffff888012345600 (size 512):",
            "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
            "WARNING: possible circular locking dependency detected",
            "WARNING: suspicious RCU usage",
            "BUG: sleeping function called from invalid context at mm/slab.h:330",
            "ODEBUG: free active (active state 0) object type: timer_list",
            "UBSAN: shift-out-of-bounds in tcp_mlcc/job.c:60:12",
            "INFO: trying to register non-static key.",
        ):
            with self.subTest(text):
                self.assertTrue(splat.find(f"{splat.MARK}\n[2] before\n[3] {text}\n[4] after"))

    def test_int3_that_is_not_in_memory(self) -> None:
        oops = f"{splat.MARK}\n[2] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\n[3] RIP: 0010:f+0x9\n"
        for code, stray in (("fa 53 66 <90> e8 b1", True), ("fa 53 cc <90> e8 b1", False)):
            with self.subTest(code):
                self.assertEqual(splat.stray_int3(splat.find(f"{oops}[4] Code: {code}\n")), stray)
        self.assertFalse(splat.stray_int3(splat.find(oops)), "nothing says what is in memory")
        other = f"{splat.MARK}\n[2] Oops: 0000 [#1]\n[3] Code: 66 <90> e8\n"
        self.assertFalse(splat.stray_int3(splat.find(other)), "a fault of another kind")
        self.assertFalse(splat.stray_int3([]))

    def test_records(self) -> None:
        kmsg = (
            "6,339,5140900,-,caller=T1;NET: Registered\n SUBSYSTEM=acpi\n12,1,15140900,c;a;b, c\n"
        )
        wanted = "[    5.140900][    T1] NET: Registered\n[   15.140900] a;b, c\n"
        self.assertEqual(splat.readable(kmsg), wanted)

    def test_context(self) -> None:
        found = splat.find(f"{splat.MARK}\na\nb\nc\nBUG: x\nd\n")
        self.assertEqual(found, ["b", "c", "BUG: x", "d"])


def race(who: str, *frames: str, between: str = "a / b") -> list[str]:
    """As KCSAN reports it."""
    title = f"BUG: KCSAN: data-race in {between}"
    text = ["=" * 66, title, "", "write to 0xffff of 8 bytes", *frames]
    return [f"[    7.000001][ {who:>5}] {line}" for line in (*text, "=" * 66)]


class RacesTest(unittest.TestCase):
    """Whose a race is says a frame of the module."""

    ours = race("T12", " a+0x1/0x9 [tcp_mlcc]", " tcp_ack+0x1/0x9")
    others = race("C1", " tcp_ack+0x1/0x9", " tcp_poll+0x1/0x9")

    def find(self, *lines: str) -> list[str]:
        return splat.find("\n".join((splat.MARK, *lines)))

    def test_races_of_the_kernel_are_left_out(self) -> None:
        self.assertEqual(self.find(*self.others, *self.others), [])
        self.assertEqual(splat.count_races_of_others("\n".join(self.others * 2)), 2)

    def test_they_hide_none_of_ours(self) -> None:
        for lines in ((*self.others, *self.ours), (*self.ours, *self.others)):
            self.assertIn(self.ours[1], self.find(*lines))
        self.assertEqual(splat.count_races_of_others("\n".join(self.ours)), 0)

    def test_the_buffer_of_traces_is_the_kernels(self) -> None:
        frames = (" trace_event_raw_event_gain_change+0x5e/0x1a0 [tcp_mlcc]",)
        buffer = "ring_buffer_lock_reserve / ring_buffer_unlock_commit"
        self.assertEqual(self.find(*race("T165", *frames, between=buffer)), [])
        for ours in ("ring_buffer_lock_reserve / mlcc_trace_gain [tcp_mlcc]", "memcpy / memcpy"):
            self.assertTrue(self.find(*race("T165", *frames, between=ours)))

    def test_others_may_print_in_between(self) -> None:
        warning = "[    7.000002][   T99] WARNING: CPU: 0 PID: 99"
        lines = [*self.others[:4], warning, *self.others[4:]]
        self.assertIn(warning, self.find(*lines))
        module = "[    7.000002][   T99] tcp_mlcc: job: no rule"
        self.assertEqual(self.find(*self.others[:4], module, *self.others[4:]), [])

    def test_a_report_that_is_cut_off(self) -> None:
        self.assertEqual(self.find(*self.others[:4]), [])
        self.assertTrue(self.find(*self.ours[:6]))


class DebugTest(unittest.TestCase):
    def test_what_a_configuration_did_not_take(self) -> None:
        wanted = 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="c"\n# words\n# CONFIG_D is not set\n'
        got = 'CONFIG_A=m\nCONFIG_B=y\nCONFIG_C="c"\n'
        self.assertEqual(debug.missing(wanted, got), ["CONFIG_B=n", "CONFIG_A=y"])
        self.assertEqual(debug.missing(wanted, 'CONFIG_A=y\nCONFIG_C="c"\n'), [])

    def test_their_fetch_builds(self) -> None:
        with mock.patch.object(debug, "fetch") as built:
            cli._fetch(cli._parse(["fetch", "6.12-kasan"]))
        self.assertEqual([call.args[0].name for call in built.call_args_list], ["6.12-kasan"])


class BootTest(unittest.TestCase):
    """Which guests are booted again."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.where = Path(scratch.name)
        self.enterContext(mock.patch("sys.stderr", io.StringIO()))

    def boots(self, *consoles: str, finished: bool = True) -> tuple[bool, int]:
        """What comes of guests with these consoles, and how many of them were booted."""
        left = list(consoles)

        def boot(*_: object) -> bool:
            (self.where / "console").write_text(left.pop(0))
            return finished

        with mock.patch.object(guest, "_boot", boot):
            result = guest._boot_until_started(find("6.12"), mock.Mock(), self.where)
        return result, len(consoles) - len(left)

    def test_death_at_boot(self) -> None:
        dead = "[1] Oops: int3: 0000 [#1]\n"
        self.assertEqual(self.boots(dead, splat.MARK, splat.MARK), (True, 2))
        self.assertEqual(self.boots(dead, dead, dead, splat.MARK), (True, 3))

    def test_death_later(self) -> None:
        self.assertEqual(self.boots(f"{splat.MARK}\n[2] Oops: 0000\n", splat.MARK), (True, 1))

    def test_deadline(self) -> None:
        self.assertEqual(self.boots("[1] booting\n", splat.MARK, finished=False), (False, 1))


class SourcesTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree, self.copy = Path(scratch.name) / "tree", Path(scratch.name) / "copy"
        (self.tree / "sub").mkdir(parents=True)
        (self.tree / "sub/a.c").write_text("a")
        (self.tree / "b.c").write_text("b")

    def sync(self) -> None:
        build.sync_sources(self.tree, self.copy)

    def test_objects_of_the_copy_survive(self) -> None:
        self.sync()
        (self.copy / "b.o").write_text("object")
        self.sync()
        self.assertTrue((self.copy / "b.o").exists())

    def test_removed_sources_go(self) -> None:
        self.sync()
        (self.tree / "sub/a.c").unlink()
        self.sync()
        self.assertFalse((self.copy / "sub/a.c").exists())

    def test_unchanged_files_keep_their_time(self) -> None:
        os.utime(self.tree / "b.c", (1_000_000, 1_000_000))
        self.sync()
        inode = (self.copy / "b.c").stat().st_ino
        self.sync()
        self.assertEqual((self.copy / "b.c").stat().st_ino, inode)
        self.assertEqual((self.copy / "b.c").stat().st_mtime, 1_000_000)

    def test_changed_files_are_copied(self) -> None:
        self.sync()
        (self.tree / "b.c").write_text("longer")
        self.sync()
        self.assertEqual((self.copy / "b.c").read_text(), "longer")


class CarrierTest(unittest.TestCase):
    def test_two_builds_for_one_kernel_take_turns(self) -> None:
        running: list[int] = []
        most: list[int] = []

        def make(*_: object) -> None:
            running.append(1)
            time.sleep(0.05)
            most.append(len(running))
            running.pop()

        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        tree = Path(scratch.name)
        (tree / "userspace/mlcc-bpf").mkdir(parents=True)
        (tree / "userspace/mlcc-bpf/Makefile").touch()
        with (
            mock.patch.dict(os.environ, {"MLCC_CACHE": scratch.name}),
            mock.patch.object(Kernel, "need"),
            mock.patch.object(bpf, "need_tool"),
            mock.patch.object(bpf, "run", make),
        ):
            builds = [
                threading.Thread(target=bpf.build, args=(find("7.2"), tree)) for _ in range(2)
            ]
            for one in builds:
                one.start()
            for one in builds:
                one.join()
        self.assertEqual(most, [1, 1])


class KernelSourceTest(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.target = Path(self.scratch.name)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name in ("a/x.c", "drivers/rxe/one.c", "drivers/rxe/two.h", "drivers/siw/one.c"):
                tar.addfile(tarfile.TarInfo(f"linux-source/{name}"))
        packed.seek(0)
        self.tar = self.enterContext(tarfile.open(fileobj=packed, mode="r|"))

    def found(self) -> list[str]:
        return sorted(str(path.relative_to(self.target)) for path in self.target.rglob("*.*"))

    def test_a_folder(self) -> None:
        prefix = "drivers/rxe/"
        count = source._copy(
            self.tar,
            self.target,
            lambda path: path.removeprefix(prefix) if path.startswith(prefix) else None,
            0,
        )
        self.assertEqual((count, self.found()), (2, ["one.c", "two.h"]))

    def test_no_more_than_enough(self) -> None:
        count = source._copy(self.tar, self.target, lambda path: path.replace("/", "_"), 3)
        self.assertEqual((count, len(self.found())), (3, 3))


class ArchiveTest(unittest.TestCase):
    def words(self, kernel: str) -> list[str | Path]:
        with mock.patch.dict(os.environ, MLCC_MIRROR="http://mirror.example/debian"):
            return fetch.archive(find(kernel), Path("/root"))

    def test_a_release_is_complete(self) -> None:
        self.assertEqual(
            self.words("6.12"), ["trixie", Path("/root"), "http://mirror.example/debian"]
        )

    def test_a_candidate_stands_on_sid(self) -> None:
        self.assertEqual(
            self.words("7.3"),
            [
                "sid",
                Path("/root"),
                "http://mirror.example/debian",
                "deb http://mirror.example/debian experimental main",
            ],
        )


class CommandLineTest(unittest.TestCase):
    def test_all_is_what_has_been_released(self) -> None:
        with mock.patch.object(fetch, "fetch") as fetched:
            cli._fetch(cli._parse(["fetch", "all"]))
        names = [call.args[0].name for call in fetched.call_args_list]
        self.assertEqual(names, ["6.1", "6.12", "7.2"])

    def test_options_of_the_command_are_left_alone(self) -> None:
        args = cli._parse(["run", "6.1", "--cpus", "1", "--", "ls", "--cpus", "--", "x"])
        self.assertEqual((args.cpus, args.command), (1, ["ls", "--cpus", "--", "x"]))

    def test_make_words_may_follow_options(self) -> None:
        args = cli._parse(["build", "6.1", "V=1", "--tree", "/x", "KCFLAGS=-Werror -O1"])
        self.assertEqual(args.words, ["V=1", "KCFLAGS=-Werror -O1"])

    def test_a_counted_clock_goes_with_one_cpu(self) -> None:
        args = cli._parse(["run", "6.1", "--counted", "--cpus", "2", "--", "true"])
        with self.assertRaisesRegex(VmError, "one CPU"):
            args.handler(args)

    def test_unknown_kernel_is_a_usage_error(self) -> None:
        with self.assertRaises(VmError) as caught:
            find("2.4")
        self.assertEqual(caught.exception.status, 2)


if __name__ == "__main__":
    unittest.main()
