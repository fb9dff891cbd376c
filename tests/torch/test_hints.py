# SPDX-License-Identifier: GPL-2.0
"""Hints against an mlccd that only takes notes. Needs neither torch nor root."""

import fcntl
import os
import time
import unittest
from typing import Any
from unittest import mock

import fake_mlccd
from common import until
from fake_mlccd import END, START, Listener
from mlcc_torch import library
from mlcc_torch.hints import Hints

SLOTS = 256
JOBS = [
    {"id": 7, "name": "bert"},
    {"id": 8, "name": "gpt"},
    {"id": 9, "name": "other"},
]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = Listener(JOBS)
        self.addCleanup(self.listener.close)

    def hints(self, **named: Any) -> Hints:
        made = Hints(str(self.listener.path), **{"job": "bert", **named})
        self.addCleanup(made.close)
        return made

    def kinds(self) -> list[tuple[int, int, int]]:
        return [(r.job, r.kind, r.bytes) for r in self.listener.rings[-1].records()]


class HandOver(Case):
    def test_the_ring_is_as_the_protocol_wants_it(self) -> None:
        self.hints()
        taken = self.listener.rings[0]
        self.assertEqual(taken.head, (0x6D6C6363, 1, SLOTS, 64))
        self.assertEqual(os.fstat(taken.fds[0]).st_size, 192 + 64 * SLOTS)
        seals = fcntl.fcntl(taken.fds[0], fcntl.F_GET_SEALS)
        self.assertEqual(seals & 6, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.assertEqual(os.readlink(f"/proc/self/fd/{taken.fds[1]}"), "anon_inode:[eventfd]")

    def test_every_record_is_whole(self) -> None:
        before = time.monotonic_ns()
        made = self.hints()
        numbers: tuple[Any, ...] = (0, 1, 250_000_000, (1 << 48) - 1, 1 << 48, -5)
        for size in numbers:
            made.phase_start(size)
            made.phase_end()
        after = time.monotonic_ns()
        records = self.listener.rings[0].records()
        self.assertEqual([r.seq for r in records], list(range(12)))
        self.assertEqual({r.version for r in records}, {1})
        self.assertEqual({r.job for r in records}, {7})
        self.assertEqual({r.zero for r in records}, {bytes(32)})
        self.assertEqual([r.kind for r in records], [START, END] * 6)
        sizes = [r.bytes for r in records]
        self.assertEqual(sizes[::2], [0, 1, 250_000_000, (1 << 48) - 1, 0, 0])
        self.assertEqual(sizes[1::2], [0] * 6)
        times = [r.time_ns for r in records]
        self.assertEqual(times, sorted(times))
        self.assertTrue(before <= times[0] and times[-1] <= after)
        self.assertEqual(os.eventfd_read(self.listener.rings[0].fds[1]), 12)

    def test_it_wraps_around(self) -> None:
        made = self.hints()
        for _ in range(3 * SLOTS):
            made.phase_start(5)
            self.listener.rings[0].take()
        self.assertEqual(self.listener.rings[0].number(64), 3 * SLOTS)
        self.assertEqual(self.listener.rings[0].dropped, 0)
        last = fake_mlccd.RECORDS_AT + 64 * (SLOTS - 1)
        fields = fake_mlccd.Record(*fake_mlccd.RECORD.unpack_from(self.listener.rings[0].map, last))
        self.assertEqual(fields.seq, 3 * SLOTS - 1)


class WhichJob(Case):
    def job(self, **named: Any) -> int:
        made = self.hints(**named)
        made.phase_start(1)
        return self.kinds()[0][0]

    def test_by_name_and_by_number(self) -> None:
        self.assertEqual(self.job(job="other"), 9)
        self.assertEqual(self.job(job="8"), 8)

    def test_by_environment(self) -> None:
        for environment in (
            {"MLCC_JOB": "other"},
            {"MLCC_JOB_ID": "other"},
            {"MLCC_JOB": "other", "MLCC_JOB_ID": "gpt"},
        ):
            with self.subTest(environment), mock.patch.dict(os.environ, environment):
                self.assertEqual(self.job(job=None), 9)

    def test_by_cgroup_as_mlccd_sees_it(self) -> None:
        self.listener.own = 8
        self.assertEqual(self.job(job=""), 8)

    def test_no_job_is_a_warning(self) -> None:
        for named in ({"job": ""}, {"job": "nobody"}):
            with self.subTest(named):
                with self.assertLogs("mlcc_torch", "WARNING") as logs:
                    made = self.hints(**named)
                    made.phase_start(5)
                self.assertEqual(len(logs.output), 1)
                self.assertFalse(made.linked)
        self.assertEqual(self.listener.rings, [])

    def test_a_name_that_cannot_be(self) -> None:
        for name in ("a b", 'a"b', "ä", "n" * 64):
            with self.subTest(name), self.assertLogs("mlcc_torch", "WARNING") as logs:
                self.hints(job=name).phase_start(5)
            self.assertEqual(len(logs.output), 1)
        self.assertEqual(self.listener.requests, [])


class WithoutDaemon(Case):
    def test_there_is_none(self) -> None:
        with self.assertLogs("mlcc_torch", "WARNING") as logs:
            made = Hints("/nonexistent/mlccd.sock", "bert")
            for _ in range(1000):
                made.phase_start(5)
                made.phase_end()
        self.assertEqual(len(logs.output), 1, logs.output)

    def test_one_that_never_answers(self) -> None:
        self.listener.mute = True
        with self.assertLogs("mlcc_torch", "WARNING") as logs:
            made = self.hints()
        self.assertFalse(made.linked)
        self.assertEqual(len(logs.output), 1, logs.output)
        self.assertEqual(len(self.listener.requests), 1)

    def test_nonsense_for_an_answer(self) -> None:
        for answer in ({"ok": True}, {"ok": True, "jobs": []}, {"ok": True, "jobs": [{"id": "x"}]}):
            with (
                self.subTest(answer),
                mock.patch.object(Listener, "_reply", return_value=answer),
                self.assertLogs("mlcc_torch", "WARNING"),
            ):
                self.assertFalse(self.hints().linked)

    def test_it_goes_and_comes_back(self) -> None:
        made = self.hints()
        made.phase_start(5)
        made.phase_end()
        with self.assertLogs("mlcc_torch", "WARNING") as logs:
            self.listener.go()
            for _ in range(50):
                made.phase_start(5)
                made.phase_end()
        self.assertEqual(len(logs.output), 1, logs.output)
        self.assertFalse(made.linked)
        self.listener.path.unlink()
        self.listener.listen()
        self.find(made)
        made.phase_start(77)
        self.assertEqual(len(self.listener.rings), 2)
        self.assertEqual(self.kinds()[-1], (7, START, 77))

    def test_one_that_comes_later_is_found(self) -> None:
        self.listener.go()
        self.listener.path.unlink()
        with self.assertLogs("mlcc_torch", "WARNING"):
            made = self.hints()
        self.listener.listen()
        self.find(made)
        made.phase_start(77)
        self.assertEqual(self.kinds()[-1], (7, START, 77))

    def find(self, made: Hints) -> None:
        """It is looked for at the beginnings of phases, every two seconds."""

        def linked() -> bool:
            made.phase_start(5)
            return made.linked

        until(linked, "a ring")

    def test_without_the_library(self) -> None:
        with (
            mock.patch.object(library, "NAME", "libmlcc-none.so.0"),
            self.assertLogs("mlcc_torch", "WARNING") as logs,
        ):
            made = self.hints()
            made.phase_start(5)
            made.wait_for_slot()
            made.phase_end()
            self.assertFalse(made.linked)
        self.assertEqual(len(logs.output), 1, logs.output)

    def test_it_is_not_asked_all_the_time(self) -> None:
        with self.assertLogs("mlcc_torch", "WARNING"):
            made = self.hints(job="nobody")
        asked, began = len(self.listener.requests), time.monotonic()
        for _ in range(10_000):
            made.phase_start(5)
        # every two seconds
        took = time.monotonic() - began
        self.assertLessEqual(len(self.listener.requests), asked + 1 + took / 2)

    def test_the_ring_is_full(self) -> None:
        made = self.hints()
        with self.assertLogs("mlcc_torch", "WARNING") as logs:
            for _ in range(SLOTS + 10):
                made.phase_start(5)
        self.assertEqual(len(logs.output), 1, logs.output)
        taken = self.listener.rings[0]
        self.assertEqual((taken.number(64), taken.dropped), (SLOTS, 10))
        taken.take()
        made.phase_start(6)
        self.assertEqual(taken.number(64), SLOTS + 1)

    def test_a_child_says_nothing(self) -> None:
        made = self.hints()
        child = os.fork()
        if not child:
            made.phase_start(5)
            os._exit(0)
        os.waitpid(child, 0)
        made.phase_start(6)
        self.assertEqual(self.kinds(), [(7, START, 6)])

    def test_after_the_end(self) -> None:
        made = self.hints()
        made.close()
        made.close()
        made.phase_start(5)
        self.assertEqual(self.kinds(), [])
