# SPDX-License-Identifier: GPL-2.0
"""A stage of a pipeline for test_passes.py: a JSON line for each step and each sum of gradients.

pipe_worker.py MODEL HOW FILE RANK: MODEL is hand (send and recv) or gpipe (torch's schedule), the
others as in pass_worker.py.
"""

import contextlib
import json
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

import common  # noqa: F401  (finds the package)
from pass_worker import BATCH, ITERATIONS, RANKS, WIDTH, noted

CHUNKS = 4

Step = Callable[[torch.Tensor], None]


def distance(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).square().mean()


def received() -> torch.Tensor:
    tensor = torch.empty(BATCH, WIDTH)
    dist.recv(tensor, 1 - dist.get_rank())
    return tensor


def by_hand(stage: nn.Module) -> Step:
    """All forward passes, then all backward passes."""

    def first(data: torch.Tensor) -> None:
        outputs = [stage(chunk) for chunk in data.chunk(CHUNKS)]
        for output in outputs:
            dist.send(output.detach(), 1)
        for output in outputs:
            output.backward(received())

    def last(target: torch.Tensor) -> None:
        inputs = [received().requires_grad_() for _ in range(CHUNKS)]
        for data, chunk in zip(inputs, target.chunk(CHUNKS), strict=True):
            distance(stage(data), chunk).backward()
            dist.send(data.grad, 0)

    return last if dist.get_rank() else first


def gpipe(stage: nn.Module) -> Step:
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    rank = dist.get_rank()
    part = PipelineStage(stage, rank, RANKS, torch.device("cpu"))
    schedule = ScheduleGPipe(part, CHUNKS, loss_fn=distance)

    def step(data: torch.Tensor) -> None:
        if rank:
            schedule.step(target=data)
        else:
            schedule.step(data)

    return step


STEPS = {"hand": by_hand, "gpipe": gpipe}


def phases(how: str) -> Callable[[str], Any]:
    if how != "ours":
        return contextlib.nullcontext
    import mlcc_torch

    return lambda name: mlcc_torch.phase(name=name)


def main(kind: str, how: str, file: str, rank: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=RANKS)
    torch.manual_seed(1)
    stage = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.05, momentum=0.9)
    step = STEPS[kind](stage)
    phase = phases(how)
    torch.manual_seed(100)
    for _ in range(ITERATIONS):
        optimizer.zero_grad()
        data = torch.randn(CHUNKS * BATCH, WIDTH)
        with noted("pipeline"), phase("pipeline"):
            step(data)
        # both stages have the same weight, as where the embedding is the output's, too
        with noted("reduce"), phase("reduce"):
            dist.all_reduce(stage[0].weight.grad)
        optimizer.step()
        print(json.dumps({"pass": "sum", "sent": 0, "loss": sum_of(stage).hex()}), flush=True)
    # who leaves closes connections, of which others may not have read the counters yet
    dist.barrier()
    dist.destroy_process_group()


def sum_of(stage: nn.Module) -> float:
    return sum(parameter.sum().item() for parameter in stage.parameters())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
