# SPDX-License-Identifier: GPL-2.0
"""Waiting for slots, where mlccd shows a plan. How long, how often: tested in tests/nccl."""

import os
import struct
import subprocess
import sys
import threading
import time
from unittest import mock

import test_step
from common import PACKAGE
from mlcc_torch import hints, step

S = 1_000_000_000
# include/mlcc/uapi/mlcc_ring.h and shift.h, written down a second time on purpose
SAID, SAID_AT = struct.Struct("=IIqQ"), 80
SHIFT_AT = 136
NONE, HELD = range(2)
PERIOD, LEAD = 50 * S, 20 * S
# of the period, from now to the slot: so a busy machine changes nothing
AHEAD = 30 * S


class Case(test_step.Case):
    """Sleeping is only noted."""

    def setUp(self) -> None:
        super().setUp()
        self.slept: list[float] = []
        clock = mock.MagicMock(wraps=time)
        clock.sleep.side_effect = self.slept.append
        patched = mock.patch.object(hints, "time", clock)
        patched.start()
        self.addCleanup(patched.stop)

    def plan(self, seq: int = 2) -> None:
        """A slot is in AHEAD, and the iteration that leads to it would begin in AHEAD - LEAD."""
        offset = (time.time_ns() + AHEAD) % PERIOD
        struct.pack_into("=QQQQ", self.listener.rings[-1].map, SHIFT_AT, seq, PERIOD, offset, LEAD)

    def said(self) -> tuple[int, ...]:
        return SAID.unpack_from(self.listener.rings[-1].map, SAID_AT)

    def check_slept(self, seconds: int) -> None:
        """Once, and a machine that stood still for a while has slept less."""
        self.assertEqual(len(self.slept), 1)
        self.assertTrue(seconds - 5 < self.slept[0] <= seconds, self.slept)


class Waiting(Case):
    def test_of_the_processes_of_a_host_one_waits(self) -> None:
        """The one to whom mlccd shows the plan."""
        self.plan()
        self.made.wait_for_slot()
        self.check_slept(AHEAD // S)
        self.assertEqual(self.said()[:2], (HELD, 1))
        program = "import sys; from mlcc_torch import Hints; made = Hints(sys.argv[1], 'bert')\n"
        program += "input(); made.wait_for_slot(); made.phase_start(9); print(made.linked)"
        other = subprocess.Popen(
            [sys.executable, "-c", program, str(self.listener.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            text=True,
        )
        while len(self.listener.rings) < 2:
            time.sleep(0.01)
        out, _ = other.communicate("go\n", timeout=AHEAD // S)
        self.assertEqual(out, "True\n")
        self.assertEqual(self.said()[:2], (NONE, 0))

    def test_others_say_nothing_while_one_sleeps(self) -> None:
        """The lock is not held over the sleep."""
        self.plan()
        done = threading.Event()

        def sleep(seconds: float) -> None:
            threading.Thread(target=lambda: (self.made.phase_start(5), done.set())).start()
            self.assertTrue(done.wait(20), "a hint waits for the slot")

        hints.time.sleep.side_effect = sleep  # type: ignore[attr-defined]
        self.made.wait_for_slot()
        self.assertTrue(done.is_set())


class Hooks(Case):
    """Who waits, and when."""

    def test_phases_by_hand(self) -> None:
        self.plan()
        with step.phase(5):
            self.check_slept(AHEAD // S)

    def test_steps(self) -> None:
        for hook in (step.step_hook, step.shift_hook):
            with self.subTest(hook.__name__):
                self.setUp()
                optimizer = test_step.OldOptimizer()
                hook(optimizer, self.made)  # type: ignore[arg-type]
                self.plan()
                self.assertEqual(optimizer.step("stepped"), "stepped")
                self.check_slept((AHEAD - LEAD) // S)
                if hook is step.shift_hook:
                    self.assertEqual(self.listener.rings[0].records(), [])
