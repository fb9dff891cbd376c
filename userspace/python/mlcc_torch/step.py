# SPDX-License-Identifier: BSD-2-Clause
"""Phases for what is not DistributedDataParallel: by hand, or one for each iteration.

Bytes that nobody names are measured: what the TCP sockets of this process sent from the start of
the last phase to the start of this one.
"""

import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .hints import Hints, log
from .sockets import Meter

if TYPE_CHECKING:
    import torch

# the first iteration sets up connections and broadcasts parameters
FIRST_LEARNT = 1


class Iterations:
    """One phase after the other, each announced with what the last one had."""

    def __init__(self, hints: Hints) -> None:
        self.hints = hints
        self._meter = Meter()
        self._number = -1
        self._announced = False

    def start(self, size: int | None) -> None:
        """size: bytes that this process sends; None: as measured."""
        self._number += 1
        if size is None:
            size = self._measured()
            if not size:
                return
        self._announced = True
        self.hints.phase_start(size)

    def end(self) -> None:
        """The phase is over, if it was announced."""
        if self._announced:
            self.hints.phase_end()
        self._announced = False

    def _measured(self) -> int:
        try:
            sent = self._meter.since_last()
        except OSError as error:
            log.debug("cannot look at the sockets: %s", error)
            return 0
        return sent if self._number > FIRST_LEARNT else 0


@functools.cache
def _default() -> Iterations:
    return Iterations(Hints())


@contextmanager
def phase(bytes: int | None = None) -> Iterator[None]:  # noqa: A002
    """Everything that is communicated inside is one phase; not to be nested.

    bytes: what this process sends in it, to 2^48 - 1; None: measured, and announced from the third
    phase on.
    """
    iterations = _default()
    iterations.hints.wait_for_slot()
    iterations.start(bytes)
    try:
        yield
    finally:
        iterations.end()


def step_hook(optimizer: "torch.optim.Optimizer", hints: Hints | None = None) -> Hints:
    """One phase for each iteration, from one optimizer.step() to the next.

    For FSDP, tensor parallelism and whatever else communicates all through an iteration, so that
    progress is that of the iteration.
    """
    iterations = Iterations(hints) if hints else _default()

    def stepped(*_: Any) -> None:
        iterations.end()
        iterations.hints.wait_for_slot(iteration=True)
        iterations.start(None)

    _after_step(optimizer, stepped)
    return iterations.hints


def shift_hook(optimizer: "torch.optim.Optimizer", hints: Hints | None = None) -> Hints:
    """Take part in plans after each optimizer.step(), and announce nothing.

    For NCCL: its plugin announces the phases (Documentation/training.md), and can only delay them
    on NCCL's own threads. Here it is the training that waits, before anything is under way.
    """
    hints = hints or _default().hints
    _after_step(optimizer, lambda *_: hints.wait_for_slot(iteration=True))
    return hints


def _after_step(optimizer: "torch.optim.Optimizer", stepped: Callable[..., None]) -> None:
    register = getattr(optimizer, "register_step_post_hook", None)
    if register:
        register(stepped)
    else:
        _wrap_step(optimizer, stepped)


def _wrap_step(optimizer: "torch.optim.Optimizer", stepped: Callable[[], None]) -> None:
    """Optimizers have no hooks before torch 2.0.

    What was a bound method stays one: learning rate schedulers take it apart, to put a plain
    function of their own in its place.
    """
    step = optimizer.step
    function = getattr(step, "__func__", None)

    @functools.wraps(step)
    def wrapper(*args: Any, **named: Any) -> Any:
        result = (function or step)(*args, **named)
        stepped()
        return result

    optimizer.step = types.MethodType(wrapper, optimizer) if function else wrapper
