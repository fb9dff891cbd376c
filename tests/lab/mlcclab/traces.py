# SPDX-License-Identifier: GPL-2.0
"""Layer traces for the simulator: what the layers of a real model compute and send, step by step.

The forward pass computes a layer and waits for its collective. The backward pass, from the last
layer to the first, computes the gradients of a layer's weights, whose collective goes while what
follows computes, and those of its inputs, whose collective the next layer waits for. The iteration
ends when all gradients are there: the optimizer needs them.

A trace says what is how long and how large against the rest; the scenario says how long and how
large an iteration is.
"""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any

from . import schema
from .schema import Field

FOLDER = Path(__file__).resolve().parents[1] / "traces"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))
HALVINGS = 50
# What a host of a large ring sends for each byte that is reduced or gathered.
SENT = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1}

# What a scenario says of a job that plays one.
JOB_FIELDS = {
    "trace": Field(schema.choice(*NAMES), None),
    "period_ms": Field(schema.number(1.0, 600_000.0), None),
    "duty": Field(schema.number(0.01, 0.99), None),
}


@dataclass(frozen=True)
class Step:
    """Computes, then gives bytes to the link: parts of what the iteration does of either."""

    compute: float
    send: float
    overlaps: bool  # the next steps compute meanwhile; else they wait for all that was sent


Steps = tuple[Step, ...]


@cache
def load(name: str) -> Steps:
    """A shipped trace."""
    return parse(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")))


def parse(document: dict[str, Any]) -> Steps:
    """Turn a TOML document into steps."""
    blocks = document["block"]
    layers = [layer for block in blocks for layer in block["layer"] * block.get("times", 1)]
    steps = list(_merged(_passes(layers)))
    compute, send = sum(step.compute for step in steps), sum(step.send for step in steps)
    return tuple(Step(step.compute / compute, step.send / send, step.overlaps) for step in steps)


def _passes(layers: Sequence[Any]) -> Iterator[Step]:
    """An iteration's steps, in microseconds and bytes."""
    for layer in layers:
        yield _step(layer, "forward", overlaps=False)
    for layer in reversed(layers):
        yield _step(layer, "weights", overlaps=True)
        yield _step(layer, "inputs", overlaps=False)


def _step(layer: Any, name: str, *, overlaps: bool) -> Step:
    part = layer.get(name, {})
    sent = sum(part.get(key, 0) * times for key, times in SENT.items())
    return Step(part.get("us", 0.0), sent, overlaps)


def _merged(steps: Iterable[Step]) -> Iterator[Step]:
    """What sends nothing is computed by the next that does."""
    computed = 0.0
    for step in steps:
        computed += step.compute
        if step.send:
            yield replace(step, compute=computed)
            computed = 0.0
    yield Step(computed, 0, overlaps=False)


def alone(steps: Steps, compute: float, send: float) -> float:
    """How long an iteration takes that has the link for itself."""
    now = free = 0.0  # free: from when on the link has nothing to send
    for step in steps:
        now += step.compute * compute
        free = max(now, free) + step.send * send
        if not step.overlaps:
            now = free
    return max(now, free)


def compute_for(steps: Steps, period: float, send: float) -> float:
    """The compute time with which the iteration takes so long, alone."""
    low, high = 0.0, period
    for _ in repeat(None, HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if alone(steps, middle, send) < period else (low, middle)
    return high


def rotated(steps: Steps, compute: float, send: float) -> Steps:
    """The same iteration from its longest silence on: there the phase tracker has a phase begin.

    What goes on while the next step computes is not cut off from it.
    """
    now = free = quiet = 0.0  # quiet: since when the link is
    silences: dict[int, float] = {}
    for i, step in enumerate(steps * 2):
        now += step.compute * compute
        if step.send and not steps[i % len(steps) - 1].overlaps:
            silences[i % len(steps)] = now - quiet
        free = max(now, free) + step.send * send
        quiet = free if step.send else quiet
        if not step.overlaps:
            now = free
    start = max(silences, key=silences.__getitem__, default=0)
    return steps[start:] + steps[:start]


def fitted(steps: Steps, period_ms: float, duty: float, bps: float) -> tuple[Steps, int, float]:
    """With which an iteration takes so long alone, and needs that part of it of a link of bps.

    The steps as they are to come, the bytes of them all, and how many ms they compute.
    """
    send_ms = period_ms * duty
    compute_ms = compute_for(steps, period_ms, send_ms)
    return rotated(steps, compute_ms, send_ms), round(send_ms * bps / 8e3), compute_ms


def shared(steps: Steps, nbytes: int) -> list[int]:
    """The bytes of each step, which add up."""
    ends = [0]
    part = 0.0
    for step in steps:
        part += step.send
        ends.append(round(part * nbytes))
    return [end - start for start, end in zip(ends, ends[1:], strict=False)]
