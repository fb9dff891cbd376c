# SPDX-License-Identifier: GPL-2.0
"""What came of the runs: figures, and a table of them."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from mlcclab import fct
from mlcclab.stats import settled, slowdown
from mlcclab.table import align

from .engine import Run
from .scenario import ENDLESS, Scenario

Json = dict[str, Any]
Results = dict[Run, Json]

# Iterations, of which the first quarter is left out.
ENOUGH = 4


def alone_runs(scenario: Scenario, base: str, seeds: Sequence[int]) -> list[Run]:
    """Each job, alone under the base: of copies each has its own places, paths and noise."""
    return [
        Run(base, seed, number)
        for seed in seeds
        for number, job in enumerate(scenario.jobs)
        if job.values["workload"] not in ENDLESS
    ]


def build(
    scenario: Scenario, base: str, ccs: Sequence[str], seeds: Sequence[int], results: Results
) -> Json:
    """The report as JSON; times are in milliseconds."""
    found = [_of_cc(scenario, base, cc, seeds, results) for cc in ccs]
    for result in found[1:]:
        result["against_first"] = against(result["slowdowns"], found[0]["slowdowns"])
        for ours, theirs in zip(result["jobs"], found[0]["jobs"], strict=True):
            if "fct" in ours:
                fct.compare(ours["fct"], theirs["fct"])
    return {
        "scenario": scenario.name,
        "base": base,
        "seeds": list(seeds),
        "iterations": scenario.iterations,
        "results": found,
    }


def against(ours: Sequence[float | None], theirs: Sequence[float | None]) -> Json | None:
    """How many times theirs ours is, seed by seed: both had the same places and noise."""
    pairs = zip(ours, theirs, strict=True)
    return fct.interval([a / b if a is not None and b is not None else None for a, b in pairs])


def _of_cc(scenario: Scenario, base: str, cc: str, seeds: Sequence[int], results: Results) -> Json:
    runs = [results[Run(cc, seed)] for seed in seeds]
    jobs = [
        _of_job(job.name, number, runs, [results.get(Run(base, seed, number)) for seed in seeds])
        for number, job in enumerate(scenario.jobs)
    ]
    by_seed = [
        _mean([job["slowdowns"][i] for job in jobs if job["slowdowns"][i] is not None])
        for i in range(len(seeds))
    ]
    return {
        "cc": cc,
        "jobs": jobs,
        "slowdown_mean": fct.interval(by_seed),
        "slowdowns": by_seed,
        "over": all(run["over"] for run in runs),
        **means(runs),
    }


def means(runs: Sequence[Json]) -> Json:
    """Over the seeds, of what a run says of itself."""
    return {
        "simulated_s": fmean(run["simulated_s"] for run in runs),
        "cpu_s": fmean(run["cpu_s"] for run in runs),
        "network": {key: fmean(run["network"][key] for run in runs) for key in runs[0]["network"]},
    }


def _of_job(name: str, number: int, runs: Sequence[Json], alone: Sequence[Json | None]) -> Json:
    """alone: its runs, None where it has no iterations."""
    times = [run["jobs"][number]["iterations_s"] for run in runs]
    apart = [run["jobs"][0]["iterations_s"] if run else [] for run in alone]
    slowdowns = [
        slowdown(took, isolated) if min(len(took), len(isolated)) >= ENOUGH else None
        for took, isolated in zip(times, apart, strict=True)
    ]
    flows = [run["jobs"][number].get("fct") for run in runs]
    return ({"fct": fct.by_size(flows)} if all(flows) else {}) | {
        "name": name,
        "isolated_ms": _mean([1e3 * fmean(settled(t)) for t in apart if len(t) >= ENOUGH]),
        "mean_ms": _mean([1e3 * fmean(settled(t)) for t in times if len(t) >= ENOUGH]),
        "slowdown": fct.interval(slowdowns),
        "slowdowns": slowdowns,
        "delivered_gbps": fmean(
            8e-9 * run["jobs"][number]["delivered"] / run["simulated_s"] for run in runs
        ),
        "iterations_ms": [[1e3 * t for t in took] for took in times],
    }


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _fixed(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def with_half(found: Json | None, digits: int = 3) -> str:
    """A mean and its interval."""
    if not found:
        return "-"
    half = "" if found["half"] is None else f" ± {found['half']:.{digits}f}"
    return f"{found['mean']:.{digits}f}{half}"


def lines(report: Json) -> list[str]:
    """The table for eyes."""
    rows = [["cc", "job", "alone ms", "mean ms", "slowdown", "Gb/s"]]
    for result in report["results"]:
        for job in result["jobs"]:
            rows.append(
                [
                    result["cc"],
                    job["name"],
                    _fixed(job["isolated_ms"], 2),
                    _fixed(job["mean_ms"], 2),
                    with_half(job["slowdown"]),
                    _fixed(job["delivered_gbps"], 2),
                ]
            )
    flows = [
        row
        for result in report["results"]
        for job in result["jobs"]
        for row in fct.rows(result["cc"], job["name"], job.get("fct", []))
    ]
    return [
        *align(rows, 2),
        *(["", *align([fct.HEAD, *flows], 3)] if flows else []),
        "",
        *map(_summary, report["results"]),
        *compared(report["results"]),
    ]


def compared(results: Sequence[Json]) -> list[str]:
    """A line for each congestion control but the first."""
    first, *others = results
    return [
        f"{result['cc']}: {with_half(result['against_first'])} times that of {first['cc']}, "
        "seed by seed"
        for result in others
        if result["against_first"]
    ]


def _summary(result: Json) -> str:
    network = ", ".join(f"{key} {value:g}" for key, value in result["network"].items() if value)
    early = "" if result["over"] else " (stopped before its jobs were done)"
    return f"{result['cc']}: slowdown {with_half(result['slowdown_mean'])}{early}; {network}"
