# SPDX-License-Identifier: BSD-2-Clause
"""Phases for what is not DistributedDataParallel: by hand, or one for each iteration.

Bytes that nobody names are measured: what this process sent over TCP in the last phase of the same
name.
"""

import contextlib
import functools
import types
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .hints import Hints, log
from .quiet import Quiet
from .sockets import Meter

if TYPE_CHECKING:
    import torch


class Iterations:
    """One phase after the other, each announced with what the last one of its name had."""

    def __init__(self, hints: Hints) -> None:
        self.hints = hints
        self.open: Hashable | None = None
        self._meter = Meter()
        self._last: dict[Hashable, int] = {}
        self._announced = self._learns = False

    def start(self, size: int | None = None, name: Hashable = "") -> None:
        """A phase begins, and one that an error cut short is over.

        size: bytes that this process sends; None: as measured.
        """
        self.end(whole=False)
        self.open, self._learns = name, size is None
        if size is None:
            self._measured()
            size = self._last.get(name) or None
        if size is not None:
            self._announced = True
            self.hints.phase_start(size)

    def end(self, whole: bool = True) -> None:
        """The phase is over, if there is one. whole: the next one of its name is like it."""
        if self._announced:
            self.hints.phase_end()
        if self.open is not None and self._learns and whole:
            sent = self._measured()
            # the first one sets up connections and broadcasts parameters
            self._last[self.open] = sent if self.open in self._last else 0
        self._announced = False
        self.open = None

    def _measured(self) -> int:
        try:
            return self._meter.since_last()
        except OSError as error:
            log.debug("cannot look at the sockets: %s", error)
            return 0


@functools.cache
def default() -> Iterations:
    """Those of this process; the first call looks for mlccd."""
    return Iterations(Hints())


@contextmanager
def phase(bytes: int | None = None, *, name: str = "") -> Iterator[None]:  # noqa: A002
    """Everything that is communicated inside is one phase; not to be nested.

    bytes: what this process sends in it, to 2^48 - 1; None: as many as in the last phase of this
    name, from the third one on.
    """
    iterations = default()
    iterations.hints.wait_for_slot()
    iterations.start(bytes, name)
    whole = False
    try:
        yield
        whole = True
    finally:
        iterations.end(whole)


def step_hook(optimizer: "torch.optim.Optimizer", hints: Hints | None = None) -> Hints:
    """One phase for each iteration, from one optimizer.step() to the next.

    For ZeRO, tensor parallelism and whatever else communicates all through an iteration, so that
    progress is that of the iteration.
    """
    iterations = Iterations(hints) if hints else default()

    def stepped(*_: Any) -> None:
        iterations.end()
        iterations.hints.wait_for_slot(iteration=True)
        iterations.start(name="step")

    after_step(optimizer, stepped)
    return iterations.hints


def shift_hook(optimizer: "torch.optim.Optimizer", hints: Hints | None = None) -> Hints:
    """Take part in plans after each optimizer.step(), and announce nothing.

    For NCCL: its plugin announces the phases (Documentation/training.md), and can only delay them
    on NCCL's own threads. Here it is the training that waits, before anything is under way.
    """
    hints = hints or default().hints
    after_step(optimizer, lambda *_: hints.wait_for_slot(iteration=True))
    return hints


def after_step(optimizer: "torch.optim.Optimizer", stepped: Callable[..., None]) -> None:
    """Call stepped after each optimizer.step(); where that cannot be had, a warning says so."""
    quiet = Quiet(stepped)
    try:
        with contextlib.suppress(TypeError, RecursionError):  # no vars(), or itself in them
            if _register(optimizer, quiet):
                return
        _wrap_step(optimizer, quiet)
    except Exception as error:
        log.warning("no steps of %s are seen: %r", type(optimizer).__name__, error)


def _register(optimizer: Any, stepped: Quiet) -> bool:
    """Whether it, or the one optimizer that it is wrapped around, calls hooks.

    A wrapper may be an Optimizer by its name only, without hooks or with some that it never calls,
    and may leave out steps of the other.
    """
    with contextlib.suppress(Exception):
        if _calls_hooks(type(optimizer)):
            optimizer.register_step_post_hook(stepped)
            return True
    inner = [one for one in vars(optimizer).values() if hasattr(one, "register_step_post_hook")]
    return len(inner) == 1 and _register(inner[0], stepped)


def _calls_hooks(kind: type) -> bool:
    """Torch lets its Optimizer's own __init__() see to that; of others it can only be assumed."""
    torchs = any(base.__module__.startswith("torch.optim") for base in kind.__mro__)
    return not torchs or bool(getattr(kind.step, "hooked", False))  # type: ignore[attr-defined]


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
