# SPDX-License-Identifier: BSD-2-Clause
"""Traffic as it was measured: when how many bytes passed, and between whom, where that is known."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import PlanError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAMPLES_MIN = 3
SAMPLES_MAX = 50_000_000
PEERS = "peers"  # of a host whose counters say no more


class Flow(NamedTuple):
    """Who sends to whom; ports are those of TCP and UDP, else 0."""

    sender: str
    receiver: str
    sender_port: int = 0
    receiver_port: int = 0


@dataclass(frozen=True)
class Traffic:
    """Samples in the order of their time, from 0 on."""

    source: str
    counted: str  # what the payload is: "frames" where headers are not told apart, or "trace"
    seconds: Floats
    frames: Floats  # bytes with all headers: what a link has to carry
    payload: Floats  # bytes without them
    flow: Ints  # of each sample: an index into flows
    flows: tuple[Flow, ...] = ()  # none: one direction, and nobody knows whose
    notes: tuple[str, ...] = ()  # what is to be known of the source

    def of(self, chosen: NDArray[np.bool_]) -> "Traffic":
        """Only these samples."""
        columns = ("seconds", "frames", "payload", "flow")
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})


def ordered(
    where: str,
    columns: Sequence[Any],
    source: str,
    counted: str,
    flows: Sequence[Flow] = (),
    notes: Sequence[str] = (),
) -> Traffic:
    """Traffic of columns: seconds, frames, payload, and the flow; refused if no such thing."""
    seconds, frames, payload = (np.asarray(column, np.float64) for column in columns[:3])
    if len(seconds) < SAMPLES_MIN:
        raise PlanError(f"{where}: {len(seconds)} samples are too few")
    good = np.isfinite(seconds).all() and np.isfinite(frames).all()
    if not good or (frames < 0).any():
        raise PlanError(f"{where}: times and bytes have to be finite, bytes not negative")
    order = seconds.argsort(kind="stable")
    flow = np.asarray(columns[3], np.int64)[order]
    seconds = seconds[order] - seconds[order[0]]
    columns = (seconds, frames[order], payload[order], flow)
    return Traffic(source, counted, *columns, tuple(flows), tuple(notes))


def read_trace(path: str) -> Traffic:
    """Seconds and bytes from lines "seconds,bytes"; a first line of words is a heading."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            pairs = list(_rows(path, file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PlanError(f"{path}: {error}") from None
    seconds, nbytes = zip(*pairs, strict=True) if pairs else ((), ())
    return ordered(path, (seconds, nbytes, nbytes, np.zeros(len(pairs))), "trace", "trace")


def _rows(path: str, file: Any) -> Iterator[tuple[float, float]]:
    for number, row in enumerate(csv.reader(file), 1):
        try:
            seconds, nbytes = map(float, row)
        except ValueError:
            if number == 1:
                continue
            raise PlanError(f'{path}: line {number}: not "seconds,bytes"') from None
        if number > SAMPLES_MAX:
            raise PlanError(f"{path}: more than {SAMPLES_MAX} samples")
        yield seconds, nbytes
