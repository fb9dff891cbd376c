# SPDX-License-Identifier: BSD-2-Clause
"""The verb gain: what mlcc would save, from what mlcc-ctl observe has seen without it.

A job computes as long as it did.  Jobs that send at once share a link, and keep it busy together:
their bytes over that time are its rate.  A phase alone takes the median of those that met no other;
where these are few, bytes / rate.

Under mlcc the job that is ahead has the link, but for SHARE of it.  Each replicate resamples
computing times, rates and what was observed, and starts the jobs anywhere.
"""

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from . import reader
from .errors import PlanError
from .reader import Field
from .report import Json

ITERATIONS_MIN = 10
ALONE_MIN = 3  # phases that met no other, and are a median
LONG = 4  # times the median: no iteration, but a checkpoint
RATE = 0.75  # quantile: losses leave the link idle at times
SHARE = 0.1  # of the link, for those that are not ahead: fits what results.md has measured
MODEL = 0.03  # what it is off by there; unequal jobs: 0.04, periods of 1 : 1.2: 0.05
RUN, WARM = 60, 0.25  # iterations of the slowest job in a replicate; in this part jobs part
REPLICATES, WORK = 100, 40_000  # and iterations times jobs in each

EPILOG = """\
example, without mlcc and without root:
  mlcc-ctl -j observe --for 60s | tail -n 1 | mlcc-plan gain
        of several hosts give files: their jobs are taken to share one link, and clocks to agree
"""


@dataclass(frozen=True)
class Job:
    """Its phases: when each began, its time, and its bytes; times in us."""

    name: str
    phases: list[tuple[float, float, float]]
    periods: list[float]  # of whole iterations
    compute: list[float]


@dataclass(frozen=True)
class Model:
    """A job as it is simulated; its compute times are drawn from those."""

    rate: float  # alone
    nbytes: float
    compute: list[float]

    @property
    def period(self) -> float:
        return self.nbytes / self.rate + fmean(self.compute)


class Link:
    """Jobs that share one, while all were seen."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.rates: list[float] = []
        self.alone: dict[str, list[float]] = {job.name: [] for job in jobs}
        begin = max(job.phases[0][0] for job in jobs)
        last = min(job.phases[-1][0] for job in jobs)
        phases = sorted((*phase, job.name) for job in jobs for phase in job.phases)
        busy, end = phases[:1], sum(phases[0][:2])
        for phase in phases[1:]:
            if phase[0] >= end:
                if begin <= busy[0][0] <= last:
                    self._count(busy, end)
                busy = []
            busy.append(phase)
            end = max(end, sum(phase[:2]))
        if not self.rates and begin < last:  # without a pause, ever
            self._count(busy, end)

    def _count(self, busy: list[tuple[float, float, float, str]], end: float) -> None:
        self.rates.append(sum(phase[2] for phase in busy) / (end - busy[0][0]))
        if len(busy) == 1:
            self.alone[busy[0][3]].append(busy[0][1])

    def models(self, draw: random.Random) -> tuple[float, list[Model]]:
        """The rate, and the jobs, of a replicate."""

        def again(values: list[float]) -> list[float]:
            return draw.choices(values, k=len(values))

        rate = float(np.quantile(again(self.rates), RATE))
        models = []
        for job in self.jobs:
            alone, nbytes = self.alone[job.name], median(phase[2] for phase in job.phases)
            own = nbytes / median(again(alone)) if len(alone) >= ALONE_MIN else rate
            models.append(Model(own, nbytes, again(job.compute)))
        return max(rate, *(model.rate for model in models)), models


def _mean_again(draw: random.Random, values: list[float]) -> float:
    """In runs: under a fair share an iteration is much like the one before."""
    run = math.isqrt(len(values))
    begins = [draw.randrange(len(values) - run + 1) for _ in range(len(values) // run)]
    return fmean(value for begin in begins for value in values[begin : begin + run])


def _shares(rate: float, ahead: int, wanted: dict[int, float]) -> dict[int, float]:
    """What each of those that send gets."""
    others = [one for one in wanted if one != ahead]
    first = min(wanted[ahead], rate - min(SHARE * rate, sum(wanted[one] for one in others)))
    each = (rate - first) / max(1, len(others))
    return {ahead: first} | {one: min(wanted[one], each) for one in others}


def simulate(rate: float, models: Sequence[Model], draw: random.Random) -> list[float]:
    """Mean iterations under mlcc."""
    longest = max(model.period for model in models)
    until = {one: draw.random() * model.period for one, model in enumerate(models)}
    left: dict[int, float] = {}  # bytes of those that send
    begins: list[list[float]] = [[] for _ in models]
    now, ahead = 0.0, -1
    while now < RUN * longest or min(map(len, begins)) < RUN / 2:
        if left and ahead not in left:
            ahead = min(left, key=lambda one: left[one] / models[one].nbytes)
        shares = _shares(rate, ahead, {one: models[one].rate for one in left}) if left else {}
        events = until | {one: now + left[one] / share for one, share in shares.items() if share}
        who = min(events, key=events.__getitem__)
        for one, share in shares.items():
            left[one] = max(0.0, left[one] - share * (events[who] - now))
        now = events[who]
        if who in left:
            del left[who]
            until[who] = now + draw.choice(models[who].compute)
        else:
            del until[who]
            left[who] = models[who].nbytes
            begins[who].append(now)
    settled = [times[int(len(times) * WARM) :] for times in begins]
    return [(times[-1] - times[0]) / (len(times) - 1) for times in settled]


def _name(where: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) < 256 or not value.isprintable():
        raise PlanError(f"{where}: {reader.quoted(value)} is not a name that observe gives")
    return value


def _some(**fields: reader.Parser) -> reader.Parser:
    """An object with these keys; observe's others say nothing here."""

    def parse(where: str, value: object) -> Json:
        if isinstance(value, dict):
            value = {key: value[key] for key in fields if key in value}
        return reader.table(where, value, {key: Field(one, True) for key, one in fields.items()})

    return parse


