# SPDX-License-Identifier: GPL-2.0
"""What the planner's tests share."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PLAN = Path(__file__).resolve().parents[2] / "userspace" / "plan"
sys.path[:0] = [str(PLAN), str(PLAN.parent / "python")]

from mlccplan import problem, report  # noqa: E402  (needs the path above)
from mlccplan.layout import Layout, Options  # noqa: E402
from mlccplan.solve import Solution, solve  # noqa: E402

Json = dict[str, Any]


def job(name: str, period: float, *arcs: tuple[float, ...], **more: Any) -> Json:
    """A job on link l; arcs are (start, length) or (start, length, Gb/s)."""
    keys = ("start_ms", "length_ms", "gbps")
    table = [dict(zip(keys, arc, strict=False)) for arc in arcs]
    return {"name": name, "period_ms": period, "arcs": table, "routes": [["l"]], **more}


def on_one_link(*jobs: Json, gbps: float = 50) -> Json:
    """The problem that these make."""
    return {"links": [{"name": "l", "gbps": gbps}], "jobs": list(jobs)}


def solved(document: Json, **options: Any) -> Solution:
    """Solve a problem given as JSON."""
    return solve(Layout(problem.from_json(document), Options(**options)))


def answer(document: Json, **options: Any) -> Json:
    """The same, as the report."""
    return report.document(solved(document, **options))


def program(*arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run mlcc-plan as a user would, with this interpreter."""
    return subprocess.run(
        [sys.executable, str(PLAN / "mlcc-plan"), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **more},
    )
