# SPDX-License-Identifier: BSD-2-Clause
"""A job's iterations, laid on each other from their beginnings: mean bytes, and arcs."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from . import cycle
from .cycle import Cycle
from .errors import PlanError
from .traffic import Floats, Ints, Traffic

BINS_MAX = 1 << 22
BIN_SAMPLES = 2  # in a bin, at least: counters that are read every 5 ms have a period of 5 ms, else
ARC_RATE = 0.1  # of the largest rate: where an arc begins
ARC_BYTES = 0.01  # of the iteration: smaller arcs are control traffic
ARCS_MAX = 64  # that a problem may have of a job
ARCS_BYTES = 0.1  # of the iteration: so much in small arcs is none
REGULAR = 0.9  # of the times between changes of counters: multiples of one, if these are refreshed
REFRESH = 0.05  # of the refresh: so far from a multiple
REFRESH_SAMPLES = 1.5  # or so many times between readings
REFRESH_PERIOD, REFRESH_PAUSE = 10, 4  # refreshes in an iteration, and in its pause, at least
FINE = 0.02  # seconds: counters refreshed so often show what there is
FALLS = 0.5  # of the largest rate: traffic that never falls below has no compute phase


@dataclass(frozen=True)
class Iterations:
    """A job's traffic, and where its iterations are, in bins; none if it does not repeat."""

    traffic: Traffic
    bin_s: float
    cycle: Cycle

    @property
    def count(self) -> int:
        return len(self.cycle.starts)

    @property
    def period_s(self) -> float:
        return self.cycle.period * self.bin_s

    @cached_property
    def phase(self) -> Floats:
        """Seconds since the iteration of each sample began; not a number between them."""
        seconds = self.traffic.seconds
        if not self.count:
            return np.full(len(seconds), np.nan)
        index = np.searchsorted(self.cycle.starts * self.bin_s, seconds, "right") - 1
        start, end = (at[index] * self.bin_s for at in (self.cycle.starts, self.cycle.ends))
        return np.where((index >= 0) & (seconds < end), seconds - start, np.nan)

    def payload(self, group: Ints, count: int) -> Floats:
        """Of a mean iteration, for each of count groups of samples."""
        inside = np.isfinite(self.phase)
        sums = np.bincount(group[inside], self.traffic.payload[inside], count)
        return sums / max(1, self.count)

    def rate(self) -> Floats:
        """Mean Gb/s in bins of the period, with all headers, of the busiest direction."""
        bins = max(8, round(self.cycle.period))
        width_s = self.period_s / bins
        inside = self._busiest & (self.phase < self.period_s)
        where = np.minimum((self.phase[inside] / width_s).astype(np.int64), bins - 1)
        sums = np.bincount(where, self.traffic.frames[inside], bins)
        return sums * 8e-9 / width_s / self.count

    @cached_property
    def _busiest(self) -> np.ndarray:
        """The samples that an endpoint sends, or receives: a link carries one direction."""
        flows, seen = self.traffic.flows, self.traffic.flow
        if not flows:
            return np.ones(len(seen), bool)
        nbytes = np.bincount(seen, self.traffic.frames, len(flows))
        best = (-1.0, np.zeros(0, bool))
        for end in (0, 1):
            hosts, host = np.unique([flow[end] for flow in flows], return_inverse=True)
            sums = np.bincount(host, nbytes, len(hosts))
            if sums.max() > best[0]:
                best = (float(sums.max()), host == sums.argmax())
        return best[1][seen]


def find(traffic: Traffic, bin_s: float) -> Iterations:
    """The iterations in traffic of one job; bin_s is the resolution, if the source has that."""
    seconds = traffic.seconds
    apart = np.diff(np.unique(seconds))
    bin_s = max(bin_s, BIN_SAMPLES * float(np.median(apart)) if len(apart) else 0)
    refresh = _refresh(traffic)
    bin_s = max(bin_s, BIN_SAMPLES * refresh)
    count = int(seconds[-1] / bin_s) + 1
    if refresh and count < 2 * cycle.ITERATIONS_MIN:
        return _unknown(traffic, bin_s, refresh)
    if not 2 * cycle.ITERATIONS_MIN <= count <= BINS_MAX:
        raise PlanError(
            f"{seconds[-1]:g} s in bins of {bin_s * 1000:g} ms make {count}; "
            f"from {2 * cycle.ITERATIONS_MIN} to {BINS_MAX} are allowed"
        )
    bins = (seconds / bin_s).astype(np.int64)
    found = Iterations(traffic, bin_s, cycle.find(np.bincount(bins, traffic.payload)))
    if found.count:
        rate = found.rate()
        if rate.min() > FALLS * rate.max():
            return Iterations(traffic, bin_s, Cycle(0.0, cycle.NONE, cycle.NONE))
        if refresh and not _slower(found, refresh):
            return _unknown(traffic, bin_s, refresh)
    elif refresh > FINE:
        return _unknown(traffic, bin_s, refresh)
    return found


