# SPDX-License-Identifier: GPL-2.0
"""A rank of a model for test_passes.py and test_ddp.py: a JSON line for each pass.

pass_worker.py MODEL HOW FILE RANK RANKS: MODEL is one of MODELS, HOW plain or ours, FILE where the
ranks find each other.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint

import common  # noqa: F401  (finds the package)
from sockets import sent_bytes

WIDTH = 512
LAYERS = 4
BATCH = 4
ITERATIONS = 5


class Gathered(torch.autograd.Function):
    """A product with a weight that is gathered in either pass; its gradient is scattered."""

    @staticmethod
    def forward(ctx: Any, data: torch.Tensor, shard: torch.Tensor, layer: "Layer") -> torch.Tensor:
        ctx.layer = layer
        ctx.save_for_backward(data, shard)
        return data @ gather(shard)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        data, shard = ctx.saved_tensors
        ours = scatter(data.t() @ gradient) if ctx.layer.reduces else torch.zeros_like(shard)
        return gradient @ gather(shard).t(), ours, None


def gather(shard: torch.Tensor) -> torch.Tensor:
    whole = [torch.empty_like(shard) for _ in range(dist.get_world_size())]
    dist.all_gather(whole, shard.detach())
    return torch.cat(whole)


def scatter(whole: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(whole)
    ranks = dist.get_world_size()
    return whole.chunk(ranks)[dist.get_rank()] / ranks


class Layer(nn.Module):
    """Of which each rank has its part."""

    def __init__(self, recomputed: bool) -> None:
        super().__init__()
        whole = torch.randn(WIDTH, WIDTH) / WIDTH
        self.shard = nn.Parameter(whole.chunk(dist.get_world_size())[dist.get_rank()])
        self.recomputed = recomputed
        self.reduces = True

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        if self.recomputed and torch.is_grad_enabled():
            return checkpoint(self.product, data, use_reentrant=False)
        return self.product(data)

    def product(self, data: torch.Tensor) -> torch.Tensor:
        return torch.tanh(Gathered.apply(data, self.shard, self))


Model = tuple[nn.Module, Callable[[], Any]]


def by_hand() -> Model:
    """What any torch has."""
    model = nn.Sequential(*[Layer(n == 1) for n in range(LAYERS)])

    @contextlib.contextmanager
    def no_sync() -> Iterator[None]:
        for layer in model:
            layer.reduces = False
        yield
        for layer in model:
            layer.reduces = True

    return model, no_sync


def plain_layers() -> list[nn.Module]:
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    layers: list[nn.Module] = [nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    layers[1] = checkpoint_wrapper(layers[1])
    return layers


def fsdp1() -> Model:
    from torch.distributed.fsdp import FullyShardedDataParallel

    def wrap(module: nn.Module) -> nn.Module:
        return FullyShardedDataParallel(module, device_id=torch.device("cpu"))

    model = wrap(nn.Sequential(*map(wrap, plain_layers())))
    return model, model.no_sync


def fsdp2() -> Model:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = nn.Sequential(*[fully_shard(layer, mesh=mesh) for layer in plain_layers()])
    fully_shard(model, mesh=mesh)

    @contextlib.contextmanager
    def no_sync() -> Iterator[None]:
        model.set_requires_gradient_sync(False)
        yield
        model.set_requires_gradient_sync(True)

    return model, no_sync


def ddp() -> Model:
    layers = [nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    # several buckets
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=1)
    return model, model.no_sync


MODELS = {"ddp": ddp, "hand": by_hand, "fsdp1": fsdp1, "fsdp2": fsdp2}


@contextlib.contextmanager
def noted(kind: str, said: dict[str, Any] | None = None) -> Iterator[None]:
    """What a pass sends, with nobody else under way."""
    dist.barrier()
    before, begin = sent_bytes(), time.monotonic_ns()
    yield
    end = time.monotonic_ns()
    dist.barrier()
    line = {"pass": kind, "sent": sent_bytes() - before, "begin": begin, "end": end}
    print(json.dumps(line | (said or {})), flush=True)


def passes(model: nn.Module, number: int) -> None:
    """One forward and one backward pass."""
    data = torch.randn(BATCH, WIDTH)
    with noted(f"forward {number}"):
        output = model(data)
    said: dict[str, Any] = {}
    with noted(f"backward {number}", said):
        loss = (output - data.roll(1, 1)).square().mean()
        loss.backward()
        said["loss"] = loss.item().hex()


def main(kind: str, how: str, file: str, rank: int, ranks: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=ranks)
    torch.manual_seed(1)
    model, no_sync = MODELS[kind]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    if how == "ours":
        import mlcc_torch

        if kind == "ddp":
            mlcc_torch.ddp(model)
        else:
            mlcc_torch.module_phases(model, optimizer)
    torch.manual_seed(100 + rank)
    for _ in range(ITERATIONS):
        optimizer.zero_grad(set_to_none=True)
        with no_sync():
            passes(model, 0)
        passes(model, 1)
        optimizer.step()
        with torch.no_grad(), noted("evaluation"):
            model(torch.ones(BATCH, WIDTH))
    # who leaves closes connections, of which others may not have read the counters yet
    dist.barrier()
    size = sum(parameter.numel() * 4 for parameter in model.parameters())
    print(json.dumps({"gradients": size}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
