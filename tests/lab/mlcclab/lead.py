# SPDX-License-Identifier: GPL-2.0
"""One progress for jobs of several hosts over verbs: under "mlcc+led" each runs mlcc-dcqcn lead."""

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .carrier import REPOSITORY, Carrier
from .cluster import Command, Worker
from .errors import LabError, SkipError
from .scenario import Job, Scenario

TOOL = REPOSITORY / "build" / "userspace" / "mlcc-dcqcn" / "mlcc-dcqcn"
# These links have a thousandth of a cluster's rate, and emulated hosts a tenth of its speed: what
# is told each millisecond, as the tool does without, would take 8 % of the link of verbs-hosts.
CADENCE = "8ms"
CLONE_NEWNET = 0x40000000


def check(scenario: Scenario) -> None:
    """Leaders tell the driver of soft-RoCE."""
    if scenario.transport != "verbs":
        raise LabError(f"{scenario.name}: +led is for transport = verbs")
    if not TOOL.exists():
        raise SkipError(f"{TOOL.name}: not built: make userspace")


def number(workers: Sequence[Worker]) -> int:
    """The job's, the same on all of its hosts: each is a namespace with jobs of its own."""
    return workers[0].mark


def commands(job: Job, workers: Sequence[Worker]) -> list[Command]:
    """The same words on each host, the leader first; a job of one host needs none."""
    if len(workers) < 2:
        return []
    words = ["-j", "lead", str(number(workers))]
    words += [*(worker.host.addresses[0] for worker in workers), "--cadence", CADENCE]
    return [
        Command(f"{job.name}-lead-{index}", worker.host.namespace, words)
        for index, worker in enumerate(workers)
    ]


def set_job(carrier: Carrier, job: Job, workers: Sequence[Worker]) -> None:
    """A leader is heard where the job is known: on each host."""
    for worker in workers:
        with _inside(worker.host.namespace):
            carrier.set_job(number(workers), job.profile)


@contextmanager
def _inside(namespace: str) -> Iterator[None]:
    """Where sockets of this thread are opened meanwhile."""
    here, there = Path("/proc/thread-self/ns/net"), Path("/run/netns", namespace)
    with here.open() as back, there.open() as into:
        _setns(into.fileno())
        try:
            yield
        finally:
            _setns(back.fileno())


def _setns(fd: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(fd, CLONE_NEWNET):
        raise LabError(f"setns: {os.strerror(ctypes.get_errno())}")
