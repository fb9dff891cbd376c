# SPDX-License-Identifier: GPL-2.0
"""What the lab takes of the machine, and gives back."""

import os
import unittest

from mlcclab import machine


class Packets(unittest.TestCase):
    """The kernel's thread that carries them."""

    def setUp(self) -> None:
        self.thread = machine._softirq_thread()
        if os.geteuid() != 0 or self.thread is None:
            self.skipTest("needs root, and to see the kernel's threads")

    def policy(self) -> tuple[int, int]:
        """Of the thread, now."""
        assert self.thread is not None
        return os.sched_getscheduler(self.thread), os.sched_getparam(self.thread).sched_priority

    def test_put_back_after_an_error(self) -> None:
        with machine.reserved():
            self.assertEqual(self.policy(), (os.SCHED_RR, 1))
            assert self.thread is not None
            os.sched_setscheduler(self.thread, os.SCHED_OTHER, os.sched_param(0))
            with self.assertRaises(ZeroDivisionError), machine._urgent_packets():
                raise ZeroDivisionError
            self.assertEqual(self.policy(), (os.SCHED_OTHER, 0))
