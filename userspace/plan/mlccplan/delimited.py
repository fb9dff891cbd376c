# SPDX-License-Identifier: BSD-2-Clause
"""Profiles of jobs whose phases mlccd has delimited."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import profile, reader
from .errors import PlanError
from .expect import Step
from .profile import NO_PEERS, Json

MLCCD_KEYS = ("iteration_us", "comm_us", "best_us", "period_us", "d_phase_bytes")


def from_mlccd(jobs: Sequence[Any], step: Step | None = None) -> Json:
    """Jobs as mlccd's show lists them; those without statistics are left out.

    The compute time is what is left of the last iteration without its phase, and best_us the
    shortest phase, that of a job nobody was in the way of.
    """
    tables, profiles = [], []
    for job in jobs:
        if not isinstance(job, dict):
            raise PlanError(f"jobs: {reader.quoted(job)} is not an object")
        number = {key: _count(job, key) for key in MLCCD_KEYS}
        phase_us, nbytes = number["best_us"] or number["comm_us"], number["d_phase_bytes"]
        compute_us = number["iteration_us"] - number["comm_us"]
        period_us = number["period_us"] or compute_us + phase_us
        if not phase_us or not nbytes or not phase_us < period_us:
            continue
        gbps = nbytes * 8 / phase_us / 1000
        name = reader.name("jobs", job.get("name") or f"{job.get('id')}")
        arcs = [(period_us - phase_us, phase_us, gbps)]
        tables.append(profile.table(name, period_us / 1000, arcs))
        profiles.append(_told(tables[-1], nbytes))
        if step:
            profiles[-1]["predicted"] = profile.compared(step, nbytes, "one host, sent")
    return {"jobs": tables, "profiles": profiles}


def _count(job: Mapping[str, Any], key: str) -> int:
    value = job.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 48:
        raise PlanError(f"jobs: {key}: {reader.quoted(value)} is not a number that mlccd gives")
    return value


def _told(table: Json, nbytes: int) -> Json:
    """What the other profiles say, as far as it is known; the confidence is not estimated."""
    return {
        "name": table["name"],
        "source": "mlccd",
        "periodic": True,
        "confidence": None,
        "period_ms": table["period_ms"],
        "bytes_per_iteration": nbytes,
        "counted": "payload",
        "duty": profile.duty(table),
        "pattern": NO_PEERS.name,
        "basis": NO_PEERS.basis,
    }
