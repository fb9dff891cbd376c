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


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = Listener([{"id": 7, "name": "bert"}])
        self.addCleanup(self.listener.close)

    def hints(self) -> Hints:
        made = Hints(str(self.listener.path), "bert")
        self.addCleanup(made.close)
        return made

    def kinds(self) -> list[tuple[int, int, int]]:
        return [(r.job, r.kind, r.bytes) for r in self.listener.rings[-1].records()]


class HandOver(Case):
    def test_records(self) -> None:
        """With 0 for what is no number of bytes."""
        before = time.monotonic_ns()
        made = self.hints()
        numbers: tuple[Any, ...] = (0, 1, (1 << 48) - 1, 1 << 48, -5, "x", None)
        for size in numbers:
            made.phase_start(size)
            made.phase_end()
        records = self.listener.rings[0].records()
        self.assertEqual({r.job for r in records}, {7})
        self.assertEqual([r.kind for r in records], [START, END] * len(numbers))
        self.assertEqual([r.bytes for r in records[::2]], [0, 1, (1 << 48) - 1, 0, 0, 0, 0])
        self.assertTrue(before <= records[0].time_ns <= records[-1].time_ns <= time.monotonic_ns())


class WithoutDaemon(Case):
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
