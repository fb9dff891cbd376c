# SPDX-License-Identifier: GPL-2.0
"""Phases by hand and by the optimizer's step, with optimizers that only look like torch's."""

import contextlib
import fcntl
import socket
import struct
import termios
import threading
import types
import unittest
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

import common  # noqa: F401  (finds the package)
from fake_mlccd import END, START, Listener
from memory_mlccd import until
from mlcc_torch import step
from mlcc_torch.hints import Hints
from mlcc_torch.sockets import Meter, _is_own, _stays


class Pair:
    """Two connected TCP sockets; what is sent is read at once."""

    def __init__(self, host: str = "127.0.0.1", to: str = "") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        dual = host == "::"
        with socket.create_server((host, 0), family=family, dualstack_ipv6=dual) as server:
            self.near = socket.create_connection((to or host, server.getsockname()[1]))
            self.far, _ = server.accept()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with self.far:
            while self.far.recv(1 << 20):
                pass

    def send(self, size: int) -> None:
        """Returns when all of it has been acknowledged."""
        self.near.sendall(bytes(size))
        until(lambda: not self._unacknowledged(), "the last acknowledgement")

    def _unacknowledged(self) -> int:
        return int(struct.unpack("i", fcntl.ioctl(self.near, termios.TIOCOUTQ, bytes(4)))[0])

    def close(self) -> None:
        self.near.close()


