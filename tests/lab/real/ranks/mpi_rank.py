#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A rank of an Open MPI job: an all-reduce of made-up gradients, then a pause, again and again.

The "loss" is a checksum of the result, so that runs can be compared as those of training jobs.

Open MPI spins while it waits, and all ranks share this machine's processors, so that they would
compete for these. The reduction is one that does not block, therefore, and is asked for in between
naps whether it is done.
"""

import contextlib
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[3] / "userspace" / "python")]

import numpy  # noqa: E402
import rank  # noqa: E402
from mpi4py import MPI  # noqa: E402

# at 200 Mb/s 5 kB come in that time
NAP_S = 2e-4


def phase(options: object, size: int) -> contextlib.AbstractContextManager[None]:
    """Two ranks: each sends all of its gradients once."""
    if not getattr(options, "hints", False):
        return contextlib.nullcontext()
    import mlcc_torch

    return mlcc_torch.phase(size)


def all_reduce(world: "MPI.Comm", gradients: numpy.ndarray, reduced: numpy.ndarray) -> None:
    """Without spinning."""
    request = world.Iallreduce(gradients, reduced)
    while not request.Test():
        time.sleep(NAP_S)


def main() -> None:
    """Reduce until stopped."""
    options = rank.parser(__doc__).parse_args()
    rank.hurry()
    world = MPI.COMM_WORLD
    random = numpy.random.default_rng(1000 * options.seed + world.rank)
    gradients = random.random(options.bytes // 4, dtype=numpy.float32)
    reduced = numpy.empty_like(gradients)
    diary = rank.Diary(options)
    diary.wait()
    iteration = 0
    while True:
        begun = time.monotonic()
        gradients[iteration % len(gradients)] += 1
        real_ms = rank.pad(begun, options.compute_ms)
        computed = time.monotonic()
        with phase(options, options.bytes):
            all_reduce(world, gradients, reduced)
        ended = time.monotonic()
        diary.write(
            iteration=iteration,
            start_ns=round(begun * 1e9),
            iteration_ms=round((ended - begun) * 1e3, 3),
            comm_ms=round((ended - computed) * 1e3, 3),
            real_ms=round(real_ms, 3),
            loss=float(reduced.astype(numpy.float64).sum()).hex(),
        )
        iteration += 1


if __name__ == "__main__":
    main()
