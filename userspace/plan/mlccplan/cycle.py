# SPDX-License-Identifier: BSD-2-Clause
"""Finds the iterations in a job's traffic, if there are any: bytes in bins of equal time.

Whether it repeats: the highest peak of the autocorrelation beyond the usual pause, against the
highest of RANDOM captures that have the same bursts at random times. Noise in the iterations
lowers and widens the peak, so that is done with bins of several widths.

Where iterations begin: at the bursts that follow long pauses and come one period after another, as
musical beats are tracked (Ellis, Journal of New Music Research 36(1), 2007). An autocorrelation of
later peaks would be more precise on a regular job, and lose one whose iterations vary.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .traffic import Floats, Ints

ITERATIONS_MIN = 5
PERIODIC = 0.65  # confidence from which on traffic is called periodic
AS_HIGH = 0.8  # of the highest peak: an earlier one that high is the period
RANDOM = 100
SEED = 1
SCALE_BINS = 1 << 14  # of a scale, at most: its middle stands for the rest
LAG_MIN = 4  # bins: the next narrower scale has shorter periods
LIKE = 1.5  # of a period: what another scale finds below that is the same
PAUSE = 0.75  # of the usual pause: no period is shorter

STEPS = 4  # periods: so long bins of traffic without anything longer are alike
STEPS_LEAST = 3  # in something longer
UNLIKE = 0.35  # coefficient of variation of such bins
EMPTY = 0.25  # of the usual bytes: such bins are pauses between groups of steps
PAUSES_MIN = 2
UNSURE = 0.5  # confidence at most, where something longer is not seen often enough

BEATS = 2  # times that the starts are looked for, with a better period
SMOOTH = 24  # of a period: bursts nearer than that are one
STRICT = 4.0  # what an iteration of e times the period costs; the usual pause is worth 1
JUMP = STRICT * np.log(3) ** 2  # at most
REACH = (0.3, 2.5)  # periods from a start to the next
PAUSED = 1.75  # median iterations: longer ones are something else
NEAR = 0.1  # of an iteration's bytes: so near a multiple of them are several iterations


@dataclass(frozen=True)
class Cycle:
    """Bins in which iterations begin and end; none, if the traffic does not repeat."""

    confidence: float  # 0 to 1; 1/2 is what random arrivals reach
    starts: Ints
    ends: Ints
    steps: float = 0.0  # bins: the period of what repeats within something longer, not seen enough

    @property
    def period(self) -> float:
        return float((self.ends - self.starts).mean())

    @property
    def variation(self) -> float:
        """Coefficient of variation of the iterations' times."""
        return float((self.ends - self.starts).std() / self.period)


NONE = np.zeros(0, np.int64)


def find(traffic: Floats) -> Cycle:
    """The iterations in these bins; what repeats may be steps of something longer that does."""
    period, confidence = _repeats(traffic)
    if confidence < PERIODIC:
        return Cycle(confidence, NONE, NONE)
    grouped = False
    while least := _longer(traffic, period):
        # in bins in which the steps are all alike
        width = max(1, round(min(2 * period, least / LAG_MIN)))
        longer, confidence = _repeats(_coarse(traffic, width), least / width)
        longer *= width
        if confidence < PERIODIC or longer < least:
            return Cycle(min(confidence, UNSURE), NONE, NONE, period)
        period, grouped = longer, True
    for _ in range(BEATS):
        starts = _starts(traffic, period, grouped)
        if len(starts) <= ITERATIONS_MIN:
            return Cycle(0.0, NONE, NONE)
        period = float(np.median(np.diff(starts)))
    starts = _split(traffic, starts)
    whole = np.diff(starts) <= PAUSED * period
    return Cycle(confidence, starts[:-1][whole], starts[1:][whole])


def _longer(traffic: Floats, period: float) -> float:
    """The least period of something longer, of which these are steps; 0, if they are not."""
    coarse = _coarse(traffic, period * STEPS)
    if len(coarse) < ITERATIONS_MIN:
        return 0.0
    fine = _coarse(traffic, period * STEPS / 2)
    pauses = _runs(fine < EMPTY * np.median(fine))[:, 0] * period * STEPS / 2
    if len(pauses) >= PAUSES_MIN:
        return max(period * STEPS_LEAST, PAUSE * float(np.median(np.diff(pauses))))
    return period * STEPS_LEAST if coarse.std() > UNLIKE * coarse.mean() else 0.0


def _coarse(traffic: Floats, width: float) -> Floats:
    """In bins of that width, without the first and the last."""
    bins = max(1, round(width))
    count = len(traffic) // bins
    return traffic[: count * bins].reshape(count, bins).sum(axis=1)[1:-1]


def _repeats(traffic: Floats, shortest: float = 1) -> tuple[float, float]:
    """The period in bins, roughly, no shorter than that, and the confidence that there is one."""
    chosen = np.random.default_rng(SEED)
    seen = [(0.0, 0.0)]
    for width, coarse in _scales(traffic):
        runs = _runs(coarse > coarse.mean())
        least = max(1.0, _pause(runs) * PAUSE, shortest / width)
        lag, height = _peak(coarse, least)
        if lag < LAG_MIN:
            continue
        random = max(_peak(_at_random(coarse, runs, chosen), least)[1] for _ in range(RANDOM))
        seen.append((height**2 / (height**2 + random**2), float(lag * width)))
    # wide bins may show chance peaks of many periods: the shortest period that is clear is it
    clear = [period for confidence, period in seen if confidence >= PERIODIC]
    confidence, period = max(one for one in seen if one[1] <= LIKE * min(clear, default=np.inf))
    return period, confidence


