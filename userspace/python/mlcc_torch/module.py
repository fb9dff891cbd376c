# SPDX-License-Identifier: BSD-2-Clause
"""FullyShardedDataParallel, fully_shard and what shards likewise: a phase for each pass.

    forward     the module is called --> it returns
    backward    a gradient reaches its output --> the engine is done, with FSDP's own callbacks
    evaluation  forward, without gradients

What is recomputed in the backward pass belongs to it. A pass is announced with what the same one
of the iteration before sent, and not at all if that was nothing. A pass that an error cuts short
ends with the next one's start, and teaches nothing.
"""

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .hints import Hints, log
from .quiet import Quiet
from .step import Iterations, after_step, default

if TYPE_CHECKING:
    import torch

FORWARD, BACKWARD, EVALUATION = "forward", "backward", "evaluation"


class Backward:
    """Makes a phase of each backward pass of one module."""

    _first = BACKWARD  # the pass that waits for the slot of a plan

    def __init__(self, iterations: Iterations) -> None:
        self._iterations = iterations
        self._counts: Counter[str] = Counter()
        self._last: tuple[Any, str, int] = (self, "", 0)
        self._task = -1
        self._counted = False

    def watch(self, output: Any) -> None:
        """What begins the pass: a gradient of one of these."""
        for tensor in _tensors(output):
            # a leaf would keep its hooks
            if tensor.requires_grad and tensor.grad_fn is not None:
                _hook_first(tensor, Quiet(self._backward))

    def _backward(self, _: Any) -> None:
        """There is a gradient of an output; other outputs may follow."""
        from torch.autograd import Variable

        task = _graph_task()
        if self._runs(BACKWARD) and task == self._task:
            return
        self._task = task
        self._begin(BACKWARD)
        queue = Variable._execution_engine.queue_callback
        # again when it is called: behind DDP's and FSDP's, which are queued after this
        queue(Quiet(lambda: queue(Quiet(self._backward_done))))

    def _backward_done(self) -> None:
        if self._runs(BACKWARD):
            self._iterations.end()

    def _begin(self, kind: str) -> None:
        number = self._counts[kind]
        if self._counted and kind != EVALUATION:
            self._counts[kind] += 1
        if not number and kind == self._first:
            self._iterations.hints.wait_for_slot()
        self._last = (self, kind, number)
        self._iterations.start(name=self._last)

    def _runs(self, kind: str) -> bool:
        return self._last[1] == kind and self._iterations.open is self._last


class Passes(Backward):
    """Makes phases out of the passes of one module."""

    _first = FORWARD

    def __init__(self, iterations: Iterations, counted: bool) -> None:
        """counted: stepped() is called after each iteration."""
        super().__init__(iterations)
        self._counted = counted

    def stepped(self, *_: Any) -> None:
        """An iteration is over."""
        self._counts.clear()

    def forward(self, *_: Any) -> None:
        """The module is about to be called."""
        import torch

        if self._runs(BACKWARD) and _graph_task() >= 0:
            return
        self._begin(FORWARD if torch.is_grad_enabled() else EVALUATION)

    def returned(self, _: Any, __: Any, output: Any) -> None:
        """The module has returned output."""
        if self._runs(BACKWARD):
            return
        self._iterations.end()
        self.watch(output)


def _hook_first(tensor: "torch.Tensor", hook: Callable[[Any], None]) -> None:
    """Before the hooks of FSDP, which gather. There is no call for that."""
    own = tensor.register_hook(hook).id
    hooks = tensor._backward_hooks
    # the engine takes them in the order in which they were put in, whatever move_to_end() says
    hooks.update([(key, hooks.pop(key)) for key in list(hooks) if key != own])


def _graph_task() -> int:
    """Which backward pass this is called in; -1: none, or torch is older than 2.0."""
    import torch

    return int(getattr(torch._C, "_current_graph_task_id", lambda: -1)())


def _tensors(output: Any) -> Iterator["torch.Tensor"]:
    import torch

    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, Mapping):
        yield from _tensors(list(output.values()))
    elif isinstance(output, (list, tuple)):
        for part in output:
            yield from _tensors(part)
    elif dataclasses.is_dataclass(output):
        yield from _tensors([getattr(output, field.name) for field in dataclasses.fields(output)])


def tell_nccl(model: "torch.nn.Module", group: Any) -> bool:
    """Whether it is NCCL that sends for a model, which is said; group: None: the default one."""
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized()):
        return False
    device = next((parameter.device.type for parameter in model.parameters()), "cpu")
    if not _backend(group, device).startswith("nccl"):
        return False
    log.warning("no phases for the back end nccl: its plugin announces them")
    return True


def _backend(group: Any, device: str) -> str:
    """What sends the tensors of a device: a group may have one for each kind of them."""
    import torch.distributed as dist

    name = str(dist.get_backend(group))
    with contextlib.suppress(Exception):  # before torch 2.0 there is one name, of one back end
        name = str(dist.get_backend_config(group))
    named = dict(part.split(":", 1) for part in name.split(",") if ":" in part)
    return named.get(device, "" if named else name)


def module_phases(
    model: "torch.nn.Module",
    optimizer: "torch.optim.Optimizer | None" = None,
    hints: Hints | None = None,
) -> Hints | None:
    """A phase for each forward pass of a model that is sharded, and one for each backward pass.

    Call it last, on the outermost module: after FSDP, fully_shard() and torch.compile(). Announced
    from the third iteration on, with what the same pass of the iteration before sent.
    optimizer: tells the passes of an iteration apart by their number, for the accumulation of
    gradients where only the last backward pass reduces them. Returns the hints, or None for the
    back end NCCL, which goes on after the module has returned.
    """
    if tell_nccl(model, None):
        return None
    iterations = Iterations(hints) if hints else default()
    passes = Passes(iterations, optimizer is not None)
    if optimizer is not None:
        after_step(optimizer, passes.stepped)
    before, returned = Quiet(passes.forward), Quiet(passes.returned)
    try:
        # before fully_shard()'s own, which gathers
        model.register_forward_pre_hook(before, prepend=True)
    except TypeError:  # before torch 2.0
        model.register_forward_pre_hook(before)
    model.register_forward_hook(returned)
    return iterations.hints
