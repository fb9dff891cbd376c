# SPDX-License-Identifier: GPL-2.0
"""The whole measurement: builds the cluster of each scenario, and runs what the schedule says."""

import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from statistics import fmean

from . import carrier as carriers
from . import features, lead, netplugin, rdma, runner
from .cluster import Cluster
from .errors import LabError
from .progress import Progress
from .runner import Runner, RunResult
from .scenario import Flow, Job, Scenario
from .schedule import REFERENCE_CC, Contender, Request, Schedule, Stage, shape
from .topology import Topology

ISOLATED_WARMUP = 2
DRIVERS = {"verbs": rdma.Driver, "net-verbs": rdma.OwnDriver}
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
    if any(map(carriers.is_led, ccs)):
        lead.check(scenario)
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
    if scenario.transport in netplugin.PLUGINS:
        netplugin.check()
        return None
    # over verbs only the module's: there the driver finds the jobs
    return carriers.choose("module" if scenario.transport == "verbs" else wanted)


def _measure(schedule: Schedule, progress: Progress) -> Measurement:
    """Build the cluster, run references and contenders, take the cluster down."""
    request, scenario = schedule.request, schedule.request.scenario
    loaded = [each.carrier.name for each in schedule.contenders if each.carrier]
    if scenario.transport in netplugin.PLUGINS:
        loaded = ["net" for each in schedule.contenders if carriers.is_mlcc(each.cc)]
    result = Measurement(request, loaded[0] if loaded else None)
    tag = f"{os.getpid():x}{secrets.token_hex(2)}"
    with ExitStack() as stack:
        driver = None
        if scenario.transport in DRIVERS:
            made = DRIVERS[scenario.transport](tag[-6:], scenario.link.rate)
            driver = stack.enter_context(made)
        topology = stack.enter_context(Topology(scenario.link, tag, scenario.connections, driver))
        cluster = Cluster(scenario, topology)

        def run(stage: Stage) -> RunResult:
            """Again when something stopped the lab meanwhile."""
            progress.stage(stage.label, stage.seconds(scenario))
            for _ in range(TRIES):
                one = Runner(cluster, topology, stage.plan, request.timeout_s, scenario.transport)
                found = one.run(stage.contender.carrier, progress.tick)
                if not found.frozen_s:
                    return found
                progress.note(f"stood still for {found.frozen_s:.0f} s: once more: {stage.label}")
            raise LabError(f"{stage.label}: stood still in each of {TRIES} tries")

        alone = {
            key: _isolated_ms(stage.plan.jobs[0], run(stage))
            for key, stage in schedule.alone().items()
        }
        for flow in scenario.flows:
            result.isolated_flows[flow.name] = _flow_reference(flow, run(schedule.flow_alone(flow)))
        for stage in schedule.together():
            result.runs.setdefault(stage.contender.name, []).append(run(stage))
    for job in scenario.jobs:
        result.isolated[job.name] = alone[schedule.reference.name, shape(job)]
        for contender in schedule.contenders if request.isolated_cc else ():
            result.isolated_cc[contender.name, job.name] = alone[contender.name, shape(job)]
    return result


def _flow_reference(flow: Flow, run: RunResult) -> FlowReference:
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
