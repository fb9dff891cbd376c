# SPDX-License-Identifier: GPL-2.0
"""mlcc-plan for the jobs of a scenario: slots and classes, given to mlccd before they start."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import shell
from .carrier import REPOSITORY
from .scenario import Job, Planning, Scenario

PROGRAM = REPOSITORY / "userspace" / "plan" / "mlcc-plan"
LINK = "bottleneck"
# the top two bits of the DSCP are the band: topology.py
DSCP_PER_BAND = 16
BANDS = 4
LIMIT_S = 1.0


@dataclass(frozen=True)
class Planned:
    """A scenario's jobs with the periods that they were measured to have alone."""

    scenario: Scenario
    planning: Planning
    alone_ms: Mapping[str, float]

    def apply(self, socket: Path) -> dict[str, int]:
        """Have mlcc-plan tell the mlccd that listens there, or say why not.

        Returns the traffic class of each job that has one, for RDMA: mlccd gives TCP its DSCP.
        """
        command = [str(PROGRAM), "apply", "--json", "--best", "--socket", str(socket)]
        command += ["--precision", "exact", "--limit", f"{LIMIT_S:g}", *self._wishes(), "-"]
        jobs = json.loads(shell.run(command, json.dumps(self.problem())))["jobs"]
        return {job["name"]: job["traffic_class"] for job in jobs if "traffic_class" in job}

    def _wishes(self) -> list[str]:
        wishes = self.planning
        words = ["--guard", f"{wishes.guard_ms:g}"]
        if not wishes.shifts:
            words.append("--no-shifts")
        if wishes.classes:
            words += ["--classes", str(wishes.classes), "--dscp", self._bands(wishes.classes)]
        return words

    def _bands(self, classes: int) -> str:
        """Each class in a band of its own of the lab's queue."""
        return ",".join(str(DSCP_PER_BAND * (k * BANDS // classes)) for k in range(classes))

    def problem(self) -> dict[str, Any]:
        """As mlcc-plan reads it."""
        link = {"name": LINK, "gbps": self.scenario.link.rate / 1e9}
        return {"links": [link], "jobs": [self._job(job) for job in self.scenario.jobs]}

    def _job(self, job: Job) -> dict[str, Any]:
        """One arc: from the first byte on, behind computing."""
        period_ms = self.alone_ms[job.name]
        length_ms = min(period_ms, max(period_ms - job.silent_ms, 0.001))
        arc = {"start_ms": period_ms - length_ms, "length_ms": length_ms}
        return {"name": job.name, "period_ms": period_ms, "arcs": [arc], "routes": [[LINK]]}
