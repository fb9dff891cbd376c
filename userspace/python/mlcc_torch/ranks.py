# SPDX-License-Identifier: BSD-2-Clause
"""Which of a host's processes this one is: all announce their part of a phase, one delays it."""

import os

# torchrun, Open MPI, MPICH and Intel MPI, Slurm
LOCAL_RANK = (
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "SLURM_LOCALID",
)


def is_first() -> bool:
    """Whether it is the first of its host; one that was told nothing is alone."""
    for name in LOCAL_RANK:
        value = os.environ.get(name, "")
        if value.isdecimal():
            return int(value) == 0
    return True
