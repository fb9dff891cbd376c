# SPDX-License-Identifier: GPL-2.0
"""What the tests share: small scenarios, and the runs of them."""

import sys
from pathlib import Path
from statistics import fmean
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "lab"))

from mlcclab.stats import settled  # noqa: E402
from mlcclab.units import FRAME, MSS  # noqa: E402
from mlccsim.engine import Run, simulate  # noqa: E402
from mlccsim.scenario import parse  # noqa: E402

Table = dict[str, Any]

LINE_BPS = 10e9
PERIOD_S = 0.1


def dumbbell(jobs: list[Table], **tables: Table) -> Table:
    """A bottleneck of 10 Gb/s, with 2 us one way; tables: what is to be different."""
    found = {
        "topology": {"kind": "dumbbell", "rate": "10gbit", "delay": "0.5us"},
        "rdma": {"header": 0, "timer": "125us"},
        "job": jobs,
    }
    for name, table in tables.items():
        found[name] = found.get(name, {}) | table
    return found


def pairs(copies: int, send_s: float) -> list[Table]:
    """Jobs that each need the link for so long in 100 ms."""
    return [
        {
            "name": "job",
            "copies": copies,
            "bytes": round(send_s * LINE_BPS / 8),
            "compute": f"{1e3 * (PERIOD_S - send_s):g}ms",
            "noise": 0.02,
            "stagger": "100us",
        }
    ]


def endless(copies: int) -> list[Table]:
    """Flows that begin together."""
    return [{"name": "flow", "workload": "endless", "copies": copies}]


def run(table: Table, cc: str = "dcqcn", seed: int = 1, only: int = -1, **top: Any) -> Table:
    """What mlcc-sim says of a scenario; top: its keys outside of tables."""
    return simulate(parse("test", table | top), Run(cc, seed, only))


def slowdown(result: Table) -> float:
    """Of a scenario of pairs(): mean iteration over jobs, against the period."""
    return fmean(fmean(settled(job["iterations_s"])) for job in result["jobs"]) / PERIOD_S


def rates(result: Table) -> list[float]:
    """What each job has got, in bits a second."""
    return [8 * job["delivered"] / result["simulated_s"] for job in result["jobs"]]


def tcp_pairs(copies: int, queue: str, send_s: float = 0.045) -> Table:
    """Jobs like those of pairs() under TCP, on a link of 200 Mb/s."""
    bps = 200e6 * MSS / FRAME
    jobs = pairs(copies, send_s)
    jobs[0]["bytes"] = round(send_s * bps / 8)
    return {
        "transport": "tcp",
        "topology": {
            "kind": "dumbbell",
            "rate": "1gbit",
            "bottleneck": "200mbit",
            "delay": "20us",
        },
        "tcp": {"queue": queue, "limit": 200_000, "mark": 30_000},
        "job": jobs,
    }
