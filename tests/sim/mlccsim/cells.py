# SPDX-License-Identifier: GPL-2.0
"""Cells: combinations of a link, its queue, and hosts, with what congestion controls make of them.

Phases are 400 round trips long, 4 ms or more, as the phase tracker takes no silence of less than
1 ms for one.  That is shorter than those of real jobs, beside time-outs that are not.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from math import exp, log
from statistics import fmean, median
from typing import Any

from mlcclab.errors import LabError
from mlcclab.interval import estimate
from mlcclab.stats import per_megabyte, settled
from mlcclab.table import align
from mlcclab.units import FRAME, MSS

from . import cli
from .scenario import Scenario, parse

Json = dict[str, Any]

CCS = ["interleave"]

RATES = (25, 100)  # Gb/s
ROUND_TRIPS = (10, 20, 50)  # us
SIZES = (1448, 8948)
QUEUES = (1, 3, 16, 0)  # bandwidth-delay products; 0: marks
FLOWS = ((1, 1, 1), (8, 8, 8), (32, 32, 32), (64, 64, 64), (2, 8, 16))  # of each job
COALESCE = (0, 8, 30, 64)  # us

DUTY = 0.3
PHASE_ROUND_TRIPS = 400
MARK_LEAST = 65000  # 65 packets of 1 KB: not less than a burst
DEEP = 16
RTO_MIN = "200ms"  # Linux's
STOP = "30s"  # a hundred time-outs in a row


@dataclass(frozen=True)
class Cell:
    """One of them."""

    gbps: int
    rtt_us: int
    mss: int
    queue: int
    flows: tuple[int, ...]
    coalesce_us: int

    @property
    def base(self) -> str:
        """Whom others are compared with."""
        return "cubic" if self.queue else "dctcp"

    @property
    def bdp(self) -> float:
        """Bytes."""
        return self.gbps * self.rtt_us * 1e3 / 8

    @property
    def limit(self) -> float:
        """Bytes of the queue."""
        return self.queue * self.bdp if self.queue else max(DEEP * self.bdp, 4 * self.mark)

    @property
    def mark(self) -> float:
        """From how many of them on it marks."""
        return max(MARK_LEAST, self.bdp / 2)

    @property
    def label(self) -> str:
        """For the table."""
        flows = "/".join(map(str, self.flows if len(set(self.flows)) > 1 else self.flows[:1]))
        queue = f"{self.queue} BDP" if self.queue else "ecn"
        return f"{self.gbps}G {self.rtt_us}us {self.mss} {queue} {flows} fl {self.coalesce_us}us"


def drawn(seed: int) -> list[Cell]:
    """All cells, in an order that the seed draws."""
    every = [
        Cell(*values) for values in product(RATES, ROUND_TRIPS, SIZES, QUEUES, FLOWS, COALESCE)
    ]
    random.Random(seed).shuffle(every)
    return every


def scenario(cell: Cell, iterations: int, rto_min: str = RTO_MIN) -> Scenario:
    """Its jobs need the link for 30 % of their time each."""
    phase_s = 1e-6 * (PHASE_ROUND_TRIPS * cell.rtt_us)
    goodput = cell.gbps * 1e9 / 8 * cell.mss / (cell.mss + FRAME - MSS)
    tcp = {
        "queue": "droptail" if cell.queue else "ecn",
        "limit": round(cell.limit),
        "mark": round(cell.mark),
        "mss": cell.mss,
        "tso": "64KiB",
        "gro": True,
        "coalesce": f"{cell.coalesce_us}us",
        "rto_min": rto_min,
    }
    jobs = [
        {
            "name": f"job-{index + 1}",
            "bytes": round(goodput * phase_s),
            "compute": f"{1e3 * phase_s * (1 / DUTY - 1):g}ms",
            "noise": 0.02,
            "flows": flows,
            "start": f"{100 * index}us",
        }
        for index, flows in enumerate(cell.flows)
    ]
    # to the far end and back by three links each
    topology = {"kind": "dumbbell", "rate": f"{cell.gbps}gbit", "delay": f"{cell.rtt_us / 6:g}us"}
    top = {"transport": "tcp", "iterations": iterations, "stop": STOP}
    return parse(cell.label, top | {"topology": topology, "tcp": tcp, "job": jobs})


def measure(cell: Cell, options: argparse.Namespace) -> Json:
    """What each congestion control makes of it."""
    ccs = list(dict.fromkeys([cell.base, *options.cc]))
    asked = argparse.Namespace(cc=ccs, seeds=options.seeds, iterations=None, load=None)
    found = cli.measure(scenario(cell, options.iterations, options.rto_min), asked, cell.base)
    results = [_result(cell, result) for result in found["results"]]
    return asdict(cell) | {"label": cell.label, "base": cell.base, "results": results}


def _result(cell: Cell, found: Json) -> Json:
    if not found["over"]:
        raise LabError(f"{cell.label}: not over in {STOP} under {found['cc']}")
    jobs, network = found["jobs"], found["network"]
    bytes_sent = found["simulated_s"] * sum(1e9 * job["delivered_gbps"] for job in jobs) / 8
    return {
        "cc": found["cc"],
        "slowdown": found["slowdown_mean"]["mean"],
        "half": found["slowdown_mean"]["half"],
        "slowdowns": found["slowdowns"],
        "typical": fmean(
            median(settled(took)) / job["isolated_ms"]
            for job in jobs
            for took in job["iterations_ms"]
        ),
        "again_per_mb": per_megabyte(network["again"], bytes_sent),
        "timeouts": network["timeouts"],
    }


HEAD = ["cell", "cc", "slowdown", "±", "median", "again/MB", "time-outs"]


def lines(found: Sequence[Json]) -> list[str]:
    """The table, and what each congestion control comes to."""
    rows = [
        [
            cell["label"],
            result["cc"],
            f"{result['slowdown']:.3f}",
            "-" if result["half"] is None else f"{result['half']:.3f}",
            f"{result['typical']:.3f}",
            f"{result['again_per_mb']:.2f}",
            f"{result['timeouts']:.1f}",
        ]
        for cell in found
        for result in cell["results"]
    ]
    return [*align([HEAD, *rows], 2), "", *_sums(found)]


def _sums(found: Sequence[Json]) -> Iterator[str]:
    """Over the cells, which are what an interval is of."""
    for cc in dict.fromkeys(result["cc"] for cell in found for result in cell["results"]):
        pairs = [
            (result, cell["results"][0])
            for cell in found
            for result in cell["results"]
            if result["cc"] == cc
        ]
        mean = _geometric([ours["slowdown"] for ours, _ in pairs])
        ratios = [ours["slowdown"] / base["slowdown"] for ours, base in pairs]
        yield (
            f"{cc}: slowdown {mean} over {len(pairs)} cells, {_geometric(ratios)} times its "
            f"base's, at worst {max(ratios):.3f}"
        )


def _geometric(values: Sequence[float]) -> str:
    """The mean of cells that are far apart, and its interval."""
    found = estimate([log(value) for value in values])
    low, high = found.bounds or (found.mean, found.mean)
    return f"{exp(found.mean):.3f} ({exp(low):.3f} to {exp(high):.3f})"
