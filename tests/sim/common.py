# SPDX-License-Identifier: GPL-2.0
"""What the tests share: small scenarios, and the runs of them."""

import io
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "lab"))

from mlcclab.stats import settled  # noqa: E402
from mlcclab.units import FRAME, MSS  # noqa: E402
from mlccsim import cli  # noqa: E402
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


def run(
    table: Table,
    cc: str = "dcqcn",
    seed: int = 1,
    hosts: tuple[tuple[int, ...], ...] = (),
    keys: Table | None = None,
    **top: Any,
) -> Table:
    """What mlcc-sim says of a scenario.

    hosts: each job's, if not as placed; keys: settings of mlcc-sim's; top: keys outside of tables.
    """
    scenario = replace(parse("test", table | top), placed=hosts)
    return simulate(scenario, Run(cc, seed), **(keys or {}))


def front_end(text: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """tests/sim/run, of a scenario's text."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        with redirect_stdout(out), redirect_stderr(err):
            status = cli.main([file.name, *words])
    return subprocess.CompletedProcess([], status, out.getvalue(), err.getvalue())


def made_up(*iterations_s: list[float]) -> Table:
    """What mlcc-sim would say of jobs with these iterations."""
    jobs = [{"name": "j", "delivered": 10**9, "iterations_s": times} for times in iterations_s]
    counts = {"simulated_s": 1.0, "cpu_s": 1.0, "over": True}
    return counts | {"jobs": jobs, "network": {"sent": 1}}


def slowdown(result: Table) -> float:
    """Of a scenario of pairs(): mean iteration over jobs, against the period."""
    return fmean(fmean(settled(job["iterations_s"])) for job in result["jobs"]) / PERIOD_S


def late(result: Table) -> float:
    """The mean iteration of the last third, in seconds."""
    times = [job["iterations_s"] for job in result["jobs"]]
    return fmean(fmean(took[len(took) * 2 // 3 :]) for took in times)


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
