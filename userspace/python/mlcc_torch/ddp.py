# SPDX-License-Identifier: BSD-2-Clause
"""DistributedDataParallel: a phase for each backward pass that reduces gradients.

    backward    a gradient reaches its output --> the engine is done, with DDP's own callback

Nothing of DDP's is replaced: a communication hook would have to do all that DDP does without one,
in its order, join() and saving included. So what a pass sends is measured, too, as that of any
module, whatever reduces, compresses or leaves out gradients. DDP makes new buckets after its
first pass, so the second pass is the first to learn from and the third the first to be announced.
"""

from typing import TYPE_CHECKING, Any

from .hints import Hints, log
from .module import Backward, tell_nccl
from .quiet import Quiet
from .step import Iterations, default

if TYPE_CHECKING:
    from torch.nn.parallel import DistributedDataParallel


class _Reducing(Backward):
    """The backward passes of one model."""

    def returned(self, model: Any, _: Any, output: Any) -> None:
        """The model has returned output."""
        import torch

        # as it was in the forward pass, so DDP has it
        if model.require_backward_grad_sync and torch.is_grad_enabled():
            self.watch(output)


def ddp(model: "DistributedDataParallel", hints: Hints | None = None) -> Hints | None:
    """Announce the phases of a model, of which nothing is changed.

    Returns the hints, or None where there are no phases: for the back end NCCL, which has a plugin
    of its own (Documentation/training.md), and for a model that is no DistributedDataParallel.
    """
    if not hasattr(model, "require_backward_grad_sync"):
        log.warning("no phases: %s is no DistributedDataParallel", type(model).__name__)
        return None
    if tell_nccl(model, model.process_group):
        return None
    iterations = Iterations(hints) if hints else default()
    model.register_forward_hook(Quiet(_Reducing(iterations).returned))
    return iterations.hints
