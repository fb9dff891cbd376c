# SPDX-License-Identifier: BSD-2-Clause
"""What has been found out, as JSON and as text; Documentation/mlcc-plan.md describes every key."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .circle import PERIMETER_MAX, Resource
from .periods import Drift
from .search import EPSILON
from .solve import Outcome, Solution

Json = dict[str, Any]

PLACES = 9  # of scores
ROWS_MAX = 40  # of links in a text


def document(solution: Solution) -> Json:
    """The whole report."""
    layout = solution.layout
    scored = [link for link in layout.links.values() if len(link.jobs) > 1 or link.contended]
    links = [_link(solution, link) for link in scored]
    bound = sum(outcome.least_on_links for outcome in solution.outcomes)
    steps = layout.options.steps
    return {
        "compatible": verdict(outcome.fits for outcome in solution.outcomes),
        "infeasible": _infeasible(solution),
        "feasible": all(outcome.feasible for outcome in solution.outcomes),
        "proven": all(outcome.optimal for outcome in solution.outcomes),
        "score_mean": _mean([link["score"] for link in links]),
        "score_min": min((link["score"] for link in links), default=1.0),
        "score_bound": round(1 - bound / max(1, len(links)), PLACES),
        "definition": "strict" if layout.options.strict else "cassini",
        "precision_deg": 360 / steps if steps else 0,
        "seconds": round(solution.seconds, 3),
        "notes": _notes(solution),
        "jobs": _jobs(solution),
        "links": links,
        "components": [_component(solution, outcome) for outcome in solution.outcomes],
    }


def verdict(fits: Iterable[bool | None]) -> bool | None:
    """Whether all fit: False if one does not, None if one is not known."""
    known = list(fits)
    return False if False in known else None if None in known else True


def _infeasible(solution: Solution) -> str | None:
    """Whether a plan without excess is excluded always, or only with the steps of the precision."""
    if all(outcome.fits is not False for outcome in solution.outcomes):
        return None
    always = any(outcome.never for outcome in solution.outcomes)
    return "always" if always or not solution.layout.options.steps else "precision"


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), PLACES) if values else 1.0


def _score(resource: Resource, shifts: Sequence[int]) -> float:
    excess = resource.excess(shifts)
    return 1.0 if excess <= EPSILON else round(1 - excess, PLACES)


def _link(solution: Solution, link: Resource) -> Json:
    layout, shifts = solution.layout, solution.shifts
    demands = link.demands
    load = sum(demand.mean for demand in demands) / link.capacity
    return {
        "name": link.name,
        "jobs": [layout.problem.jobs[job].name for job in link.jobs],
        "score": _score(link, shifts),
        "score_strict": _score(layout.strict_link(link.name), shifts),
        "load": round(load, PLACES),
        "busiest_gbps": link.busiest(shifts) / 1e6,
        "perimeters_ms": [layout.microseconds(circle.perimeter) / 1000 for circle in link.circles],
    }


def _jobs(solution: Solution) -> list[Json]:
    layout, jobs = solution.layout, []
    circle_of = {job: one.component for one in solution.outcomes for job in one.component.jobs}
    for index, job in enumerate(layout.problem.jobs):
        ticks, period = solution.shifts[index], layout.periods[index]
        perimeter = circle_of[index].perimeter if index in circle_of else period
        entry = {
            "name": job.name,
            "shift_ms": round(layout.microseconds(ticks) / 1000, 6),
            "rotation_deg": round(360 * ticks / perimeter, 6),
            "own_rotation_deg": round(360 * ticks / period, 6),
            "period_ms": job.period_us / 1000,
            "planned_period_ms": layout.planned_us[index] / 1000,
        }
        drift = Drift(job.period_us, layout.planned_us[index])
        if drift.us_per_iteration:
            entry["drift"] = {
                "us_per_iteration": drift.us_per_iteration,
                "ppm": round(drift.ppm, 1),
                "correct_every_s": round(drift.correct_every_s or 0, 3),
                "holds": drift.holds,
            }
        jobs.append(entry)
    return jobs


def _component(solution: Solution, outcome: Outcome) -> Json:
    layout, component = solution.layout, outcome.component
    huge = component.perimeter > PERIMETER_MAX
    perimeter = None if huge else layout.microseconds(component.perimeter) / 1000
    return {
        "jobs": [layout.problem.jobs[job].name for job in component.jobs],
        "contended": [resource.name for resource in component.resources],
        "perimeter_ms": perimeter,
        "compatible": outcome.fits,
        "feasible": outcome.feasible,
        "proven": outcome.optimal,
        "method": outcome.method,
    }


def _notes(solution: Solution) -> list[str]:
    layout, notes = solution.layout, []
    if solution.without_cp_sat:
        notes.append("OR-tools is not here, so less is proven: make deps, or pip install ortools")
    apart = [link.name for link in layout.links.values() if len(link.circles) > 1]
    if apart:
        notes.append(
            f"{len(apart)} links ({apart[0]}...) have jobs whose periods never meet; "
            "their scores are means over all phases"
        )
    slipping = [
        job.name
        for job, planned in zip(layout.problem.jobs, layout.planned_us, strict=True)
        if not Drift(job.period_us, planned).holds
    ]
    if slipping:
        notes.append(
            f"{len(slipping)} jobs ({slipping[0]}...) drift so fast that two corrections a minute "
            "do not hold them in their slots"
        )
    return notes


def align(rows: Sequence[Sequence[str]]) -> str:
    """A table: names to the left, figures to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def text(report: Mapping[str, Any]) -> str:
    """The report for people."""
    rows = [["JOB", "SHIFT ms", "ROTATION", "PERIOD ms", "PLANNED ms", "DRIFT us"]]
    for job in report["jobs"]:
        rows.append(
            [
                job["name"],
                f"{job['shift_ms']:.3f}",
                f"{job['own_rotation_deg']:.1f}",
                f"{job['period_ms']:g}",
                f"{job['planned_period_ms']:g}",
                str(job.get("drift", {}).get("us_per_iteration", "-")),
            ]
        )
    links = sorted(report["links"], key=lambda link: (link["score"], link["name"]))
    table = [["LINK", "JOBS", "SCORE", "STRICT", "LOAD", "BUSIEST Gb/s"]]
    for link in links[:ROWS_MAX]:
        figures = [f"{link[key]:.4f}" for key in ("score", "score_strict", "load")]
        table.append([link["name"], str(len(link["jobs"])), *figures, f"{link['busiest_gbps']:g}"])
    parts = [align(rows), align(table)] if links else [align(rows)]
    if len(links) > ROWS_MAX:
        parts.append(f"... and {len(links) - ROWS_MAX} links with no lower score: -j lists them")
    parts.append("\n".join([*(f"note: {note}" for note in report["notes"]), summary(report)]))
    return "\n\n".join(parts)


def summary(report: Mapping[str, Any]) -> str:
    """One line."""
    fits = {
        "always": "the jobs do not fit, whatever their shifts",
        "precision": f"the jobs do not fit in steps of {report['precision_deg']:g} degrees",
        None: "the jobs fit" if report["compatible"] else "the jobs do not fit with these shifts",
    }
    proven = "proven to be the best" if report["proven"] else "not proven to be the best"
    gpus = "" if report["feasible"] else "; jobs collide on a GPU"
    return (
        f"{fits[report['infeasible']]}; score {report['score_mean']:.4f} (mean), "
        f"{report['score_min']:.4f} (worst link), {proven}, "
        f"at most {report['score_bound']:.4f}{gpus}"
    )
