# SPDX-License-Identifier: GPL-2.0
"""Passes of a module, in one process: which phases they are."""

import copy
import io
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch.utils.checkpoint import checkpoint

import test_step
from fake_mlccd import END, START
from mlcc_torch import module_phases
from mlcc_torch.quiet import Quiet

FORWARD, BACKWARD = 1000, 5000


@dataclass(slots=True)
class More:
    """What models return may be anything."""

    parts: list[Any]


def model_that(send: Callable[[int], None]) -> Any:
    """A model that sends in both passes."""

    class Sends(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            send(FORWARD)
            ctx.save_for_backward(value)
            return value.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            send(BACKWARD)
            return gradient * torch.ones_like(*ctx.saved_tensors)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(4, 4)
            self.fails = False

        def forward(self, data: Any) -> Any:
            value = Sends.apply(self.inner(data))
            if self.fails:
                raise KeyError
            return {"more": More([value.sum(), None, "x"]), "out": value}

    return Model()


class Module(test_step.Case):
    def setUp(self) -> None:
        super().setUp()
        self.model = model_that(self.pair.send)
        self.data = torch.ones(2, 4)

    def hook(self, optimizer: Any = None) -> None:
        self.assertIs(module_phases(self.model, optimizer, self.made), self.made)

    def train(self, times: int = 1) -> None:
        for _ in range(times):
            output = self.model(self.data)
            (output["out"].sum() + output["more"].parts[0]).backward()

    def check(self, *sizes: int) -> None:
        """Since the last call: these phases, each of which is over."""
        wanted = [one for size in sizes for one in ((START, size), (END, 0))]
        self.assertEqual(self.said()[getattr(self, "seen", 0) :], wanted)
        self.seen = len(self.said())

    def test_when_they_begin_and_end(self) -> None:
        said = []

        def send(size: int) -> None:
            said.append(self.said()[-1:])
            self.pair.send(size)

        self.model = model_that(send)
        self.hook()
        self.train(3)
        self.assertEqual(said[4:], [[(START, FORWARD)], [(START, BACKWARD)]])

    def test_two_forward_passes_and_one_backward(self) -> None:
        self.hook()
        for _ in range(3):
            outputs = [self.model(self.data)["out"] for _ in range(2)]
            sum(output.sum() for output in outputs).backward()
        # the first of all is not counted, so these are known one sooner
        self.check(FORWARD, FORWARD, FORWARD, FORWARD, 2 * BACKWARD)

    def test_passes_of_an_iteration_are_told_apart(self) -> None:
        for counted in (True, False):
            with self.subTest(counted=counted):
                self.setUp()
                self.seen = 0
                optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
                self.hook(optimizer if counted else None)
                for _ in range(3):
                    self.train(2)
                    self.pair.send(7)
                    optimizer.step()
                counts = 2 if counted else 4
                self.check(*[FORWARD, BACKWARD] * counts)

    def test_a_raise_in_forward(self) -> None:
        self.hook()
        self.train(2)
        self.model.fails = True
        with self.assertRaises(KeyError):
            self.train()
        self.assertEqual(self.said(), [(START, FORWARD)])
        self.model.fails = False
        self.train()
        self.check(FORWARD, FORWARD, BACKWARD)

    def test_a_raise_in_backward(self) -> None:
        self.hook()
        self.train(2)

        def fail(_: Any) -> None:
            raise KeyError

        output = self.model(self.data)["out"]
        self.model.inner.weight.register_hook(fail)
        with self.assertRaises(KeyError):
            output.sum().backward()
        self.model.inner.weight._backward_hooks.clear()
        self.train()
        self.check(FORWARD, BACKWARD, FORWARD, BACKWARD)

    def test_a_copy_says_nothing(self) -> None:
        self.hook()
        self.train(2)
        file = io.BytesIO()
        inner, self.model.__class__ = self.model.__class__, torch.nn.Module
        torch.save(self.model, file)
        self.model.__class__ = inner
        other = copy.deepcopy(self.model)
        for _ in range(3):
            other(self.data)["out"].sum().backward()
        self.check()
        self.train()
        self.check(FORWARD, BACKWARD)

    def test_nothing_is_raised(self) -> None:
        self.hook()
        with (
            mock.patch.object(self.made, "phase_start", side_effect=KeyError),
            mock.patch.object(self.made, "phase_end", side_effect=KeyError),
        ):
            self.train(4)
        Quiet(mock.Mock(side_effect=KeyError))()

    @unittest.skipUnless(hasattr(torch._C, "_current_graph_task_id"), "needs torch 2.0")
    def test_what_is_recomputed_belongs_to_the_backward_pass(self) -> None:
        self.hook()
        for _ in range(3):
            checkpoint(self.model, self.data, use_reentrant=False)["out"].sum().backward()
        self.check(FORWARD, FORWARD + BACKWARD)

    def test_recomputing_an_inner_module(self) -> None:
        inner = self.model
        self.model = torch.nn.Sequential(inner)
        self.model.forward = lambda data: checkpoint(inner, data, use_reentrant=False)["out"]
        self.hook()
        for _ in range(3):
            self.model(self.data).sum().backward()
        self.check(FORWARD, FORWARD + BACKWARD)
