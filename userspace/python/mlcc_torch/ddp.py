# SPDX-License-Identifier: BSD-2-Clause
"""DistributedDataParallel: the buckets of one backward pass are one phase.

    backward    bucket 0 --> bucket 1 --> ... last bucket        all futures done
                   |                                                   |
                phase_start(D)                                      phase_end

D is what the buckets of the pass before had together, times what the all-reduce sends of each
byte. DDP makes new buckets after its first pass (number 0), so pass 1 is the first to learn from
and pass 2 the first to be announced. Before that nothing is said: connections are being made,
parameters broadcast, and a phase without bytes would keep the carrier from finding phases itself.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .hints import Hints, log

if TYPE_CHECKING:
    import torch
    from torch.nn.parallel import DistributedDataParallel

FIRST_LEARNT = 1
BACKENDS = ("gloo", "mpi")

Hook = Callable[[Any, Any], Any]


class _Pass:
    """One backward pass."""

    def __init__(self, announced: bool) -> None:
        self.announced = announced
        self.bytes = 0
        self.running = 0
        self.complete = False


class Passes:
    """Makes phases out of buckets; knows nothing of torch."""

    def __init__(self, hints: Hints, factor: float) -> None:
        """factor: bytes that this process sends for each byte in a bucket."""
        self._hints = hints
        self._factor = factor
        self._lock = threading.Lock()
        self._number = -1
        self._pass = _Pass(False)

    def bucket(self, size: int, first: bool, last: bool) -> Callable[[Any], None]:
        """A bucket of size bytes is about to be reduced; call the result when it has been."""
        if first:
            self._begin()
        current = self._pass
        with self._lock:
            current.bytes += size
            current.running += 1
            current.complete = current.complete or last
        return lambda _: self._reduced(current)

    def _begin(self) -> None:
        learnt = self._pass.bytes if self._number >= FIRST_LEARNT else 0
        self._number += 1
        self._pass = _Pass(announced=learnt > 0 and self._factor > 0)
        if self._pass.announced:
            self._hints.wait_for_slot()
            self._hints.phase_start(round(learnt * self._factor))

    def _reduced(self, done: _Pass) -> None:
        with self._lock:
            done.running -= 1
            over = done.complete and not done.running and done.announced
        # a pass that an error cut short ends with the next one's start
        if over and done is self._pass:
            self._hints.phase_end()


def ring_factor(ranks: int) -> float:
    """Bytes that a rank sends for each byte of a ring all-reduce.

    Gloo's ring takes TCP between ranks of one host, too, and these connections are the job's like
    the others.
    """
    return 2 * (ranks - 1) / ranks


def ddp(
    model: "DistributedDataParallel",
    hook: Hook | None = None,
    state: Any = None,
    *,
    scale: float = 1.0,
    hints: Hints | None = None,
) -> Hints | None:
    """Announce the phases of a model; call it where register_comm_hook() would be called.

    hook, state: a communication hook to run, as for register_comm_hook(); by default what DDP does
    without one. scale: bytes that hook sends for each byte of a gradient where it
    compresses (fp16_compress_hook: 0.5). Returns the hints, or None where the back end is neither
    Gloo nor MPI: NCCL has a plugin of its own (Documentation/training.md). Raises what
    register_comm_hook() raises.
    """
    import torch.distributed as dist

    group = model.process_group
    backend = str(dist.get_backend(group))
    if backend not in BACKENDS:
        log.warning("no phases for the back end %s: only for %s", backend, " and ".join(BACKENDS))
        if hook is not None:
            model.register_comm_hook(state, hook)
        return None
    size = dist.get_world_size(group)
    hints = hints or Hints()
    passes = Passes(hints, ring_factor(size) * scale)
    inner = hook or _default_hook(model)

    def announced(inner_state: Any, bucket: "dist.GradBucket") -> "torch.futures.Future[Any]":
        reduced = passes.bucket(_bytes(bucket), bucket.index() == 0, bucket.is_last())
        future = inner(inner_state, bucket)
        future.add_done_callback(reduced)
        return future

    # the reducer looks at a hook's annotations, and knows no strings
    announced.__annotations__ = {}
    model.register_comm_hook(state, announced)
    return hints


def _bytes(bucket: "torch.distributed.GradBucket") -> int:
    buffer = bucket.buffer()
    return int(buffer.numel() * buffer.element_size())


def _default_hook(model: "DistributedDataParallel") -> Hook:
    """What the reducer does without a hook: multiply by 1 / n, then add up.

    With gradients that live in the buckets and are zeroed in place, the reducer divides by n
    instead, and the last bit may differ unless n is a power of two.
    """
    import torch.distributed as dist

    group = model.process_group
    share = 1.0 / dist.get_world_size(group)

    def allreduce(_: Any, bucket: "dist.GradBucket") -> "torch.futures.Future[Any]":
        work = dist.all_reduce(bucket.buffer().mul_(share), group=group, async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    return allreduce
