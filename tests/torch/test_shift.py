# SPDX-License-Identifier: GPL-2.0
"""Waiting for slots: the same as include/mlcc/shift.h, and only where mlccd shows a plan."""

import os
import struct
import subprocess
import threading
import time
import unittest
from typing import Any
from unittest import mock

from common import ROOT, Listener
from mlcc_torch import hints, shift, step
from mlcc_torch.ddp import Passes
from mlcc_torch.hints import Hints
from mlcc_torch.shift import Shift, Shifter

VECTORS = ROOT / "build" / "unit" / "gcc" / "test_shift"
MS = 1_000_000
# include/mlcc/uapi/mlcc_ring.h, written down a second time on purpose
SAID, SAID_AT = struct.Struct("=IIqQ"), 80
SHIFT_AT = 136
PLAN = Shift(280 * MS, 40 * MS)
LEAD = 200 * MS


@unittest.skipIf(not VECTORS.exists(), "the C tests are not built: make -C tests/unit")
class SameAsC(unittest.TestCase):
    """Every answer of the header, in some thousand random runs."""

    def test_vectors(self) -> None:
        for seed in range(20):
            command = [VECTORS, "vectors", str(seed), "5000"]
            lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            self.replay(lines.splitlines(), seed)

    def replay(self, lines: list[str], seed: int) -> None:
        known, waits = Shifter(), 0
        for number, line in enumerate(lines):
            kind, *words = line.split()
            values = [int(word) for word in words]
            if kind == "end":
                known.end(*values)
                continue
            period, offset, wall, mono, *wanted = values
            wait = known.start(Shift(period, offset), wall, mono)
            waits += wait > 0
            got = [wait, known.state, known.waits, known.error, known.own_period]
            self.assertEqual(got, wanted, f"seed {seed}, line {number}: {line}")
        self.assertGreater(waits, 3, seed)

    def test_the_ring_is_where_c_has_it(self) -> None:
        from mlcc_torch import ring

        self.assertEqual((ring.SAID_WORD * 8, ring.SHIFT_WORD * 8), (SAID_AT, SHIFT_AT))


class Case(unittest.TestCase):
    """A clock that only sleeping and computing move."""

    def setUp(self) -> None:
        self.listener = Listener([{"id": 7, "name": "bert", "cgroup": "x"}])
        self.addCleanup(self.listener.close)
        self.made = Hints(str(self.listener.path), "bert", True)
        self.addCleanup(self.made.close)
        self.now = 10**18
        self.slept: list[int] = []
        clock = mock.MagicMock(wraps=time)
        clock.time_ns.side_effect = lambda: self.now + 7 * 10**17
        clock.monotonic_ns.side_effect = lambda: self.now
        clock.sleep.side_effect = self.sleep
        patched = mock.patch.object(hints, "time", clock)
        patched.start()
        self.addCleanup(patched.stop)

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds * 1e9))
        self.now += self.slept[-1]

    def plan(self, seq: int = 2, period: int = PLAN.period, offset: int = PLAN.offset) -> None:
        taken = self.listener.rings[-1]
        struct.pack_into("=QQQQ", taken.map, SHIFT_AT, seq, period, offset, LEAD)

    def said(self) -> tuple[int, ...]:
        return SAID.unpack_from(self.listener.rings[-1].map, SAID_AT)

    def at(self) -> int:
        """How long after the last slot it is."""
        return (self.now + 7 * 10**17 - PLAN.offset) % PLAN.period

    def off_slot(self) -> None:
        self.now += PLAN.period - self.at() + 100 * MS


