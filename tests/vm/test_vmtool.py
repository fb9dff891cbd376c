#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of vmtool: what needs neither a network, nor root, nor a guest."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from vmtool import build, splat  # noqa: E402


class SplatTest(unittest.TestCase):
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


def race(who: str, *frames: str) -> list[str]:
    """As KCSAN reports it."""
    text = ["=" * 66, "BUG: KCSAN: data-race in a / b", "", "write to 0xffff of 8 bytes", *frames]
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
