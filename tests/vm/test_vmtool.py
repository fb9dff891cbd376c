#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of vmtool: what needs neither a network, nor root, nor a guest."""

import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from vmtool import build, cli, guest, splat  # noqa: E402
from vmtool.cache import find  # noqa: E402
from vmtool.util import VmError  # noqa: E402


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
                found = splat.find(f"{splat.MARK}\n[2] before\n[3] {text}\n[4] after")
                self.assertEqual(splat.first(found), f"[3] {text}")

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
    def test_the_copy_has_what_is_there_now_and_its_objects(self) -> None:
        scratch = Path(self.enterContext(tempfile.TemporaryDirectory()))
        tree, copy = scratch / "tree", scratch / "copy"
        (tree / "sub").mkdir(parents=True)
        for name in ("sub/a.c", "b.c", "same.c"):
            (tree / name).write_text(name)
        build.sync_sources(tree, copy)
        (copy / "b.o").write_text("object")
        same = (copy / "same.c").stat().st_ino
        (tree / "sub/a.c").unlink()
        (tree / "b.c").write_text("longer")
        build.sync_sources(tree, copy)
        self.assertFalse((copy / "sub/a.c").exists())
        self.assertEqual((copy / "b.c").read_text(), "longer")
        self.assertTrue((copy / "b.o").exists())
        self.assertEqual((copy / "same.c").stat().st_ino, same)


class CommandLineTest(unittest.TestCase):
    def test_options_of_the_command_are_left_alone(self) -> None:
        args = cli._parse(["run", "6.1", "--cpus", "1", "--", "ls", "--cpus", "--", "x"])
        self.assertEqual((args.cpus, args.command), (1, ["ls", "--cpus", "--", "x"]))

    def test_a_counted_clock_goes_with_one_cpu(self) -> None:
        args = cli._parse(["run", "6.1", "--counted", "--cpus", "2", "--", "true"])
        with self.assertRaisesRegex(VmError, "one CPU"):
            args.handler(args)

    def test_unknown_kernel_is_a_usage_error(self) -> None:
        with self.assertRaises(VmError) as caught:
            find("2.4")
        self.assertEqual(caught.exception.status, 2)
