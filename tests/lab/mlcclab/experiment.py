# SPDX-License-Identifier: GPL-2.0
"""The whole measurement of a scenario: references first, then the ccs in turn."""

import itertools
import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import fmean

from . import carrier as carriers
from . import features, rdma, runner
from .cluster import Cluster
from .errors import LabError
from .planner import Planned
from .progress import Progress
from .runner import Plan, Runner, RunResult
from .scenario import Flow, Job, Planning, Scenario
from .topology import Topology

REFERENCE_CC = "cubic"
ISOLATED_ITERATIONS = 10
ISOLATED_WARMUP = 2
ISOLATED_FLOW_S = 5.0
# A suspended lab, or virtual machine, would report the pause as a slowdown.
TRIES = 4


@dataclass(frozen=True)
class Request:
    """What the operator asked for."""

    scenario: Scenario
    ccs: Sequence[str]
    iterations: int
    seed: int
    repeat: int
    isolated_cc: bool
    carrier: str | None
    timeout_s: float


@dataclass
class Reference:
    """A job alone: its period before and after a change of its batch size."""

    before_ms: float
    after_ms: float | None = None


@dataclass
class FlowReference:
    """Ordinary traffic alone."""

    completion_ms: list[float]
    mbps: float


@dataclass
class Measurement:
    """Everything that the report is made of."""

    request: Request
    carrier: str | None
    isolated: dict[str, Reference] = field(default_factory=dict)
    isolated_cc: dict[tuple[str, str], Reference] = field(default_factory=dict)
    isolated_flows: dict[str, FlowReference] = field(default_factory=dict)
    runs: dict[str, list[RunResult]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Stage:
    """One run with its place in the measurement."""

    label: str
    plan: Plan


def measure(request: Request) -> Measurement:
    """Build the cluster, run every stage, take the cluster down."""
    scenario = request.scenario
    carrier = _prepare(request)
    measurement = Measurement(request, carrier.name if carrier else None)
    tag = f"{os.getpid():x}{secrets.token_hex(2)}"
    with ExitStack() as stack:
        driver = None
        if scenario.transport == "verbs":
            driver = stack.enter_context(rdma.Driver(tag[-6:], scenario.link.rate))
        topology = stack.enter_context(Topology(scenario.link, tag, scenario.connections, driver))
        cluster = Cluster(scenario, topology)
        experiment = _Experiment(
            request, Runner(cluster, topology, carrier, request.timeout_s), measurement
        )
        stack.callback(experiment.progress.close)
        experiment.run()
    return measurement


def _prepare(request: Request) -> carriers.Carrier | None:
    """Check everything that can be checked before the first packet."""
    features.check_scenario(request.scenario)
    plain = {cc for cc in request.ccs if not carriers.is_mlcc(cc)}
    if request.scenario.transport == "verbs":
        features.check_verbs(plain)
    else:
        for cc in sorted(plain | {REFERENCE_CC} | {flow.cc for flow in request.scenario.flows}):
            features.check_cc(cc)
    if all(not carriers.is_mlcc(cc) for cc in request.ccs):
        return None
    carriers.refuse_if_loaded()
    if request.scenario.transport == "verbs":
        return carriers.choose("module")  # only there the driver can find the jobs
    return carriers.choose(request.carrier)


def _reference_cc(scenario: Scenario) -> str:
    return rdma.DCQCN if scenario.transport == "verbs" else REFERENCE_CC


class _Experiment:
    def __init__(self, request: Request, lab: Runner, measurement: Measurement) -> None:
        self.request = request
        self.scenario = request.scenario
        self.runner = lab
        self.result = measurement
        self.cache: dict[tuple[str, Job], float] = {}
        expected = sum(self._seconds(stage.plan) for stage in self._stages())
        self.progress = Progress(expected)

    def run(self) -> None:
        """References, then repeats; within a repeat the ccs take turns."""
        request = self.request
        for job in self.scenario.jobs:
            self.result.isolated[job.name] = self._reference(_reference_cc(self.scenario), job)
        for flow in self.scenario.flows:
            self.result.isolated_flows[flow.name] = self._flow_reference(flow)
        if request.isolated_cc:
            for cc, job in itertools.product(request.ccs, self.scenario.jobs):
                self.result.isolated_cc[cc, job.name] = self._reference(cc, job)
        for stage in self._main_stages():
            run = self._measure(stage)
            self.result.runs.setdefault(stage.plan.cc, []).append(run)

    def _seconds(self, plan: Plan) -> float:
        return runner.expected_seconds(plan, self.scenario.link)

    def _measure(self, stage: _Stage) -> RunResult:
        """Run a stage; again when something stopped the lab meanwhile."""
        self.progress.stage(stage.label, self._seconds(stage.plan))
        for _ in range(TRIES):
            run = self.runner.run(stage.plan, self.progress.tick)
            if not run.frozen_s:
                return run
            self.progress.note(f"stood still for {run.frozen_s:.0f} s: once more: {stage.label}")
        raise LabError(f"{stage.label}: stood still in each of {TRIES} tries")

    def _stages(self) -> list[_Stage]:
        """All that will run, for the progress bar; equal references run once."""
        own = self.request.ccs if self.request.isolated_cc else []
        ccs = [_reference_cc(self.scenario), *own]
        shapes: dict[tuple[str, Job], _Stage] = {}
        for cc, job in itertools.product(ccs, self.scenario.jobs):
            for variant in (job, job.after_switch()):
                if variant:
                    shapes.setdefault((cc, _shape(variant)), self._isolated_stage(cc, variant))
        flows = [self._flow_stage(flow) for flow in self.scenario.flows]
        return [*shapes.values(), *flows, *self._main_stages()]

    def _main_stages(self) -> list[_Stage]:
        request = self.request
        stages = []
        for turn, cc in itertools.product(range(request.repeat), request.ccs):
            plan = Plan(
                cc,
                self.scenario.jobs,
                self.scenario.flows,
                request.iterations,
                request.seed + turn,
                planned=self._planned(cc),
            )
            again = f" ({turn + 1} of {request.repeat})" if request.repeat > 1 else ""
            stages.append(_Stage(f"{self.scenario.name} under {cc}{again}", plan))
        return stages

    def _planned(self, cc: str) -> Planned | None:
        """The jobs as they have been measured alone; before that nothing is planned."""
        measured = self.result.isolated
        planning = self.scenario.planning or (Planning() if carriers.is_planned(cc) else None)
        if planning is None or not carriers.is_mlcc(cc) or len(measured) < len(self.scenario.jobs):
            return None
        alone_ms = {name: reference.before_ms for name, reference in measured.items()}
        return Planned(self.scenario, planning, alone_ms)

    def _isolated_stage(self, cc: str, job: Job) -> _Stage:
        alone = replace(job, start_ms=0.0, switch=None)
        plan = Plan(cc, [alone], [], ISOLATED_ITERATIONS, self.request.seed)
        return _Stage(f"{job.name} alone under {cc}", plan)

    def _flow_stage(self, flow: Flow) -> _Stage:
        alone = replace(flow, start_ms=0.0)
        plan = Plan(flow.cc, [], [alone], 0, self.request.seed, ISOLATED_FLOW_S)
        return _Stage(f"{flow.name} alone", plan)

    def _reference(self, cc: str, job: Job) -> Reference:
        after = job.after_switch()
        before_ms = self._isolated_ms(cc, replace(job, switch=None))
        return Reference(before_ms, self._isolated_ms(cc, after) if after else None)

    def _isolated_ms(self, cc: str, job: Job) -> float:
        key = (cc, _shape(job))
        if key not in self.cache:
            run = self._measure(self._isolated_stage(cc, job))
            self.cache[key] = _isolated_ms(job, run)
        return self.cache[key]

    def _flow_reference(self, flow: Flow) -> FlowReference:
        run = self._measure(self._flow_stage(flow))
        trace = run.flows[flow.name]
        return FlowReference(trace.completion_ms, runner.mean_mbps(trace.samples, run.start_ns))


def _shape(job: Job) -> Job:
    """Jobs that differ in name, start and clock only are the same when alone."""
    return replace(job, name="", start_ms=0.0, switch=None, clock_ms=0.0)


def _isolated_ms(job: Job, run: RunResult) -> float:
    """Mean period without the first iterations.

    For a pair the compute time is known exactly, so only the communication is
    averaged: ten draws of the compute noise would blur the reference.
    """
    trace = next(iter(run.jobs.values()))
    if job.pattern == "pair":
        return job.compute_ms + fmean(trace.comm_ms[ISOLATED_WARMUP:])
    return fmean(trace.iteration_ms[ISOLATED_WARMUP:])
