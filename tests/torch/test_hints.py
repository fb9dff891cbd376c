# SPDX-License-Identifier: GPL-2.0
"""Hints against an mlccd that only takes notes. Needs neither torch nor root."""

import os
import time
import unittest
from typing import Any
from unittest import mock

from fake_mlccd import END, START, Listener
from mlcc_torch import library
from mlcc_torch.hints import Hints

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


class WhichJob(Case):
    def job(self, **named: Any) -> int:
        made = self.hints(**named)
        made.phase_start(1)
        return self.kinds()[0][0]

    def test_by_name_and_by_number(self) -> None:
        self.assertEqual(self.job(job="other"), 9)
        self.assertEqual(self.job(job="8"), 8)

    def test_no_job_is_a_warning(self) -> None:
        for named in ({"job": ""}, {"job": "nobody"}):
            with self.subTest(named):
                with self.assertLogs("mlcc_torch", "WARNING") as logs:
                    made = self.hints(**named)
                    made.phase_start(5)
                self.assertEqual(len(logs.output), 1)
                self.assertFalse(made.linked)
        self.assertEqual(self.listener.rings, [])


class WithoutDaemon(Case):
    def test_there_is_none(self) -> None:
        with self.assertLogs("mlcc_torch", "WARNING") as logs:
            made = Hints("/nonexistent/mlccd.sock", "bert")
            for _ in range(1000):
                made.phase_start(5)
                made.phase_end()
        self.assertEqual(len(logs.output), 1, logs.output)

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