def _refresh(traffic: Traffic) -> float:
    """Seconds between which the source's counters change, if that is longer than its samples; or 0.

    The bytes of a second that come at its end say nothing of when they were sent.
    """
    if traffic.source == "pcap":
        return 0.0
    apart = np.diff(np.unique(traffic.seconds))
    changes = np.diff(np.unique(traffic.seconds[traffic.frames > 0]))
    if len(changes) < cycle.ITERATIONS_MIN:
        return 0.0
    sample = float(np.median(apart))
    refresh = float(np.quantile(changes, ARC_RATE))
    for _ in range(2):
        multiple = np.maximum(1, (changes / refresh).round())
        refresh = float(np.median(changes[multiple == multiple.min()]))
    if refresh < 2 * REFRESH_SAMPLES * sample:
        return 0.0
    far = np.abs(changes - (changes / refresh).round() * refresh)
    near = far <= max(REFRESH * refresh, REFRESH_SAMPLES * sample)
    return refresh if near.mean() >= REGULAR else 0.0


def _slower(found: Iterations, refresh: float) -> bool:
    """Whether iterations, and their pauses, are many refreshes long."""
    busy = found.rate() > 0
    silent = np.concatenate((~busy, ~busy))
    ends = np.flatnonzero(np.diff(np.concatenate(([0], silent.astype(np.int8), [0]))))
    pause = (ends[1::2] - ends[::2]).max(initial=0) / len(busy) * found.period_s
    return found.period_s >= REFRESH_PERIOD * refresh and pause >= REFRESH_PAUSE * refresh


def _unknown(traffic: Traffic, bin_s: float, refresh: float) -> Iterations:
    """Nothing can be said of what happens between two refreshes."""
    note = (
        f"bytes come every {refresh * 1000:.3g} ms, which may be how often the device refreshes "
        f"its counters: what repeats within {REFRESH_PERIOD * refresh:.3g} s cannot be told; "
        "capture packets (--pcap)"
    )
    told = replace(traffic, notes=(*traffic.notes, note))
    return Iterations(told, bin_s, Cycle(0.0, cycle.NONE, cycle.NONE))


def arcs(rate: Floats) -> list[tuple[int, int, float]]:
    """Runs of bins above the threshold: start, length, mean rate; the longest gap comes first."""
    size, total, busy = len(rate), rate.sum(), rate > ARC_RATE * rate.max()
    starts = np.flatnonzero(busy & ~np.roll(busy, 1))
    ends = np.flatnonzero(busy & ~np.roll(busy, -1)) + 1
    if len(starts) and ends[0] <= starts[0]:
        ends = np.roll(ends, -1)  # the last one goes past the end
    if len(starts) > ARCS_MAX:  # the shorter pauses are of no use to others
        pauses = (starts - np.roll(ends, 1)) % size
        kept = pauses > np.sort(pauses)[-ARCS_MAX]
        starts, ends = starts[kept], np.roll(ends, 1)[kept]
        ends = np.roll(ends, -1)
    if not len(starts):
        return [(0, size, float(rate.mean()))]
    lengths = (ends - starts - 1) % size + 1
    sums = np.concatenate((np.zeros(1), np.tile(rate, 2).cumsum()))
    nbytes = sums[starts + lengths] - sums[starts]
    small = nbytes < ARC_BYTES * total
    if not small.all() and nbytes[small].sum() <= ARCS_BYTES * total:
        starts, lengths, nbytes = starts[~small], lengths[~small], nbytes[~small]
    gaps = (starts - np.roll(starts + lengths, 1)) % size
    begins = (starts - starts[gaps.argmax()] + gaps.max()) % size
    means = nbytes / lengths
    return sorted(zip(begins.tolist(), lengths.tolist(), means.tolist(), strict=True))
