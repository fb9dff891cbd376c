# SPDX-License-Identifier: BSD-2-Clause
"""Tells mlccd where the communication phases of a training process begin and end.

    ddp(model)             DistributedDataParallel: a phase for each backward pass
    module_phases(model)   FSDP: a phase for each forward pass, and one for each backward pass
    step_hook(optimizer)   anything else that steps an optimizer: a phase for each iteration
    with phase(bytes):     a phase by hand; with name=, of one kind among several
    shift_hook(optimizer)  for NCCL, whose plugin announces: only waits, where the job is planned
    Hints                  what they all write to
    job(class_=...)        what the job's traffic is for: training, latency or background
    with checkpoint():     what the thread connects to inside is background

Where an operator has planned the job (mlcc-plan apply), a phase waits for its slot, at most twice
a minute and for less than a period; MLCC_SHIFT=0 keeps a process out of that.

Nothing here waits for mlccd, and nothing raises once training runs: without mlccd there is one
warning (logger "mlcc_torch"), and the training goes on as if this package were not there.

From the environment: MLCC_SOCKET, mlccd's socket; MLCC_JOB, the job's id or name, else
MLCC_JOB_ID, which launchers set, by default the job whose cgroup this process is in.
"""

from .ddp import ddp
from .hints import Hints
from .module import module_phases
from .step import phase, shift_hook, step_hook
from .traffic import checkpoint, job

__all__ = ["Hints", "checkpoint", "ddp", "job", "module_phases", "phase", "shift_hook", "step_hook"]
