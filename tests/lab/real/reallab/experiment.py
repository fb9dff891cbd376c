# SPDX-License-Identifier: GPL-2.0
"""The whole measurement: each job alone, then all together under each mode in turn."""

import importlib.util
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from mlcclab import carrier as carriers
from mlcclab import features, wire
from mlcclab.errors import SkipError
from mlcclab.link import ECN_THRESHOLD, Link
from mlcclab.progress import Progress
from mlcclab.topology import Topology

from .jobs import Job, JobSet
from .session import CTL, Cluster, Mode, RunResult, Session

REFERENCE = Mode("cubic")
# connections: one a pair of ranks, and what the store and Open MPI's daemons have
CONNECTIONS_OF_A_JOB = 4
START_S = 12.0
LIMIT_S = 150.0
AGAIN_MAX = 3


@dataclass(frozen=True)
class Request:
    """What the operator asked for; rates in bit/s."""

    jobs: JobSet
    modes: Sequence[Mode]
    rate: float
    queue: str
    iterations: int
    isolated: int
    repeat: int
    carrier: str | None
    stolen: float | None  # a run with more of it is made again; a part of one processor's time


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
                carrier = carriers.choose(request.carrier)
        except SkipError as error:
            result.skipped[mode.name] = str(error)
        else:
            modes.append(mode)
    return modes, carrier


def quietest(
    run: Callable[[], RunResult], limit: float | None, tell: Callable[[], None]
) -> RunResult:
    """Run it, and again where too much time was stolen, whatever came out; the quietest counts."""
    best = run()
    again = 0
    while limit is not None and best.stolen > limit and again < AGAIN_MAX:
        again += 1
        tell()
        best = min(best, run(), key=lambda one: one.stolen)
    best.again = again
    return best


def link_of(request: Request) -> Link:
    """The lab's usual queue, scaled to the rate: 8 ms, and marks from a quarter of one."""
    scale = request.rate / 1e9
    limit = max(30_000, round((1 << 20) * scale))
    mark = max(3_000, round(ECN_THRESHOLD * scale))
    if request.queue == "red-ecn" and not (features.has_qdisc("red") or wire.buildable()):
        raise SkipError("--queue red-ecn: this kernel has no RED, and there is no clang for BPF")
    return Link(request.rate, request.queue, limit, 0.0, 0.0, mark, offloads=False)


def measure(request: Request) -> Measurement:
    """Build the cluster, run every stage, take the cluster down."""
    _needs(request.jobs)
    jobs = request.jobs.jobs(request.rate)
    result = Measurement(request, jobs)
    modes, carrier = _usable(request, result)
    if not modes:
        raise SkipError("; ".join(result.skipped.values()))
    result.carrier = carrier.name if carrier else None
    tag = f"{os.getpid():x}{secrets.token_hex(2)}"
    with ExitStack() as stack:
        link = link_of(request)
        topology = stack.enter_context(Topology(link, tag, CONNECTIONS_OF_A_JOB * len(jobs)))
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
        return START_S + iterations * (job.compute_ms + job.comm_ms(self.request.rate)) / 1e3

    def _stage(self, label: str, jobs: Sequence[Job], mode: Mode, iterations: int) -> RunResult:
        self.progress.stage(label, self._seconds(iterations))

        def once() -> RunResult:
            with tempfile.TemporaryDirectory(prefix="mlcc-train-") as name:
                session = Session(self.cluster, jobs, mode, Path(name))
                return session.run(self.carrier, iterations, LIMIT_S, self.progress.tick)

        return quietest(once, self.request.stolen, self.progress.again)