class Waiting(Case):
    def test_without_a_plan_nothing_waits(self) -> None:
        for _ in range(100):
            self.now += 77 * MS
            self.made.wait_for_slot()
            self.made.phase_start(5)
            self.made.phase_end()
        self.assertEqual(self.slept, [])
        self.assertEqual(self.said()[:2], (shift.NONE, 0))
        self.assertEqual(self.listener.requests[-1], {"op": "open-ring", "job": 7})

    def test_a_phase_waits_for_its_slot_once(self) -> None:
        self.plan()
        self.off_slot()
        self.made.wait_for_slot()
        self.assertEqual((self.slept, self.at()), ([180 * MS], 0))
        self.assertEqual(self.said()[:3], (shift.HELD, 1, 100 * MS))
        for _ in range(20):
            self.made.phase_start(5)
            self.now += 80 * MS
            self.made.phase_end()
            self.now += 201 * MS
            self.made.wait_for_slot()
        self.assertEqual(len(self.slept), 1)
        self.assertEqual(self.said(), (shift.OFF, 1, 20 * MS, 281 * MS))

    def test_an_iteration_begins_before_its_phase(self) -> None:
        self.plan()
        self.off_slot()
        self.made.wait_for_slot(iteration=True)
        self.assertEqual(self.at(), PLAN.period - LEAD)

    def test_another_period_is_not_shifted(self) -> None:
        for _ in range(10):
            self.now += 100 * MS
            self.made.wait_for_slot()
        self.plan()
        for _ in range(1000):
            self.now += 100 * MS
            self.made.wait_for_slot()
        self.assertEqual(self.slept, [])
        self.assertEqual(self.said()[0], shift.OTHER_PERIOD)

    def test_what_is_being_written_is_not_taken(self) -> None:
        self.plan(seq=3)
        self.off_slot()
        self.made.wait_for_slot()
        self.assertEqual(self.slept, [])
        self.plan(seq=4)
        self.made.wait_for_slot()
        self.assertEqual(len(self.slept), 1)

    def test_nonsense_in_the_ring_is_no_plan(self) -> None:
        for period, offset in ((1, 0), (2**64 - 1, 0), (10**9, 2**64 - 1), (0, 5), (10**9, 10**9)):
            self.plan(period=period, offset=offset)
            self.off_slot()
            for iteration in (False, True):
                if iteration and period == 10**9:
                    continue  # modulo the period it is one
                self.made.wait_for_slot(iteration=iteration)
                self.assertEqual(self.slept, [], (period, offset))

    def test_who_is_asked_not_to_does_not(self) -> None:
        with mock.patch.dict(os.environ, {"MLCC_SHIFT": "0"}):
            made = Hints(str(self.listener.path), "bert", True)
        self.addCleanup(made.close)
        self.plan()
        self.off_slot()
        made.wait_for_slot()
        self.assertEqual(self.slept, [])

    def test_mlccd_has_gone(self) -> None:
        self.plan()
        self.listener.go()
        self.listener.path.unlink()
        self.listener.listen()
        self.off_slot()
        with self.assertLogs("mlcc_torch", "WARNING"):
            self.made.wait_for_slot()
        self.assertEqual((self.slept, self.made.linked), ([], False))

    def test_others_say_nothing_while_one_sleeps(self) -> None:
        """The lock is not held over the sleep."""
        self.plan()
        self.off_slot()
        done = threading.Event()

        def sleep(seconds: float) -> None:
            threading.Thread(target=lambda: (self.made.phase_start(5), done.set())).start()
            self.assertTrue(done.wait(20), "a hint waits for the slot")

        hints.time.sleep.side_effect = sleep  # type: ignore[attr-defined]
        self.made.wait_for_slot()
        self.assertTrue(done.is_set())


class Hooks(Case):
    """Who waits, and when."""

    def test_passes(self) -> None:
        passes = Passes(self.made, 1.0)
        self.plan()
        for number in range(4):
            self.off_slot()
            passes.bucket(100, True, True)(None)
            self.assertEqual(len(self.slept), number > 1, number)

    def test_phases_by_hand(self) -> None:
        self.plan()
        self.off_slot()
        default = mock.patch.object(step, "_default", return_value=step.Iterations(self.made))
        with default, step.phase(5):
            self.assertEqual(self.at(), 0)
        self.assertEqual(len(self.slept), 1)

    def test_steps(self) -> None:
        for hook in (step.step_hook, step.shift_hook):
            with self.subTest(hook.__name__):
                self.setUp()
                optimizer = Optimizer()
                hook(optimizer, self.made)  # type: ignore[arg-type]
                self.plan()
                self.off_slot()
                self.assertEqual(optimizer.step(), "stepped")
                self.assertEqual((len(self.slept), self.at()), (1, PLAN.period - LEAD))

    def test_the_shift_hook_announces_nothing(self) -> None:
        optimizer = Optimizer()
        step.shift_hook(optimizer, self.made)  # type: ignore[arg-type]
        for _ in range(10):
            self.now += 200 * MS
            optimizer.step()
        self.assertEqual(self.listener.rings[0].records(), [])


class Optimizer:
    """As in torch 1.13: no hooks."""

    def step(self, closure: Any = None) -> str:
        return "stepped"


class Bounded(unittest.TestCase):
    """What no plan can do."""

    def test_never_longer_than_a_period_nor_often(self) -> None:
        known, mono, last = Shifter(), 10**12, 0
        for number in range(20_000):
            mono += 50 * MS
            plan = Shift(47 * MS + number % 5 * MS, number * 31 % 47 * MS)
            wait = known.start(plan, mono * 3, mono)
            self.assertLess(wait, plan.period)
            if not wait:
                continue
            if last:
                self.assertGreaterEqual(mono - last, shift.EVERY)
            mono = last = mono + wait
        self.assertGreater(known.waits, 3)


if __name__ == "__main__":
    unittest.main()
