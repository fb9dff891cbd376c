# SPDX-License-Identifier: GPL-2.0
"""A rank of a training job for test_ddp.py, RANK of WORLD_SIZE: a JSON line for each iteration.

worker.py ITERATIONS HOW STOP: HOW is plain (no hook), ours, view (ours, with gradients
that live in the buckets) or view-plain. Before iteration STOP it waits for a line on stdin.
"""

import json
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import common  # noqa: F401  (finds the package)
from sockets import sent_bytes

WIDTH = 512
BATCH = 4


def model_of(how: str) -> DistributedDataParallel:
    torch.manual_seed(1)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()]
    view = how.startswith("view")
    model = torch.nn.Sequential(*layers)
    return DistributedDataParallel(model, bucket_cap_mb=1, gradient_as_bucket_view=view)


def main(iterations: int, how: str, stop: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = model_of(how)
    if how in ("ours", "view"):
        import mlcc_torch

        mlcc_torch.ddp(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    torch.manual_seed(100 + rank)
    for iteration in range(iterations):
        if iteration == stop:
            print(json.dumps({"at": stop}), flush=True)
            sys.stdin.readline()
        before = sent_bytes()
        data = torch.randn(BATCH, WIDTH)
        loss = (model(data) - data.roll(1, 1)).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        dist.barrier()
        line = {"iteration": iteration, "loss": loss.item().hex(), "sent": sent_bytes() - before}
        print(json.dumps(line), flush=True)
    # who leaves closes connections, of which others may not have read the counters yet
    dist.barrier()
    size = sum(parameter.numel() * 4 for parameter in model.parameters())
    print(json.dumps({"gradients": size}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
