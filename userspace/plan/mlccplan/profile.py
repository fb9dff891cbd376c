# SPDX-License-Identifier: BSD-2-Clause
"""Finds a job's period and arcs in what was measured.

From mlccd's statistics, whose phases are delimited already: the compute time is what is left of the
last iteration without its phase, and best_us the shortest phase, that of a job nobody was in the
way of. From a trace or a capture of one job alone: the period is where the traffic's
autocorrelation peaks first, made precise by following the peak over as many iterations as there
are; folded on that circle, arcs are where the rate is a part of the largest.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reader
from .errors import PlanError

Floats = NDArray[np.float64]
Json = dict[str, Any]

BINS_MAX = 1 << 22
ITERATIONS_MIN = 3
PERIODIC = 0.2  # autocorrelation of what counts as periodic
AS_HIGH = 0.8  # of the highest peak: an earlier one that high is the period
BIN_SAMPLES = 2  # in a bin, at least: counters that are read every 5 ms have a period of 5 ms, else
ARC_RATE = 0.1  # of the largest rate: where an arc begins
ARC_BYTES = 0.01  # of the iteration: smaller arcs are control traffic
PACKETS_MAX = 50_000_000


def from_mlccd(jobs: Sequence[Any]) -> list[Json]:
    """Jobs as mlccd's show lists them; those without statistics are left out."""
    found = []
    for job in jobs:
        if not isinstance(job, dict):
            raise PlanError(f"jobs: {reader.quoted(job)} is not an object")
        number = {key: _count(job, key) for key in MLCCD_KEYS}
        phase_us = number["best_us"] or number["comm_us"]
        compute_us = number["iteration_us"] - number["comm_us"]
        period_us = number["period_us"] or compute_us + phase_us
        if not phase_us or not number["d_phase_bytes"] or not phase_us < period_us:
            continue
        gbps = number["d_phase_bytes"] * 8 / phase_us / 1000
        name = reader.name("jobs", job.get("name") or f"{job.get('id')}")
        found.append(_table(name, period_us / 1000, [(period_us - phase_us, phase_us, gbps)]))
    return found


MLCCD_KEYS = ("iteration_us", "comm_us", "best_us", "period_us", "d_phase_bytes")


def _count(job: Mapping[str, Any], key: str) -> int:
    value = job.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 48:
        raise PlanError(f"jobs: {key}: {reader.quoted(value)} is not a number that mlccd gives")
    return value


def from_lab(report: Any) -> list[Json]:
    """Jobs of a report of mlcc-lab: isolated times, and the shortest phase of any run.

    Where computing hides what is sent, the phase is all that follows the first byte.
    """
    try:
        results = report["results"]
        jobs = [job for result in results for job in result["jobs"]]
        isolated = {job["name"]: float(job["isolated_ms"]) for job in jobs}
        shortest: dict[str, float] = {}
        for job in jobs:
            least = min(map(float, job["comm_ms"]))
            if "silent_ms" in job:
                least = isolated[job["name"]] - float(job["silent_ms"])
            shortest[job["name"]] = min(least, shortest.get(job["name"], least))
    except (KeyError, TypeError, ValueError):
        raise PlanError("this is not a report of mlcc-lab") from None
    return [
        _table(name, period, [(1000 * (period - shortest[name]), 1000 * shortest[name], None)])
        for name, period in isolated.items()
        if 0 < shortest[name] < period
    ]


def _table(name: str, period_ms: float, arcs: Sequence[tuple[float, float, float | None]]) -> Json:
    """A job as mlcc-plan reads it; arcs in microseconds and Gb/s."""
    return {
        "name": name,
        "period_ms": round(period_ms, 3),
        "arcs": [
            {"start_ms": round(start / 1000, 3), "length_ms": round(length / 1000, 3)}
            | ({} if gbps is None else {"gbps": round(gbps, 6)})
            for start, length, gbps in arcs
        ],
    }