class OldOptimizer:
    """As in torch 1.13: no hooks."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self, closure: Any = None) -> Any:
        self.steps += 1
        return closure


class NewOptimizer(OldOptimizer):
    """As in torch 2: hooks."""

    def register_step_post_hook(self, hook: Callable[..., None]) -> None:
        self.hook = hook

    def step(self, closure: Any = None) -> Any:
        result = super().step(closure)
        self.hook(self, (closure,), {})
        return result


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = Listener([{"id": 7, "name": "bert", "cgroup": "x"}])
        self.addCleanup(self.listener.close)
        self.made = Hints(str(self.listener.path), "bert")
        self.addCleanup(self.made.close)
        self.pair = Pair()
        self.addCleanup(self.pair.close)
        default = mock.patch.object(step, "default", return_value=step.Iterations(self.made))
        default.start()
        self.addCleanup(default.stop)

    def said(self) -> list[tuple[int, int]]:
        return [(r.kind, r.bytes) for r in self.listener.rings[0].records()]


class Phases(Case):
    def test_the_meter(self) -> None:
        meter = Meter()
        self.assertEqual(meter.since_last(), 0)
        for size in (100_000, 1, 2_000_000):
            self.pair.send(size)
            self.assertEqual(meter.since_last(), size)
        self.pair.close()
        self.assertEqual(meter.since_last(), 0)

    def test_of_a_process_that_reaches_other_hosts_only_that_counts(self) -> None:
        stays = mock.patch("mlcc_torch.sockets._stays", return_value=True)
        self.pair.send(1)
        with contextlib.closing(Pair()) as away, stays as answer:
            answer.side_effect = lambda fd: fd != away.near.fileno()
            meter = Meter()
            meter.since_last()
            self.pair.send(5000)
            self.assertEqual(meter.since_last(), 1)
            away.send(300)
            self.pair.send(5000)
            self.assertEqual(meter.since_last(), 300)
            self.assertEqual(meter.since_last(), 0)

    def test_what_stays_on_the_host(self) -> None:
        """Of IPv6, of IPv4 in IPv6, and of the name that Debian gives a host."""
        if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
            self.skipTest("no IPv6 here")
        for host, to in (("::1", ""), ("::", "127.0.0.1"), ("127.0.1.1", ""), ("::", "::1")):
            with self.subTest(host=host, to=to), contextlib.closing(Pair(host, to)) as pair:
                for end in (pair.near, pair.far):
                    self.assertTrue(_stays(end.fileno()))
        self.assertFalse(_is_own("192.0.2.1"))
        asked = mock.patch("mlcc_torch.sockets._is_own")
        with contextlib.closing(Pair("::", "127.0.1.1")) as pair, asked as is_own:
            _stays(pair.far.fileno())
        is_own.assert_called_once_with("127.0.0.1")

    def test_the_meter_counts_what_still_waits(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            near = socket.create_connection(server.getsockname())
            far, _ = server.accept()
        self.addCleanup(near.close)
        self.addCleanup(far.close)
        meter = Meter()
        meter.since_last()
        near.setblocking(False)
        taken = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                taken += near.send(bytes(1 << 20))
        self.assertEqual(meter.since_last(), taken)

    def test_bytes_by_hand(self) -> None:
        for size in (5, 6):
            with step.phase(size):
                pass
        self.assertEqual(self.said(), [(START, 5), (END, 0), (START, 6), (END, 0)])

    def test_phases_of_two_names(self) -> None:
        for size in (1000, 2000, 3000, 4000):
            for name in ("step", "reduce"):
                with step.phase(name=name):
                    self.pair.send(size + (name == "reduce"))
        sizes = [size for kind, size in self.said() if kind == START]
        self.assertEqual(sizes, [2000, 2001, 3000, 3001])

    def test_a_phase_that_failed_teaches_nothing(self) -> None:
        for size in (1000, 2000, 3, 4000):
            with contextlib.suppress(KeyError), step.phase():
                self.pair.send(size)
                if size == 3:
                    raise KeyError
            self.assertEqual(self.said()[-1:], [(END, 0)] * (size in (3, 4000)))
        sizes = [size for kind, size in self.said() if kind == START]
        self.assertEqual(sizes, [2000, 2000])

    def test_steps(self) -> None:
        for kind in (OldOptimizer, NewOptimizer):
            with self.subTest(kind.__name__):
                self.setUp()
                optimizer = kind()
                step.step_hook(optimizer, self.made)  # type: ignore[arg-type]
                for size in (9_000_000, 1000, 2000, 3000):
                    self.pair.send(size)
                    self.assertEqual(optimizer.step("x"), "x")
                self.assertEqual(optimizer.steps, 4)
                self.assertEqual(self.said(), [(START, 2000), (END, 0), (START, 3000)])

    def test_a_scheduler_can_take_the_step_apart(self) -> None:
        optimizer = OldOptimizer()
        step.step_hook(optimizer, self.made)  # type: ignore[arg-type]
        method = optimizer.step
        self.assertIsInstance(method, types.MethodType)
        self.assertIs(method.__self__, optimizer)
        method.__func__(optimizer)
        self.assertEqual(optimizer.steps, 1)

    def test_wrappers_of_optimizers(self) -> None:
        """Which are optimizers by name only: without hooks, or with some that they never call."""

        class Wrapper(torch.optim.Optimizer):
            def __init__(self, inner: Any) -> None:
                self.optimizer = inner
                self.param_groups = inner.param_groups

            def step(self, closure: Any = None) -> Any:
                return self.optimizer.step(closure)

        class Hooked(Wrapper):
            def __init__(self, inner: Any) -> None:
                super().__init__(inner)
                self._optimizer_step_post_hooks: dict[int, Any] = {}

        class Two(Wrapper):
            def __init__(self, inner: Any) -> None:
                super().__init__(inner)
                self.other = torch.optim.SGD([torch.zeros(1)], lr=0.1)

        class Slots:
            __slots__ = ("steps",)

            def step(self) -> None:
                """It cannot be seen."""

        for wraps in ([Wrapper], [Hooked], [Two], [Wrapper, Hooked], [Hooked, Wrapper, Two]):
            with self.subTest([wrap.__name__ for wrap in wraps]):
                seen: list[int] = []
                optimizer: Any = torch.optim.SGD([torch.zeros(1)], lr=0.1)
                for wrap in wraps:
                    optimizer = wrap(optimizer)
                step.after_step(optimizer, lambda *_, seen=seen: seen.append(1))
                for _ in range(3):
                    optimizer.step()
                self.assertEqual(len(seen), 3)
        with self.assertLogs("mlcc_torch", "WARNING"):
            step.after_step(Slots(), print)  # type: ignore[arg-type]

    def test_a_hook_raises_nothing(self) -> None:
        optimizer = OldOptimizer()
        step.after_step(optimizer, mock.Mock(side_effect=KeyError))  # type: ignore[arg-type]
        self.assertEqual(optimizer.step("x"), "x")

    def test_optimizers_of_torch(self) -> None:
        for before in (True, False):
            with self.subTest(scheduler_first=before), warnings.catch_warnings():
                warnings.simplefilter("error")
                self.setUp()
                weight = torch.nn.Parameter(torch.ones(3))
                optimizer = torch.optim.SGD([weight], lr=1.0)
                if not before:
                    step.step_hook(optimizer, self.made)
                scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
                if before:
                    step.step_hook(optimizer, self.made)
                for size in (100, 200, 300):
                    self.pair.send(size)
                    weight.sum().backward()
                    optimizer.step()
                    optimizer.zero_grad()
                    scheduler.step()
                self.assertEqual(self.said(), [(START, 300)])
                self.assertEqual(optimizer.param_groups[0]["lr"], 0.125)
                self.assertEqual(weight.tolist(), [1 - 1.75] * 3)