_COUNT = reader.number(0, 2**60)
_PHASES = reader.each(_some(start_us=_COUNT, comm_us=_COUNT, bytes=_COUNT), 0, 4096)
_JOBS = reader.each(_some(name=_name, iterations=_PHASES), 0, 256)
_SEEN = _some(jobs=_JOBS, overlaps=reader.each(_some(job=_name, **{"with": _name}), 0, 1 << 15))


def _job(seen: Json) -> Job:
    phases = [
        (row["start_us"], max(1.0, row["comm_us"]), max(1.0, row["bytes"]))
        for row in seen["iterations"]
    ]
    periods = [after[0] - phase[0] for phase, after in zip(phases, phases[1:], strict=False)]
    pairs = [(period, period - phase[1]) for period, phase in zip(periods, phases, strict=False)]
    if any(compute < 0 for _, compute in pairs):
        raise PlanError(f"jobs: {seen['name']}: a phase begins before the last one has ended")
    whole = [pair for pair in pairs if pair[0] <= LONG * median(periods)]
    return Job(seen["name"], phases, [one for one, _ in whole], [one for _, one in whole])


def _why_not(jobs: Sequence[Job]) -> str | None:
    """Why nothing can be said of jobs that share a link."""
    few = min(jobs, key=lambda job: len(job.periods))
    if len(few.periods) < ITERATIONS_MIN:
        return f"{len(few.periods)} iterations of {few.name} were seen, not {ITERATIONS_MIN}"
    means = [fmean(job.periods) for job in jobs]
    if len(jobs) * sum(RUN * max(means) / mean for mean in means) > WORK:
        return f"{len(jobs)} jobs on a link, or periods far apart, are too much to simulate"
    return None if Link(jobs).rates else "they were not seen at the same time"


def _gains(jobs: Sequence[Job]) -> list[Json]:
    why = _why_not(jobs)
    if why:
        return [{"name": job.name, "verdict": "cannot tell", "why": why} for job in jobs]
    link, draw = Link(jobs), random.Random(1)
    alone, then, saved = [], [], []
    for _ in range(REPLICATES):
        rate, models = link.models(draw)
        alone.append([model.period for model in models])
        then.append(simulate(rate, models, draw))
        seen = [_mean_again(draw, job.periods) for job in jobs]
        saved.append([1 - mean / one for mean, one in zip(then[-1], seen, strict=True)])
    ends = np.quantile(saved, (0.025, 0.5, 0.975), axis=0) + [[-MODEL], [0], [MODEL]]
    times = np.median((alone, then), axis=1) / 1000
    columns = zip(jobs, *times.round(3).tolist(), *ends.round(4).tolist(), strict=True)
    return [
        {
            "name": job.name,
            "verdict": "saves" if low > 0 else "loses" if high < 0 else "no certain difference",
            "iterations": len(job.periods),
            "iteration_ms": round(fmean(job.periods) / 1000, 3),
            "alone_ms": single,
            "mlcc_ms": mean,
            "saved": middle,
            "interval": [low, high],
        }
        for job, single, mean, low, middle, high in columns
    ]


def gains(paths: Sequence[str]) -> Json:
    """Of all jobs in what observe has printed."""
    seen = [_SEEN(path, reader.load(path)) for path in paths]
    for one in seen:
        reader.unique("jobs", [job["name"] for job in one["jobs"]])
    hosts = [_job(job) for one in seen for job in one["jobs"]]
    # of a job of several hosts the one that was seen longest
    hosts.sort(key=lambda job: len(job.periods))
    jobs = list({job.name: job for job in hosts}.values())
    links = [{job.name} for job in jobs]
    for pair in ({one["job"], one["with"]} for file in seen for one in file["overlaps"]):
        joined = set().union(*(link for link in links if link & pair))
        links = [link for link in links if not link & pair] + [joined]
    if len(paths) > 1:
        links = [{job.name for job in jobs}]
    groups = [[job for job in jobs if job.name in link] for link in links]
    return {"jobs": [one for group in groups if group for one in _gains(group)]}


def text(result: Json) -> str:
    """A line for each job."""
    lines = [f"{'JOB':27} {'ITER ms':>8} {'ALONE':>8} {'MLCC':>8} {'SAVES %':>8}  95 %"]
    for job in result["jobs"]:
        said = f"cannot tell: {job.get('why')}"
        if "saved" in job:
            said = " ".join(f"{job[key]:8.1f}" for key in ("iteration_ms", "alone_ms", "mlcc_ms"))
            saved, low, high = (100 * one for one in (job["saved"], *job["interval"]))
            said += f" {saved:8.1f}  {low:.1f} to {high:.1f}"
        lines.append(f"{job['name'][-27:]:27} {said}")
    return "\n".join(lines)


def add_options(verb: argparse.ArgumentParser) -> None:
    """Those of the verb."""
    verb.epilog = EPILOG
    verb.formatter_class = argparse.RawDescriptionHelpFormatter
    verb.add_argument("files", nargs="*", default=["-"], help="of observe (default -)")
