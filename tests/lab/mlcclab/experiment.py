# SPDX-License-Identifier: GPL-2.0
"""The whole measurement: builds the cluster of each scenario, and runs what the schedule says."""

import itertools
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from statistics import fmean

from . import carrier as carriers
from . import features, netplugin, rdma, runner
from .cluster import Cluster
from .errors import LabError
from .progress import Progress
from .runner import Runner, RunResult
from .scenario import Flow, Job, Scenario
from .schedule import REFERENCE_CC, Contender, Request, Schedule, Stage, shape
from .topology import Topology

ISOLATED_WARMUP = 2
# A suspended lab, or virtual machine, would report the pause as a slowdown.
TRIES = 4


@dataclass
class FlowReference:
    """Ordinary traffic alone."""

    completion_ms: list[float]
    mbps: float


@dataclass
class Measurement:
    """Everything that the report is made of; by the names of contenders. A job alone: ms."""

    request: Request
    carrier: str | None
    isolated: dict[str, float] = field(default_factory=dict)
    isolated_cc: dict[tuple[str, str], float] = field(default_factory=dict)
    isolated_flows: dict[str, FlowReference] = field(default_factory=dict)
    runs: dict[str, list[RunResult]] = field(default_factory=dict)


def measure(request: Request, ccs: Sequence[str], wanted: str | None) -> Measurement:
    """One scenario, some congestion controls; wanted: the carrier of those that need one."""
    check_kernel(request.scenario, ccs)
    carrier = _choose_carrier(request.scenario, ccs, wanted)
    return take_turns([request], [Contender(cc, cc, carrier) for cc in ccs])[0]


def take_turns(requests: Sequence[Request], contenders: Sequence[Contender]) -> list[Measurement]:
    """One scenario after the other."""
    schedules = [Schedule(request, contenders) for request in requests]
    with closing(Progress(sum(schedule.seconds() for schedule in schedules))) as progress:
        return [_measure(schedule, progress) for schedule in schedules]


def check_kernel(scenario: Scenario, ccs: Sequence[str]) -> None:
    """Everything that can be checked before the first packet."""
    features.check_scenario(scenario)
    plain = {cc for cc in ccs if not carriers.is_mlcc(cc)}
    if scenario.transport == "verbs":
        features.check_verbs(plain)
    else:
        for cc in sorted(plain | {REFERENCE_CC} | {flow.cc for flow in scenario.flows}):
            features.check_cc(cc)
    if len(plain) < len(ccs):
        carriers.refuse_if_loaded()


def _choose_carrier(
    scenario: Scenario, ccs: Sequence[str], wanted: str | None
) -> carriers.Carrier | None:
    if not any(map(carriers.is_mlcc, ccs)):
        return None
    if scenario.transport.startswith("net"):
        return netplugin.NetCarrier()
    # over verbs only the module's: there the driver finds the jobs
    return carriers.choose("module" if scenario.transport == "verbs" else wanted)


def _measure(schedule: Schedule, progress: Progress) -> Measurement:
    """Build the cluster, run every stage, take the cluster down."""
    scenario = schedule.request.scenario
    tag = f"{os.getpid():x}{secrets.token_hex(2)}"
    with ExitStack() as stack:
        driver = None
        if scenario.transport == "verbs":
            driver = stack.enter_context(rdma.Driver(tag[-6:], scenario.link.rate))
        elif scenario.transport == "net-verbs":
            driver = stack.enter_context(rdma.OwnDriver(tag[-6:], scenario.link.rate))
        topology = stack.enter_context(Topology(scenario.link, tag, scenario.connections, driver))
        cluster, timeout_s = Cluster(scenario, topology), schedule.request.timeout_s
        runners = {
            contender.name: Runner(
                cluster, topology, contender.carrier, timeout_s, scenario.transport
            )
            for contender in (schedule.reference, *schedule.contenders)
        }
        experiment = _Experiment(schedule, runners, progress)
        experiment.run()
    return experiment.result


class _Experiment:
    def __init__(
        self, schedule: Schedule, runners: Mapping[str, Runner], progress: Progress
    ) -> None:
        self.schedule = schedule
        self.scenario = schedule.request.scenario
        self.runners = runners
        self.progress = progress
        loaded = [each.carrier.name for each in schedule.contenders if each.carrier]
        self.result = Measurement(schedule.request, loaded[0] if loaded else None)
        self.cache: dict[tuple[str, Job], float] = {}

    def run(self) -> None:
        """References, then the contenders."""
        schedule = self.schedule
        for job in self.scenario.jobs:
            self.result.isolated[job.name] = self._isolated_ms(schedule.reference, job)
        for flow in self.scenario.flows:
            self.result.isolated_flows[flow.name] = self._flow_reference(flow)
        if schedule.request.isolated_cc:
            for contender, job in itertools.product(schedule.contenders, self.scenario.jobs):
                own = self._isolated_ms(contender, job)
                self.result.isolated_cc[contender.name, job.name] = own
        for stage in schedule.together():
            run = self._measure(stage)
            self.result.runs.setdefault(stage.contender.name, []).append(run)

    def _measure(self, stage: Stage) -> RunResult:
        """Run a stage; again when something stopped the lab meanwhile."""
        self.progress.stage(stage.label, stage.seconds(self.scenario))
        for _ in range(TRIES):
            run = self.runners[stage.contender.name].run(stage.plan, self.progress.tick)
            if not run.frozen_s:
                return run
            self.progress.note(f"stood still for {run.frozen_s:.0f} s: once more: {stage.label}")
        raise LabError(f"{stage.label}: stood still in each of {TRIES} tries")

    def _isolated_ms(self, contender: Contender, job: Job) -> float:
        key = (contender.name, shape(job))
        if key not in self.cache:
            run = self._measure(self.schedule.isolated(contender, job))
            self.cache[key] = _isolated_ms(job, run)
        return self.cache[key]

    def _flow_reference(self, flow: Flow) -> FlowReference:
        run = self._measure(self.schedule.flow_alone(flow))
        trace = run.flows[flow.name]
        return FlowReference(trace.completion_ms, runner.mean_mbps(trace.samples, run.start_ns))


def _isolated_ms(job: Job, run: RunResult) -> float:
    """Mean period without the first iterations.

    For a pair the compute time is known exactly, so only the communication is
    averaged: ten draws of the compute noise would blur the reference.
    """
    trace = next(iter(run.jobs.values()))
    if job.pattern == "pair":
        return job.compute_ms + fmean(trace.comm_ms[ISOLATED_WARMUP:])
    return fmean(trace.iteration_ms[ISOLATED_WARMUP:])
