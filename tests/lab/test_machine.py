# SPDX-License-Identifier: GPL-2.0
"""What the lab takes of the machine, and gives back."""

import os
import unittest
from unittest import mock

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

    def test_urgent_and_back(self) -> None:
        with machine.reserved():  # nobody else's lab changes it meanwhile
            self.assertEqual(self.policy(), (os.SCHED_RR, 1))
            with machine._urgent_packets():
                self.assertEqual(self.policy(), (os.SCHED_RR, 1))
            self.assertEqual(self.policy(), (os.SCHED_RR, 1))

    def test_put_back_after_an_error(self) -> None:
        with machine.reserved():
            assert self.thread is not None
            os.sched_setscheduler(self.thread, os.SCHED_OTHER, os.sched_param(0))
            with self.assertRaises(ZeroDivisionError), machine._urgent_packets():
                raise ZeroDivisionError
            self.assertEqual(self.policy(), (os.SCHED_OTHER, 0))


class Mask(unittest.TestCase):
    """Of the CPU that carries the packets, for sysfs."""

    def test_words(self) -> None:
        for cpu, mask in (
            (0, "1"),
            (31, "80000000"),
            (32, "1,00000000"),
            (65, "2,00000000,00000000"),
        ):
            with mock.patch.object(machine, "network_cpu", return_value=cpu):
                self.assertEqual(machine.network_cpu_mask(), mask)