def _scales(traffic: Floats) -> Iterator[tuple[int, Floats]]:
    """In bins of 1, 2, 4... of these."""
    width = 1
    while (count := len(traffic) // width) >= LAG_MIN * ITERATIONS_MIN:
        skipped = max(0, count - SCALE_BINS) // 2
        rows = traffic[: count * width].reshape(count, width)
        yield width, rows[skipped : skipped + SCALE_BINS].sum(axis=1)
        width *= 2


def _runs(busy: np.ndarray) -> Ints:
    """Rows of start and end of each run of True."""
    edges = np.diff(np.concatenate(([0], busy.astype(np.int8), [0])))
    return np.stack([np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)], axis=1)


def _pause(runs: Ints) -> float:
    """Half of all silence is in pauses of that length and longer: iterations have more."""
    pauses = np.sort(runs[1:, 0] - runs[:-1, 1])
    if not len(pauses):
        return 0.0
    silence = pauses.cumsum()
    return float(pauses[np.searchsorted(silence, silence[-1] / 2)])


def _peak(traffic: Floats, least: float) -> tuple[int, float]:
    """Lag of the autocorrelation's first high peak, and how much it says; 0 and 0 if it has none.

    One beyond many usual pauses says less than one beyond the first.
    """
    autocorrelation = _autocorrelation(traffic)
    falls = np.flatnonzero(autocorrelation < 0)
    first = max(int(falls[0]) if len(falls) else len(traffic), round(least), 1)
    tail = autocorrelation[first : len(traffic) // ITERATIONS_MIN + 1]
    if not len(tail) or tail.max() <= 0:
        return 0, 0.0
    tail = tail / (1 + np.log2(np.arange(first, first + len(tail)) / least) / 2)
    lag = int(np.flatnonzero(tail >= AS_HIGH * tail.max())[0])
    lag += int(tail[lag : lag + max(1, (first + lag) // 4)].argmax())
    return first + lag, float(tail.max())


def _autocorrelation(traffic: Floats) -> Floats:
    """Of lags from 0 on, 1 at lag 0, each over as many samples as it has."""
    count = len(traffic)
    centred = traffic - traffic.mean()
    spectrum = np.fft.rfft(centred, 2 * count)
    raw = np.fft.irfft(spectrum * spectrum.conj(), 2 * count)[:count]
    if raw[0] <= 0:
        return np.zeros(count)
    return raw / raw[0] * count / np.arange(count, 0, -1)


def _at_random(traffic: Floats, runs: Ints, chosen: np.random.Generator) -> Floats:
    """What rises above the mean, each run of it put elsewhere."""
    busy = np.flatnonzero(traffic > traffic.mean())
    to = chosen.integers(0, len(traffic), len(runs)).repeat(runs[:, 1] - runs[:, 0])
    return np.bincount((busy + to) % len(traffic), traffic[busy], len(traffic))


def _starts(traffic: Floats, period: float, grouped: bool) -> Ints:
    """Bins before the bursts with which iterations begin; grouped: those of steps do not."""
    width = max(1, round(period / SMOOTH))
    total = np.concatenate((np.zeros(1), traffic.cumsum()))
    at = np.arange(len(traffic))
    low, high = np.maximum(0, at - width // 2), np.minimum(len(traffic), at + width - width // 2)
    smooth = (total[high] - total[low]) / width
    runs = _runs(smooth > traffic.mean())
    pauses = runs[:, 0] - np.concatenate(([0], runs[:-1, 1]))
    usual = _pause(runs)
    if grouped and len(pauses):  # as many pauses as there are iterations count, not those of steps
        usual = max(usual, float(np.sort(pauses)[-min(len(pauses), int(len(traffic) / period))]))
    chain = _chain(runs[:, 0], np.minimum(1, pauses / max(1.0, usual)), period)
    if len(chain) > ITERATIONS_MIN + 1 and pauses[chain[0]] < width:
        del chain[0]  # nobody has seen how it began
    # smoothed bursts may begin late
    return runs[chain, 0] - np.minimum(width, pauses[chain])


def _split(traffic: Floats, starts: Ints) -> Ints:
    """Iterations that ran into each other have the bytes of several: as many, of equal length."""
    total = np.concatenate((np.zeros(1), traffic.cumsum()))
    share = np.diff(total[starts])
    share /= np.median(share)
    several = np.where(np.abs(share - share.round()) < NEAR, np.maximum(1, share.round()), 1)
    position = np.concatenate(([0], several.cumsum()))
    return np.interp(np.arange(position[-1] + 1), position, starts).astype(np.int64)


def _chain(onsets: Ints, worth: Floats, period: float) -> list[int]:
    """Indices of the onsets that are worth most, less what their distances cost."""
    best, before = worth.astype(np.float64), [-1] * len(onsets)
    leaders: list[int] = []  # of each onset and those before it, the best one
    # those from low to high are within reach
    lows = np.searchsorted(onsets, onsets - REACH[1] * period)
    highs = np.searchsorted(onsets, onsets - REACH[0] * period, "right")
    for index, (low, high) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True)):
        options = [(0.0, -1)]
        if low:
            options.append((float(best[leaders[low - 1]]) - JUMP, leaders[low - 1]))
        if high > low:
            cost = STRICT * np.log((onsets[index] - onsets[low:high]) / period) ** 2
            nearest = best[low:high] - np.minimum(cost, JUMP)
            options.append((float(nearest.max()), low + int(nearest.argmax())))
        value, before[index] = max(options)
        best[index] += value
        leaders.append(index if not index or best[index] > best[leaders[-1]] else leaders[-1])
    chain, index = [], leaders[-1] if leaders else -1
    while index >= 0:
        chain.append(index)
        index = before[index]
    return chain[::-1]
