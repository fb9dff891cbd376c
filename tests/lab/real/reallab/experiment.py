# SPDX-License-Identifier: GPL-2.0
"""The whole measurement: each job alone, then all together under each mode in turn."""

import importlib.util
import itertools
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from mlcclab import carrier as carriers
from mlcclab.errors import SkipError
from mlcclab.link import Link
from mlcclab.progress import Progress
from mlcclab.topology import Topology

from .jobs import RATE, Job, JobSet
from .session import CTL, Cluster, Mode, RunResult, Session

REFERENCE = Mode("cubic")
# connections: one a pair of ranks, and what the store and Open MPI's daemons have
CONNECTIONS_OF_A_JOB = 4
START_S = 12.0
LIMIT_S = 150.0


@dataclass(frozen=True)
class Request:
    """What the operator asked for."""

    jobs: JobSet
    modes: Sequence[Mode]
    iterations: int
    isolated: int
    repeat: int


@dataclass
class Measurement:
    """Everything that the report is made of."""

    request: Request
    jobs: list[Job]
    carrier: str | None = None
    isolated: dict[str, RunResult] = field(default_factory=dict)
    runs: dict[str, list[RunResult]] = field(default_factory=dict)


def _needs(jobs: JobSet) -> None:
    if jobs.uses_torch and not importlib.util.find_spec("torch"):
        raise SkipError("python3-torch is not installed: make demo-train installs it")
    if jobs.uses_mpi and not (shutil.which("mpirun") and importlib.util.find_spec("mpi4py")):
        raise SkipError("openmpi-bin or python3-mpi4py is not installed: make demo-train does it")


def _carrier(modes: Sequence[Mode]) -> carriers.Carrier | None:
    if not any(mode.is_mlcc for mode in modes):
        return None
    if not CTL.exists():
        raise SkipError("mlcc-ctl is not built: make userspace")
    carriers.refuse_if_loaded()
    return carriers.choose(None)


def link() -> Link:
    """The lab's usual queue, scaled to the rate: 8 ms."""
    limit = round((1 << 20) * RATE / 1e9)
    return Link(RATE, limit=limit, offloads=False)


def measure(request: Request) -> Measurement:
    """Build the cluster, run every stage, take the cluster down."""
    _needs(request.jobs)
    jobs = request.jobs.jobs()
    result = Measurement(request, jobs)
    modes, carrier = request.modes, _carrier(request.modes)
    result.carrier = carrier.name if carrier else None
    tag = f"{os.getpid():x}{secrets.token_hex(2)}"
    alone = len(jobs) * _seconds(jobs, request.isolated)
    together = len(modes) * request.repeat * _seconds(jobs, request.iterations)
    with ExitStack() as stack:
        progress = stack.enter_context(closing(Progress(alone + together)))
        topology = stack.enter_context(Topology(link(), tag, CONNECTIONS_OF_A_JOB * len(jobs)))
        cluster = Cluster(topology, jobs)

        def run(label: str, those: Sequence[Job], mode: Mode, iterations: int) -> RunResult:
            progress.stage(label, _seconds(those, iterations))
            with tempfile.TemporaryDirectory(prefix="mlcc-train-") as name:
                session = Session(cluster, those, mode, Path(name))
                return session.run(carrier, iterations, LIMIT_S, progress.tick)

        for job in jobs:
            label = f"{job.name} alone under {REFERENCE.name}"
            result.isolated[job.name] = run(label, [job], REFERENCE, request.isolated)
        for turn, mode in itertools.product(range(request.repeat), modes):
            label = f"all jobs under {mode.name} ({turn + 1} of {request.repeat})"
            found = run(label, jobs, mode, request.iterations)
            result.runs.setdefault(mode.name, []).append(found)
    return result


def _seconds(jobs: Sequence[Job], iterations: int) -> float:
    """A guess: all jobs of a set have one period."""
    return START_S + iterations * (jobs[0].compute_ms + jobs[0].comm_ms) / 1e3
