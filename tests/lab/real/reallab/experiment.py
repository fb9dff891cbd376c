# SPDX-License-Identifier: GPL-2.0
"""The whole measurement: each job alone, then all together under each mode in turn."""

import importlib.util
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from mlcclab import carrier as carriers
from mlcclab import features
from mlcclab.errors import SkipError
from mlcclab.link import ECN_THRESHOLD, Link
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
    skipped: dict[str, str] = field(default_factory=dict)


def _needs(jobs: JobSet) -> None:
    if jobs.uses_torch and not importlib.util.find_spec("torch"):
        raise SkipError("python3-torch is not installed: make demo-train installs it")
    if jobs.uses_mpi and not (shutil.which("mpirun") and importlib.util.find_spec("mpi4py")):
        raise SkipError("openmpi-bin or python3-mpi4py is not installed: make demo-train does it")


def _usable(request: Request, result: Measurement) -> tuple[list[Mode], carriers.Carrier | None]:
    """Leave out what this kernel has not, and remember why."""
    modes, carrier = [], None
    for mode in request.modes:
        try:
            if mode.cc:
                features.check_cc(mode.cc)
            if mode.is_mlcc and carrier is None:
                if not CTL.exists():
                    raise SkipError("mlcc-ctl is not built: make userspace")
                carriers.refuse_if_loaded()
                carrier = carriers.choose(None)
        except SkipError as error:
            result.skipped[mode.name] = str(error)
        else:
            modes.append(mode)
    return modes, carrier


def link() -> Link:
    """The lab's usual queue, scaled to the rate: 8 ms."""
    limit = round((1 << 20) * RATE / 1e9)
    return Link(RATE, "droptail", limit, 0.0, 0.0, ECN_THRESHOLD, offloads=False)


def measure(request: Request) -> Measurement:
    """Build the cluster, run every stage, take the cluster down."""
    _needs(request.jobs)
    jobs = request.jobs.jobs()
    result = Measurement(request, jobs)
    modes, carrier = _usable(request, result)
    if not modes:
        raise SkipError("; ".join(result.skipped.values()))
    result.carrier = carrier.name if carrier else None
    tag = f"{os.getpid():x}{secrets.token_hex(2)}"
    with ExitStack() as stack:
        topology = stack.enter_context(Topology(link(), tag, CONNECTIONS_OF_A_JOB * len(jobs)))
        stages = _Stages(request, result, Cluster(topology, jobs), carrier)
        stack.callback(stages.progress.close)
        stages.run(modes)
    return result


class _Stages:
    def __init__(
        self,
        request: Request,
        result: Measurement,
        cluster: Cluster,
        carrier: carriers.Carrier | None,
    ) -> None:
        self.request = request
        self.result = result
        self.cluster = cluster
        self.carrier = carrier
        modes = len(request.modes) - len(result.skipped)
        alone = len(result.jobs) * self._seconds(request.isolated)
        together = modes * request.repeat * self._seconds(request.iterations)
        self.progress = Progress(alone + together)

    def run(self, modes: Sequence[Mode]) -> None:
        """Isolated first; then the modes take turns."""
        for mode, why in self.result.skipped.items():
            self.progress.note(f"leaves out {mode}: {why}")
        for job in self.result.jobs:
            label = f"{job.name} alone under {REFERENCE.name}"
            run = self._stage(label, [job], REFERENCE, self.request.isolated)
            self.result.isolated[job.name] = run
        for turn in range(self.request.repeat):
            for mode in modes:
                label = f"all jobs under {mode.name} ({turn + 1} of {self.request.repeat})"
                run = self._stage(label, self.result.jobs, mode, self.request.iterations)
                self.result.runs.setdefault(mode.name, []).append(run)

    def _seconds(self, iterations: int) -> float:
        job = self.result.jobs[0]
        return START_S + iterations * (job.compute_ms + job.comm_ms) / 1e3

    def _stage(self, label: str, jobs: Sequence[Job], mode: Mode, iterations: int) -> RunResult:
        self.progress.stage(label, self._seconds(iterations))
        with tempfile.TemporaryDirectory(prefix="mlcc-train-") as name:
            session = Session(self.cluster, jobs, mode, Path(name))
            return session.run(self.carrier, iterations, LIMIT_S, self.progress.tick)
