# SPDX-License-Identifier: GPL-2.0
"""What a measurement runs, and in which order: references first, then the contenders in turn."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from . import rdma
from .carrier import Carrier
from .runner import Plan, expected_seconds
from .scenario import Flow, Job, Scenario

REFERENCE_CC = "cubic"
ISOLATED_ITERATIONS = 10
ISOLATED_FLOW_S = 5.0


@dataclass(frozen=True)
class Request:
    """What the operator asked for, of one scenario."""

    scenario: Scenario
    iterations: int
    seed: int
    repeat: int
    isolated_cc: bool
    timeout_s: float

    @property
    def reference_cc(self) -> str:
        """What a job runs under alone, to be held against."""
        return rdma.DCQCN if self.scenario.transport == "verbs" else REFERENCE_CC


@dataclass(frozen=True)
class Contender:
    """One that takes its turn: a congestion control, and the carrier that it comes from."""

    name: str  # in the report
    cc: str
    carrier: Carrier | None


@dataclass(frozen=True)
class Stage:
    """One run with its place in the measurement."""

    label: str
    plan: Plan
    contender: Contender

    def seconds(self, scenario: Scenario) -> float:
        """A guess for the progress bar."""
        return expected_seconds(self.plan, scenario.link)


@dataclass(frozen=True)
class Schedule:
    """The stages of one scenario."""

    request: Request
    contenders: Sequence[Contender]

    @property
    def reference(self) -> Contender:
        """CUBIC, or its like: no carrier's."""
        return Contender(self.request.reference_cc, self.request.reference_cc, None)

    def seconds(self) -> float:
        """All that will run."""
        scenario = self.request.scenario
        alone = self.alone().values()
        stages = [*alone, *map(self.flow_alone, scenario.flows), *self.together()]
        return sum(stage.seconds(scenario) for stage in stages)

    def alone(self) -> dict[tuple[str, Job], Stage]:
        """Each job under the reference and its own: equal ones run once."""
        own = self.contenders if self.request.isolated_cc else []
        stages: dict[tuple[str, Job], Stage] = {}
        for contender, job in itertools.product([self.reference, *own], self.request.scenario.jobs):
            stages.setdefault((contender.name, shape(job)), self._isolated(contender, job))
        return stages

    def _isolated(self, contender: Contender, job: Job) -> Stage:
        """A job alone; a pair's compute time is known."""
        noise = job.noise if job.pattern != "pair" else 0.0
        alone = replace(job, noise=noise, start_ms=0.0, connect_late=False)
        plan = Plan(contender.cc, [alone], [], ISOLATED_ITERATIONS, self.request.seed)
        return Stage(f"{job.name} alone under {contender.name}", plan, contender)

    def flow_alone(self, flow: Flow) -> Stage:
        """Ordinary traffic alone."""
        alone = replace(flow, start_ms=0.0)
        plan = Plan(flow.cc, [], [alone], 0, self.request.seed, ISOLATED_FLOW_S)
        return Stage(f"{flow.name} alone", plan, self.reference)

    def together(self) -> Iterator[Stage]:
        """The contenders take turns, seed by seed."""
        request, scenario = self.request, self.request.scenario
        for turn in range(request.repeat):
            # Every other turn backwards: what drifts meanwhile is nobody's advantage.
            for contender in self.contenders[:: -1 if turn % 2 else 1]:
                plan = Plan(
                    contender.cc,
                    scenario.jobs,
                    scenario.flows,
                    request.iterations,
                    request.seed + turn,
                    changes=scenario.link.changes,
                )
                again = f" ({turn + 1} of {request.repeat})" if request.repeat > 1 else ""
                yield Stage(f"{scenario.name} under {contender.name}{again}", plan, contender)


def shape(job: Job) -> Job:
    """Jobs that differ in name and start only are the same when alone."""
    return replace(job, name="", start_ms=0.0, connect_late=False)
