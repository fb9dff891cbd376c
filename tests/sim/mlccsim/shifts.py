# SPDX-License-Identifier: GPL-2.0
"""Starts that mlcc-plan finds, as CASSINI and Metronome do, against jobs that find their turns."""

import argparse
import json
import subprocess
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from statistics import fmean

from mlcclab.errors import LabError
from mlcclab.stats import settled

from .cli import find
from .engine import Run, simulate
from .papers import Json, table, with_half
from .scenario import Scenario, goodput_bps

PLAN = Path(__file__).resolve().parents[3] / "userspace" / "plan" / "mlcc-plan"
SCENARIO = "pair-3x32"
LINK = "bottleneck"


def periods_s(scenario: Scenario) -> list[tuple[float, float]]:
    """What each pair computes, then sends, alone on the dumbbell."""
    rate = goodput_bps(scenario) / 8
    return [(job.steps[0].compute_s, job.steps[0].bytes / rate) for job in scenario.jobs]


def problem(scenario: Scenario) -> Json:
    """Pairs on a dumbbell, for mlcc-plan."""
    return {
        "links": [{"name": LINK, "gbps": scenario.topology["bottleneck"] / 1e9}],
        "jobs": [
            {
                "name": job.name,
                "period_ms": 1e3 * (computes + sends),
                "arcs": [{"start_ms": 1e3 * computes, "length_ms": 1e3 * sends}],
                "routes": [[LINK]],
            }
            for job, (computes, sends) in zip(scenario.jobs, periods_s(scenario), strict=True)
        ],
    }


def planned(scenario: Scenario) -> Scenario:
    """The same, with its jobs' starts as planned."""
    done = subprocess.run(
        [PLAN, "solve", "-j", "-"],
        input=json.dumps(problem(scenario)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LabError(f"mlcc-plan: {done.stderr.strip()}")
    shifts = {job["name"]: job["shift_ms"] / 1e3 for job in json.loads(done.stdout)["jobs"]}
    jobs = (replace(job, start_s=shifts[job.name]) for job in scenario.jobs)
    return replace(scenario, jobs=tuple(jobs))


def slowdown(scenario: Scenario, cc: str, seed: int, noise: float) -> float:
    """Mean iteration over that of a job alone, mean over jobs."""
    jobs = simulate(scenario, Run(cc, seed), noise=noise)["jobs"]
    alone = map(sum, periods_s(scenario))
    return fmean(
        fmean(settled(job["iterations_s"])) / period
        for job, period in zip(jobs, alone, strict=True)
    )


def compare(options: argparse.Namespace) -> None:
    """Without noise, where one seed is as good as another, and with what the scenario has."""
    scenario = find(SCENARIO)
    cases = [
        ("plain DCQCN", scenario, "dcqcn"),
        ("plain DCQCN, starts planned", planned(scenario), "dcqcn"),
        ("`interleave`", scenario, "interleave"),
    ]
    noise = scenario.jobs[0].values["noise"]

    def row(name: str, case: Scenario, cc: str) -> list[str]:
        still = slowdown(case, cc, options.seeds[0], 0)
        noisy = [slowdown(case, cc, seed, noise) for seed in options.seeds]
        return [name, f"{still:.3f}", with_half(noisy, 3)]

    head = [SCENARIO, "slowdown without noise", f"with {100 * noise:g} %"]
    table(head, starmap(row, cases))
