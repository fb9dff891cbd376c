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
from statistics import fmean

from mlcclab import carrier as carriers
from mlcclab import experiment, scenario, schedule, stats
from mlcclab.errors import SkipError
from mlcclab.link import Link
from mlcclab.progress import Progress
from mlcclab.schedule import REFERENCE_CC
from mlcclab.topology import Topology

from .jobs import RATE, TORCH_MODELS, Job, JobSet
from .session import CTL, Cluster, RealRun, Session

# connections: one a pair of ranks, and what the store and Open MPI's daemons have
CONNECTIONS_OF_A_JOB = 4
START_S = 12.0
LIMIT_S = 150.0


@dataclass(frozen=True)
class Request:
    """What the operator asked for."""

    jobs: JobSet
    ccs: Sequence[str]
    iterations: int
    isolated: int
    repeat: int


@dataclass
class Measurement:
    """Everything that the report is made of."""

    request: Request
    carrier: str | None = None
    alone: dict[str, RealRun] = field(default_factory=dict)
    runs: dict[str, list[RealRun]] = field(default_factory=dict)

    def of_lab(self) -> experiment.Measurement:
        """The same as the lab reports it: each job is a ring of two."""
        asked = self.request
        jobs = tuple(
            scenario.Job(job.name, job.bytes, job.compute_ms, pattern="ring", workers=2)
            for job in asked.jobs.jobs()
        )
        about, count = asked.jobs.about, asked.iterations
        item = scenario.Scenario(
            asked.jobs.name, about, "compatible", "tcp", count, link(), jobs, flows=()
        )
        request = schedule.Request(item, count, 1, asked.repeat, isolated_cc=False, timeout_s=0.0)
        alone = {
            name: fmean(stats.settled(run.jobs[name].iteration_ms))
            for name, run in self.alone.items()
        }
        return experiment.Measurement(request, self.carrier, alone, runs=dict(self.runs))


def _needs(jobs: JobSet) -> None:
    if set(TORCH_MODELS) & set(jobs.models) and not importlib.util.find_spec("torch"):
        raise SkipError("python3-torch is not installed: make demo-train installs it")
    mpi = shutil.which("mpirun") and importlib.util.find_spec("mpi4py")
    if "allreduce" in jobs.models and not mpi:
        raise SkipError("openmpi-bin or python3-mpi4py is not installed: make demo-train does it")


def _carrier(ccs: Sequence[str]) -> carriers.Carrier | None:
    if not any(map(carriers.is_mlcc, ccs)):
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
    ccs, carrier = request.ccs, _carrier(request.ccs)
    result = Measurement(request, carrier.name if carrier else None)
    tag = f"{os.getpid():x}{secrets.token_hex(2)}"
    alone = len(jobs) * _seconds(jobs, request.isolated)
    together = len(ccs) * request.repeat * _seconds(jobs, request.iterations)
    with ExitStack() as stack:
        progress = stack.enter_context(closing(Progress(alone + together)))
        topology = stack.enter_context(Topology(link(), tag, CONNECTIONS_OF_A_JOB * len(jobs)))
        cluster = Cluster(topology, jobs)

        def run(label: str, those: Sequence[Job], cc: str, iterations: int) -> RealRun:
            progress.stage(label, _seconds(those, iterations))
            with tempfile.TemporaryDirectory(prefix="mlcc-train-") as name:
                session = Session(cluster, those, cc, Path(name))
                return session.run(carrier, iterations, LIMIT_S, progress.tick)

        for job in jobs:
            label = f"{job.name} alone under {REFERENCE_CC}"
            result.alone[job.name] = run(label, [job], REFERENCE_CC, request.isolated)
        for turn, cc in itertools.product(range(request.repeat), ccs):
            label = f"all jobs under {cc} ({turn + 1} of {request.repeat})"
            result.runs.setdefault(cc, []).append(run(label, jobs, cc, request.iterations))
    return result


def _seconds(jobs: Sequence[Job], iterations: int) -> float:
    """A guess: all jobs of a set have one period."""
    return START_S + iterations * (jobs[0].compute_ms + jobs[0].comm_ms) / 1e3
