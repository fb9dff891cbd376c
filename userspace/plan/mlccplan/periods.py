# SPDX-License-Identifier: BSD-2-Clause
"""The period that each job is planned with, which need not be quite its own.

Two jobs meet on a circle of the least common multiple (LCM) of their periods. 329 ms and 165 ms
meet on one of 54 s, where nothing can be interleaved, though 330 ms would do if the first job
waited for 1 ms in each iteration. So periods within a tolerance of a ratio of small numbers are
planned as if they had that ratio, on the slowest of them: a job can wait, but not hurry. What that
costs is said as drift: left alone, a job of period p that was planned with q slips against its slot
by q - p in each iteration, and somebody has to hold it back.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, gcd

RATIO_MAX = 4  # periods in a ratio of 1:4 to 4:1, and 4:3, are near enough to be worth it
RATIOS = sorted(
    ((a, b) for a in range(1, RATIO_MAX + 1) for b in range(1, RATIO_MAX + 1) if gcd(a, b) == 1),
    key=lambda ratio: (sum(ratio), ratio),
)
COMMON = 12  # the LCM of 1 to RATIO_MAX: periods of whole microseconds keep their ratio

# who corrects drift does so when it is this part of the period, at most every so many seconds
CORRECT_AT = 0.05
CORRECT_EVERY_S = 30.0


@dataclass(frozen=True)
class Drift:
    """How far a job's own period is from the planned one."""

    period_us: int
    planned_us: int

    @property
    def us_per_iteration(self) -> int:
        return self.planned_us - self.period_us

    @property
    def ppm(self) -> float:
        return 1e6 * self.us_per_iteration / self.period_us

    @property
    def correct_every_s(self) -> float | None:
        """Seconds until the job is CORRECT_AT of its period away from its slot."""
        if not self.us_per_iteration:
            return None
        return CORRECT_AT * self.period_us / abs(self.us_per_iteration) * self.period_us / 1e6

    @property
    def holds(self) -> bool:
        """Whether corrections twice a minute keep the job in its slot."""
        every = self.correct_every_s
        return every is None or every >= CORRECT_EVERY_S


def planned(periods: Sequence[int], tolerance: float) -> dict[int, int]:
    """The period to plan with, for each of these that share links, directly or not.

    tolerance: how far a ratio may be from one of small numbers, 0.02 for 2 %; 0: nothing changes.
    """
    counted = Counter(periods)
    left = sorted(counted, key=lambda period: (-counted[period], -period))
    result: dict[int, int] = {}
    while left:
        family = _family(left[0], left, tolerance)
        left = [period for period in left if period not in family]
        result |= _on_slowest(family)
    return result


def _family(anchor: int, periods: Sequence[int], tolerance: float) -> dict[int, tuple[int, int]]:
    """Those near the anchor times a/b, with their a and b."""
    family = {}
    for period in periods:
        for a, b in RATIOS:
            if abs(period * b - anchor * a) <= tolerance * anchor * a:
                family[period] = (a, b)
                break
    family[anchor] = (1, 1)
    return family


def _on_slowest(family: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    slowest = max(period * b / a for period, (a, b) in family.items())
    if all(period * b == round(slowest) * a for period, (a, b) in family.items()):
        return {period: period for period in family}
    base = ceil(slowest / COMMON) * COMMON
    return {period: base * a // b for period, (a, b) in family.items()}
