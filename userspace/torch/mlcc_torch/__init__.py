# SPDX-License-Identifier: BSD-2-Clause
"""Tells mlccd where the communication phases of a training process begin and end.

    ddp(model)             DistributedDataParallel over Gloo or MPI: a phase for each backward pass
    step_hook(optimizer)   anything else that steps an optimizer: a phase for each iteration
    with phase(bytes):     a phase by hand
    Hints                  what they all write to

Nothing here waits for mlccd, and nothing raises once training runs: without mlccd there is one
warning (logger "mlcc_torch"), and the training goes on as if this package were not there.

From the environment: MLCC_SOCKET, mlccd's socket; MLCC_JOB, the job's id or name, by default the
job whose cgroup this process is in.
"""

from .ddp import ddp
from .hints import Hints
from .step import phase, step_hook

__all__ = ["Hints", "ddp", "phase", "step_hook"]
