#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A rank of a DDP job over Gloo: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say which.

An iteration is the forward pass, a pause up to the accelerator's step time, and the backward pass,
in which DDP reduces bucket after bucket. The pause comes before the backward pass: an accelerator's
backward pass is over soon compared with its communication, so on the network a phase is on from the
first bucket to the last, and off from there to the next backward pass.
"""

import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[3] / "userspace" / "python")]

import models  # noqa: E402
import rank  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

# several buckets, as larger models have
BUCKET_MB = 0.5
LEARNING_RATE = 0.001


def warm_up(model: torch.nn.Module, name: str) -> None:
    """What is slow only the first time is done now; the model stays as it is."""
    data, _ = models.samples(name, torch.Generator())
    model(data[: models.BATCH]).sum().backward()
    model.zero_grad(set_to_none=True)


def build(name: str, seed: int, expected: int) -> DistributedDataParallel:
    """The model, the same on all ranks."""
    torch.manual_seed(seed)
    model = models.build(name)
    if (size := models.gradient_bytes(model)) != expected:
        sys.exit(f"{name} has {size} bytes of gradients, not {expected}")
    warm_up(model, name)
    return DistributedDataParallel(model, bucket_cap_mb=BUCKET_MB)


def main() -> None:
    """Train until stopped."""
    parser = rank.parser(__doc__)
    parser.add_argument("--model", required=True, choices=("resnet", "transformer"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rank.hurry()
    dist.init_process_group("gloo")
    model = build(options.model, options.seed, options.bytes)
    if options.hints:
        import mlcc_torch

        mlcc_torch.ddp(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    generator = torch.Generator().manual_seed(1000 * options.seed + dist.get_rank())
    data, labels = models.samples(options.model, generator)
    diary = rank.Diary(options)
    diary.wait()
    iteration = 0
    while True:
        at = iteration * models.BATCH % models.SAMPLES
        begun = time.monotonic()
        output = model(data[at : at + models.BATCH])
        loss = torch.nn.functional.cross_entropy(output, labels[at : at + models.BATCH])
        optimizer.zero_grad()
        real_ms = rank.pad(begun, options.compute_ms)
        computed = time.monotonic()
        loss.backward()
        reduced = time.monotonic()
        optimizer.step()
        ended = time.monotonic()
        diary.write(
            iteration=iteration,
            start_ns=round(begun * 1e9),
            iteration_ms=round((ended - begun) * 1e3, 3),
            comm_ms=round((reduced - computed) * 1e3, 3),
            real_ms=round(real_ms, 3),
            loss=loss.item().hex(),
        )
        iteration += 1


if __name__ == "__main__":
    main()
