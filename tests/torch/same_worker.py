# SPDX-License-Identifier: GPL-2.0
"""A rank that trains in many ways, for test_same.py: a JSON line of each, with its weights.

same_worker.py HOW FILE RANK RANKS: HOW is plain or ours, FILE where the two ranks find each other.
"""

import contextlib
import copy
import io
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

import common  # noqa: F401  (finds the package)

WIDTH = 32
STEPS = 5


class Net(nn.Module):
    """With a layer that may be left out, or computed twice."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(64, WIDTH)
        self.first, self.odd, self.last = [nn.Linear(WIDTH, WIDTH) for _ in range(3)]
        self.recomputed = False

    def forward(self, data: torch.Tensor, odd: bool = True) -> dict[str, Any]:
        value = torch.tanh(self.first(self.table(data)))
        if self.recomputed:
            value = checkpoint(self.odd, value, use_reentrant=False)
        elif odd:
            value = self.odd(value)
        return {"out": self.last(value), "more": [value.sum()]}


class Trainer:
    """Two ranks of one model."""

    def __init__(self, ours: bool) -> None:
        self.ours = ours

    def ddp(self, **named: Any) -> Any:
        torch.manual_seed(1)
        # several buckets
        model = DistributedDataParallel(Net(), **{"bucket_cap_mb": 0.005} | named)
        if self.ours:
            import mlcc_torch

            mlcc_torch.ddp(model)
        return model

    def run(self, model: Any, step: Callable[[int], Any] | None = None, steps: int = STEPS) -> Any:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.0)
        torch.manual_seed(100 + dist.get_rank())
        for number in range(steps):
            optimizer.zero_grad(set_to_none=True)
            (step or (lambda _: loss(model).backward()))(number)
            optimizer.step()
        return model

    def plain(self) -> Any:
        return self.run(self.ddp())

    def unused(self) -> Any:
        model = self.ddp(find_unused_parameters=True)
        return self.run(model, lambda n: loss(model, odd=n % 2 == dist.get_rank()).backward())

    def static(self) -> Any:
        model = self.ddp(static_graph=True)
        model.module.recomputed = True
        return self.run(model)

    def accumulated(self) -> Any:
        model = self.ddp()

        def step(_: int) -> None:
            with model.no_sync():
                loss(model).backward()
            loss(model).backward()

        return self.run(model, step)

    def two_losses(self) -> Any:
        model = self.ddp()
        return self.run(model, lambda _: (loss(model) + loss(model)).backward())

    def joined(self) -> Any:
        model = self.ddp()
        with model.join():
            return self.run(model, steps=STEPS - 2 * dist.get_rank())

    def saved(self) -> Any:
        model = self.run(self.ddp())
        torch.save(model, io.BytesIO())
        pickle.dumps(model)
        torch.save(model.state_dict(), io.BytesIO())
        self.run(copy.deepcopy(copy.deepcopy(model.module)))
        return self.run(model)

    def in_turns(self) -> Any:
        models = [self.ddp(), self.ddp()]
        for model in models * 2:
            self.run(model, steps=2)
        both = nn.ModuleList(models)
        return self.run(both, lambda _: (loss(models[0]) + loss(models[1])).backward())

    def compiled(self) -> Any:
        model = self.ddp(bucket_cap_mb=1)
        if hasattr(torch, "compiler"):
            self.run(torch.compile(model, backend="eager"))
        return self.run(model)

    def failed(self) -> Any:
        model = self.run(self.ddp())
        with contextlib.suppress(ZeroDivisionError):
            self.run(model, lambda _: 1 // 0)
        return self.run(model)


def loss(model: Any, **named: Any) -> torch.Tensor:
    output = model(torch.randint(64, (4, 3)), **named)
    result: torch.Tensor = output["out"].square().mean() + 1e-3 * output["more"][0]
    return result


WAYS = [name for name in vars(Trainer) if not name.startswith("_") and name not in ("ddp", "run")]


def weights(model: Any) -> Iterator[str]:
    for parameter in model.parameters():
        yield parameter.detach().double().sum().item().hex()
        yield parameter.detach().double().square().sum().item().hex()


def main(how: str, file: str, rank: int, ranks: int) -> None:
    torch.set_num_threads(1)
    # a back end for each kind of device, as those have it that name none
    name = "gloo" if torch.__version__.startswith("1.") else "cpu:gloo,cuda:gloo"
    dist.init_process_group(name, init_method=f"file://{file}", rank=rank, world_size=ranks)
    for way in WAYS:
        model = getattr(Trainer(how == "ours"), way)()
        print(json.dumps({way: list(weights(model))}), flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
