# SPDX-License-Identifier: BSD-2-Clause
"""Collectives of a process as NCCL's Inspector has logged them (ext-profiler/inspector, v4.0).

It says how long each took, and not why: so what is known of waiting is how much longer they were
than the shortest of the same kind and size. When one ran is the time of its record less how long
it took, which is late by up to the interval of the Inspector's dumps.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from . import reader
from .errors import PlanError
from .traffic import SAMPLES_MAX, Traffic, ordered

PIECE_US = 500  # bytes are sent evenly while a collective runs
ALIKE_MIN = 5  # of a kind and size, to know how long one takes at best
US_MAX = 1e17
GBS_MAX = 1e6
SPACE = re.compile(r"\s*")


class Collective(NamedTuple):
    """One, of one rank; times in us."""

    kind: tuple[str, float]  # and its size
    end: float
    took: float
    nbytes: float  # that the rank has sent, by the bus bandwidth


def read(path: str) -> Traffic:
    """What the process has sent."""
    ran = [_collective(f"{path}: record {n}", one) for n, one in enumerate(_records(path), 1)]
    pieces = np.array([max(1, math.ceil(one.took / PIECE_US)) for one in ran], np.int64)
    if pieces.sum() > SAMPLES_MAX:
        raise PlanError(
            f"{path}: collectives of {pieces.sum() * PIECE_US / 1e6:.0f} s are too many"
        )
    when = [
        (one.end - one.took + one.took * (np.arange(n) + 0.5) / n) / 1e6
        for one, n in zip(ran, pieces, strict=True)
    ]
    nbytes = np.repeat([one.nbytes for one in ran] / np.maximum(pieces, 1), pieces)
    columns = (np.concatenate(when or [np.zeros(0)]), nbytes, nbytes, np.zeros(len(nbytes)))
    return ordered(path, columns, "inspector", "trace", notes=_notes(ran))


def _records(path: str) -> Iterator[Any]:
    """Objects one behind the other; the last may have been cut short."""
    text = reader.contents(path).decode("utf-8", "replace")
    at, decode = _space(text, 0), json.JSONDecoder().raw_decode
    while at < len(text):
        try:
            one, end = decode(text, at)
        except (ValueError, RecursionError) as error:
            if "\n" not in text[at:].rstrip():
                return
            raise PlanError(f"{path}: no JSON of NCCL's Inspector: {error}") from None
        yield one
        at = _space(text, end)


def _space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def _collective(where: str, value: Any) -> Collective:
    perf, meta = _object(value, "coll_perf"), _object(value, "metadata")
    if not perf or not meta:
        raise PlanError(f"{where}: no coll_perf and metadata, as NCCL's Inspector has them")

    def number(table: Any, key: str, most: float) -> float:
        return float(reader.number(0, most)(f"{where}: {key}", table.get(key)))

    took = number(perf, "coll_exec_time_us", 1e9)
    kind = str(perf.get("coll")), number(perf, "coll_msg_size_bytes", 2**60)
    nbytes = number(perf, "coll_busbw_gbs", GBS_MAX) * 1000 * took
    return Collective(kind, number(meta, "dump_timestamp_us", US_MAX), took, nbytes)


def _object(value: Any, key: str) -> Any:
    one = value.get(key) if isinstance(value, dict) else None
    return one if isinstance(one, dict) else None


def _notes(ran: list[Collective]) -> list[str]:
    alike = defaultdict(list)
    for one in ran:
        alike[one.kind].append(one.took)
    known = [times for times in alike.values() if len(times) >= ALIKE_MIN]
    whole = sum(map(sum, known))
    if not whole:
        return [f"no collective ran {ALIKE_MIN} times: how long one takes at best is not known"]
    more = sum(sum(times) - len(times) * min(times) for times in known)
    return [
        f"{100 * more / whole:.0f} % of the time of collectives is beyond the shortest of their "
        "kind and size; whether by the network, by peers or by the GPU the Inspector does not say"
    ]
