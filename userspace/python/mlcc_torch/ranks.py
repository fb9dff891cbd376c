# SPDX-License-Identifier: BSD-2-Clause
"""Which of a host's processes this one is: a host has one phase, so one process announces it."""

import os
import re

# torchrun, Open MPI, MPICH and Intel MPI, Slurm
LOCAL_RANK = (
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "SLURM_LOCALID",
)
LOCAL_SIZE = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")


def _first(names: tuple[str, ...], otherwise: int) -> int:
    for name in names:
        value = os.environ.get(name, "")
        if value.isdecimal():
            return int(value)
    return otherwise


def is_leader() -> bool:
    """Whether this process speaks for its host; one that was told nothing is alone."""
    return _first(LOCAL_RANK, 0) == 0


def local_size() -> int:
    """Processes of the job on this host, at least 1."""
    return max(1, _first(LOCAL_SIZE, 0) or _of_slurm())


def _of_slurm() -> int:
    """Slurm says it of all nodes in turn: "2(x3),1" is two on each of three, then one."""
    node = _first(("SLURM_NODEID",), 0)
    for part in os.environ.get("SLURM_STEP_TASKS_PER_NODE", "").split(","):
        found = re.fullmatch(r"([0-9]{1,6})(?:\(x([0-9]{1,6})\))?", part)
        if not found:
            break
        nodes = int(found[2] or 1)
        if node < nodes:
            return int(found[1])
        node -= nodes
    return 1
