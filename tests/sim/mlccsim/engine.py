# SPDX-License-Identifier: GPL-2.0
"""Runs mlcc-sim, as many processes at a time as there are CPUs."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlcclab import fct
from mlcclab.errors import LabError, SkipError, UsageError
from mlcclab.progress import Progress

from .scenario import Scenario, settings

PROGRAM = Path(__file__).resolve().parents[3] / "build" / "sim" / "mlcc-sim"
WRONG = 2
INSTANT_S = 1e-6


@dataclass(frozen=True)
class Run:
    """One process; only: the number of the job that runs alone, -1: all of them."""

    cc: str
    seed: int
    only: int = -1

    @property
    def label(self) -> str:
        return f"{self.cc}, seed {self.seed}" + (", a job alone" if self.only >= 0 else "")


def simulate(scenario: Scenario, run: Run, **keys: object) -> dict[str, Any]:
    """What mlcc-sim says of a run; keys: settings that are to be others, those of jobs in all."""
    lines = settings(scenario, run.cc, run.seed, run.only)
    for key, value in keys.items():
        lines, found = re.subn(rf"^{key} .*$", f"{key} {value}", lines, flags=re.MULTILINE)
        if not found:
            raise ValueError(key)
    done = subprocess.run([PROGRAM], input=lines, capture_output=True, text=True, check=False)
    if done.returncode == WRONG:
        raise UsageError(done.stderr.strip())
    if not done.stdout:
        raise LabError(f"mlcc-sim: {done.stderr.strip() or f'ended with {done.returncode}'}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _simulate(scenario: Scenario, run: Run) -> dict[str, Any]:
    """The same, and of its background flows, which may be very many, what counts."""
    found = simulate(scenario, run)
    for job in found["jobs"]:
        if "flows" in job:
            job["fct"] = fct.summary(job.pop("flows"), found["simulated_s"])
    return found


def check_built() -> None:
    """Says how to get the program."""
    if not PROGRAM.exists():
        raise SkipError("mlcc-sim is not built: make sim")


def simulate_all(scenario: Scenario, runs: Sequence[Run]) -> dict[Run, dict[str, Any]]:
    """All of them, with a progress bar; what mlcc-sim would refuse it refuses before that."""
    check_built()
    simulate(replace(scenario, stop_s=INSTANT_S), runs[0])
    with closing(Progress(len(runs), name="mlcc-sim")) as progress:
        return dict(_results(scenario, runs, progress))


def _results(
    scenario: Scenario, runs: Sequence[Run], progress: Progress
) -> Iterator[tuple[Run, dict[str, Any]]]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        due = {pool.submit(_simulate, scenario, run): run for run in runs}
        progress.stage(runs[0].label, 1)
        try:
            for future in as_completed(due):
                yield due[future], future.result()
                progress.stage(f"{due[future].label} is done", 1)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
