# SPDX-License-Identifier: GPL-2.0
"""What could be reached at best: a scenario's jobs on a link with perfect knowledge.

No packets, no congestion control: jobs that compute and send, and a link that is given to them

    fair    in equal parts, as fair queueing does it without delay and without loss
    first   to who came first, until it is done
    short   to who has least left to send, at any moment

The figure is the mean slowdown, of all iterations after the first quarter, each against what the
same compute time takes alone: what noise costs.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from mlcclab import program, scenario, stats
from mlcclab.errors import EXIT_OK
from mlcclab.options import Parser, whole

EPSILON = 1e-6  # ms
MAX_ITERATIONS, MAX_SEEDS = 1_000_000, 1000


@dataclass
class Job:
    """Computes for "compute" ms, and then has the link for "send" ms of its own."""

    compute: float
    send: float
    law: Callable[[], float]  # draws how long an iteration computes, of its mean
    left: float = 0.0  # of the link, for what was given to it
    came: float = 0.0  # when it has computed, and wants the link
    began: float = 0.0  # its iteration
    times: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)

    def begins(self, now: float) -> None:
        """An iteration."""
        computes = self.compute * self.law()
        self.began, self.came, self.left = now, now + computes, self.send
        self.alone.append(computes + self.send)

    def sent(self, now: float) -> None:
        """The link has carried everything."""
        self.times.append(now - self.began)
        self.begins(now)


def fair(sending: list[Job]) -> dict[int, float]:
    """All at once."""
    return {id(job): 1 / len(sending) for job in sending}


def first(sending: list[Job]) -> dict[int, float]:
    """One after the other."""
    return {id(min(sending, key=lambda job: job.came)): 1.0}


def short(sending: list[Job]) -> dict[int, float]:
    """Whoever is done soonest."""
    return {id(min(sending, key=lambda job: (job.left, job.came))): 1.0}


Order = Callable[[list[Job]], dict[int, float]]
ORDERS: dict[str, Order] = {"fair": fair, "first": first, "short": short}


def run(jobs: Sequence[Job], order: Order, iterations: int) -> float:
    """Mean slowdown over the jobs."""
    now = 0.0
    for job in jobs:
        job.begins(0.0)
    while min(len(job.times) for job in jobs) < iterations:
        sending = [job for job in jobs if job.came <= now + EPSILON]
        share = order(sending) if sending else {}
        done = [job.left / share[id(job)] for job in sending if id(job) in share]
        step = min([job.came - now for job in jobs if job not in sending] + done)
        now += step
        for job in sending:
            job.left -= step * share.get(id(job), 0.0)
            if job.left < EPSILON:
                job.sent(now)
    return fmean(stats.slowdown(job.times, job.alone[: len(job.times)]) for job in jobs)


def law(wanted: float, seed: str) -> Callable[[], float]:
    """As mlcc-burst draws it."""
    rng = random.Random(seed)
    return lambda: max(0.0, 1 + wanted * rng.gauss(0, 1))


def jobs_of(item: scenario.Scenario, seed: int) -> list[Job]:
    """The jobs of a scenario, which share one link."""
    link = item.link
    return [
        Job(job.compute_ms, job.wire_ms(link.rate, link.mtu), law(job.noise, f"{seed} {i}"))
        for i, job in enumerate(item.jobs)
    ]


def bound(item: scenario.Scenario, order: Order, iterations: int, seeds: int) -> float:
    """Mean over the seeds."""
    return fmean(run(jobs_of(item, seed), order, iterations) for seed in range(seeds))


def main(arguments: Sequence[str]) -> int:
    """Every scenario asked for, as a Markdown table."""
    return program.run("bound", lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="tests/bench/bound",
        description="What the best order could reach, without packets: mean slowdowns.",
    )
    add = parser.add_argument
    add("scenario", nargs="+", help="name of a shipped one, or a file")
    add("--iterations", type=whole(4, MAX_ITERATIONS), default=80)
    add("--repeat", type=whole(1, MAX_SEEDS), default=20, help="seeds")
    options = parser.parse_args(arguments)
    loaded = {name: scenario.load(scenario.find(name)) for name in options.scenario}
    print("| scenario |", " | ".join(ORDERS), "|")
    print("|---|" + "---|" * len(ORDERS))
    for name, item in loaded.items():
        figures = [
            bound(item, order, options.iterations, options.repeat) for order in ORDERS.values()
        ]
        print(f"| {name} |", " | ".join(f"{figure:.3f}" for figure in figures), "|")
    return EXIT_OK