def read_trace(path: str) -> tuple[Floats, Floats]:
    """Seconds and bytes from lines "seconds,bytes"; a first line of words is a heading."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            return _samples(path, _rows(path, file))
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: {error}") from None


def _rows(path: str, file: Any) -> Iterator[tuple[float, float]]:
    for number, row in enumerate(csv.reader(file), 1):
        try:
            seconds, nbytes = map(float, row)
        except ValueError:
            if number == 1:
                continue
            raise PlanError(f'{path}: line {number}: not "seconds,bytes"') from None
        yield seconds, nbytes


def read_pcap(path: str) -> tuple[Floats, Floats]:
    """Times and lengths of the frames of a capture, pcap or pcapng."""
    try:
        import dpkt
    except ImportError:
        raise PlanError("--pcap needs dpkt: the package is python3-dpkt") from None
    try:
        with Path(path).open("rb") as file:
            frames = dpkt.pcap.UniversalReader(file)
            return _samples(path, ((float(when), float(len(frame))) for when, frame in frames))
    except (OSError, ValueError, dpkt.dpkt.Error) as error:
        raise PlanError(f"{path}: no capture: {error}") from None


def _samples(path: str, rows: Iterator[tuple[float, float]]) -> tuple[Floats, Floats]:
    pairs = []
    for pair in rows:
        pairs.append(pair)
        if len(pairs) > PACKETS_MAX:
            raise PlanError(f"{path}: more than {PACKETS_MAX} samples")
    if len(pairs) < ITERATIONS_MIN:
        raise PlanError(f"{path}: {len(pairs)} samples are too few")
    table = np.array(pairs)
    if not np.isfinite(table).all() or (table[:, 1] < 0).any():
        raise PlanError(f"{path}: times and bytes have to be finite, bytes not negative")
    table = table[table[:, 0].argsort(kind="stable")]
    return table[:, 0] - table[0, 0], table[:, 1]


def from_samples(name: str, seconds: Floats, nbytes: Floats, bin_s: float) -> Json:
    """The job that a trace of it alone shows; bin_s is the resolution, if the trace has that."""
    bin_s = max(bin_s, BIN_SAMPLES * float(np.median(np.diff(seconds))))
    count = int(seconds[-1] / bin_s) + 1
    if not 2 * ITERATIONS_MIN <= count <= BINS_MAX:
        raise PlanError(
            f"{seconds[-1]:g} s in bins of {bin_s * 1000:g} ms make {count}; "
            f"from {2 * ITERATIONS_MIN} to {BINS_MAX} are allowed"
        )
    period_s = _period(np.bincount((seconds / bin_s).astype(np.int64), nbytes)) * bin_s
    iterations = seconds[-1] / period_s
    bins = max(8, round(period_s / bin_s))
    width_s = period_s / bins
    where = np.minimum((seconds % period_s / width_s).astype(np.int64), bins - 1)
    rate = np.bincount(where, nbytes, bins) * 8e-9 / width_s / max(1.0, iterations)
    arcs = [(start * width_s * 1e6, n * width_s * 1e6, gbps) for start, n, gbps in _arcs(rate)]
    return _table(name, period_s * 1000, arcs)


def _period(traffic: Floats) -> float:
    """In bins."""
    autocorrelation = _autocorrelation(traffic)
    falls = np.flatnonzero(autocorrelation < 0)
    first = int(falls[0]) if len(falls) else len(autocorrelation)
    tail = autocorrelation[first : len(traffic) // ITERATIONS_MIN * (ITERATIONS_MIN - 1)]
    if not len(tail) or tail.max() < PERIODIC:
        raise PlanError(
            f"no period: fewer than {ITERATIONS_MIN} iterations, or traffic that does not repeat"
        )
    lag = first + int(np.flatnonzero(tail >= AS_HIGH * tail.max())[0])
    lag = _peak(autocorrelation, lag, max(1, lag // 4))
    if lag * ITERATIONS_MIN > len(traffic):
        raise PlanError(f"no period: fewer than {ITERATIONS_MIN} iterations")
    period, times = float(lag), 1
    # the peak after 2, 4, 8... iterations says it more precisely
    while 2 * times * period < len(traffic) * 2 / 3:
        times *= 2
        at = _peak(autocorrelation, round(times * period), max(1, round(period / 8)))
        period = at / times
    return period


def _autocorrelation(traffic: Floats) -> Floats:
    """Of lags from 0 on, 1 at lag 0, each over as many samples as it has."""
    count = len(traffic)
    centred = traffic - traffic.mean()
    spectrum = np.fft.rfft(centred, 2 * count)
    raw = np.fft.irfft(spectrum * spectrum.conj(), 2 * count)[:count]
    if raw[0] <= 0:
        return np.zeros(count)
    return raw / raw[0] * count / np.arange(count, 0, -1)


def _peak(values: Floats, near: int, reach: int) -> int:
    low = max(1, near - reach)
    return low + int(values[low : near + reach + 1].argmax())


def _arcs(rate: Floats) -> list[tuple[int, int, float]]:
    """Runs of bins above the threshold: start, length, mean rate; the longest gap comes first."""
    busy = rate > ARC_RATE * rate.max()
    edges = np.flatnonzero(busy & ~np.roll(busy, 1))
    if busy.all() or not len(edges):
        return [(0, len(rate), float(rate.mean()))]
    runs = []
    for start in edges.tolist():
        turned = np.roll(busy, -start)
        length = int(np.flatnonzero(~turned)[0])
        mean = float(np.roll(rate, -start)[:length].mean())
        if mean * length >= ARC_BYTES * rate.sum():
            runs.append((start, length, mean))
    gaps = [
        ((runs[i][0] - runs[i - 1][0] - runs[i - 1][1]) % len(rate), i) for i in range(len(runs))
    ]
    gap, first = max(gaps)
    zero = runs[first][0] - gap
    return sorted(((start - zero) % len(rate), length, mean) for start, length, mean in runs)
