# SPDX-License-Identifier: BSD-2-Clause
"""Says what a job's traffic looks like: its iterations, their bytes, and who sends to whom.

Arcs are for links, so they are those of the busiest direction of any endpoint, with all headers;
bytes of an iteration are all that the source saw, without headers where it tells them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import graph, iterations, report
from .expect import Step
from .graph import Pattern
from .iterations import Iterations
from .traffic import PEERS, Traffic

Json = dict[str, Any]

NO_PEERS = Pattern("unknown", "the source does not say who sends to whom")
ASYNCHRONOUS = "asynchronous"
COUNTED = {
    "payload": "payload, without headers",
    "frames": "with all headers: the source does not tell them apart",
    "trace": "as the trace counts them",
}


def of_job(name: str, traffic: Traffic, bin_s: float, step: Step | None = None) -> Json:
    """The job that traffic of it alone shows: for a problem, if it is periodic, and for people."""
    found = iterations.find(traffic, bin_s)
    known = traffic.source == "pcap" and traffic.flows
    pattern = graph.pattern(traffic, found.phase) if known else NO_PEERS
    profile = _profile(name, found, pattern)
    if not found.count:
        return {"jobs": [], "profiles": [profile]}
    rate = found.rate()
    width_us = found.period_s / len(rate) * 1e6
    arcs = [
        (start * width_us, length * width_us, gbps) for start, length, gbps in iterations.arcs(rate)
    ]
    job = table(name, found.period_s * 1000, arcs)
    profile |= {"duty": duty(job), "hosts": _hosts(found)}
    if step:
        hosts = profile["hosts"]
        # where the source saw not all hosts: what one sends
        if len(hosts) >= step.workers and not pattern.partial:
            profile["predicted"] = compared(step, profile["bytes_per_iteration"], "all hosts")
        else:
            sent = hosts[0]["sent_bytes"] if hosts else profile["bytes_per_iteration"]
            profile["predicted"] = compared(step, sent, "one host, sent")
    return {"jobs": [job], "profiles": [profile]}


def table(name: str, period_ms: float, arcs: Sequence[tuple[float, float, float]]) -> Json:
    """A job as mlcc-plan reads it; arcs in microseconds and Gb/s."""
    return {
        "name": name,
        "period_ms": round(period_ms, 3),
        "arcs": [
            {
                "start_ms": round(start / 1000, 3),
                "length_ms": round(length / 1000, 3),
                "gbps": round(gbps, 6),
            }
            for start, length, gbps in arcs
        ],
    }


def duty(job: Mapping[str, Any]) -> float:
    """The part of its period in which a job sends."""
    return round(sum(arc["length_ms"] for arc in job["arcs"]) / job["period_ms"], 4)


def _profile(name: str, found: Iterations, pattern: Pattern) -> Json:
    traffic, periodic = found.traffic, found.count > 0
    if not periodic:
        basis = f"nothing repeats in {traffic.seconds[-1]:.3g} s"
        if steps_s := found.cycle.steps * found.bin_s:
            basis = (
                f"what repeats every {steps_s * 1000:.4g} ms is within something longer, which "
                f"{traffic.seconds[-1]:.3g} s do not show often enough: measure for longer"
            )
        pattern = Pattern(ASYNCHRONOUS, basis)
    nbytes = float(found.payload(np.zeros_like(traffic.flow), 1)[0])
    return {
        "name": name,
        "source": traffic.source,
        "seconds": round(float(traffic.seconds[-1]), 3),
        "periodic": periodic,
        "confidence": round(found.cycle.confidence, 3),
        "period_ms": round(found.period_s * 1000, 3) if periodic else None,
        "iterations": found.count,
        "variation": round(found.cycle.variation, 4) if periodic else None,
        "bytes_per_iteration": round(nbytes) if periodic else None,
        "counted": traffic.counted,
        "duty": None,
        "pattern": pattern.name,
        "basis": pattern.basis,
        "notes": list(traffic.notes),
    }


def _hosts(found: Iterations) -> list[Json]:
    """Bytes of an iteration, of each endpoint that the capture knows by name; busiest first."""
    flows = found.traffic.flows
    nbytes = found.payload(found.traffic.flow, len(flows)) if flows else np.zeros(0)
    hosts: dict[str, Json] = {}
    for flow, count in zip(flows, nbytes.tolist(), strict=True):
        for host, key in ((flow.sender, "sent_bytes"), (flow.receiver, "received_bytes")):
            empty = {"address": host, "sent_bytes": 0.0, "received_bytes": 0.0}
            hosts.setdefault(host, empty)[key] += count
    rows = [
        {key: value if key == "address" else round(value) for key, value in host.items()}
        for host in hosts.values()
        if host["address"] != PEERS and host["sent_bytes"] + host["received_bytes"] > 0
    ]
    return sorted(
        rows, key=lambda row: (-row["sent_bytes"] - row["received_bytes"], row["address"])
    )


def compared(step: Step, measured: float, of: str) -> Json:
    """Bytes of an iteration: measured, predicted, and their ratio."""
    predicted = step.in_all if of == "all hosts" else step.of_a_worker
    return {
        "algorithm": step.algorithm,
        "model_bytes": round(step.model_bytes),
        "workers": step.workers,
        "of": of,
        "measured_bytes": round(measured),
        "predicted_bytes": round(predicted),
        "ratio": round(measured / predicted, 4),
    }


def text(result: Mapping[str, Any]) -> str:
    """For people: a table, then what each figure rests on."""
    rows = [
        [
            "JOB",
            "PERIODIC",
            "CONFIDENCE",
            "PERIOD ms",
            "VARIES",
            "BYTES/ITERATION",
            "DUTY",
            "PATTERN",
        ]
    ]
    lines = []
    for one in result["profiles"]:
        rows.append(_row(one))
        lines += [f"{one['name']}: {line}" for line in _lines(one)]
    return f"{report.align(rows)}\n\n" + "\n".join(lines)


def _row(one: Mapping[str, Any]) -> list[str]:
    def shown(key: str, form: str) -> str:
        value = one.get(key)
        return "-" if value is None else format(value, form)

    return [
        one["name"],
        "yes" if one["periodic"] else "no",
        shown("confidence", ".2f"),
        shown("period_ms", ".3f"),
        shown("variation", ".1%"),
        shown("bytes_per_iteration", ",d"),
        shown("duty", ".3f"),
        one["pattern"],
    ]


def _lines(one: Mapping[str, Any]) -> list[str]:
    lines = [f"{one['pattern']}: {one['basis']}", *one.get("notes", ())]
    if one["bytes_per_iteration"] is not None:
        lines.append(f"bytes: {COUNTED[one['counted']]}")
    if predicted := one.get("predicted"):
        lines.append(
            f"{predicted['algorithm']} of {predicted['workers']}, {predicted['of']}: measured "
            f"{predicted['measured_bytes']:,d}, predicted {predicted['predicted_bytes']:,d}, "
            f"ratio {predicted['ratio']:.3f}"
        )
    return lines
