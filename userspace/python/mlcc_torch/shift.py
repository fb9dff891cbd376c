# SPDX-License-Identifier: BSD-2-Clause
"""When a phase has to wait for the slot of a plan: include/mlcc/shift.h in Python.

That header says why each rule is as it is; the tests hold this to what the header answers. Times
are nanoseconds: wall of the clock by which hosts agree, mono of the monotonic one.
"""

from collections import deque
from dataclasses import dataclass, field

PERIOD_MIN = 1_000_000
PERIOD_MAX = 60_000_000_000
SLACK = 20
TOLERANCE = 8
COST = 100
EVERY = 30_000_000_000
SEEN = 8
ENOUGH = 4

NONE, HELD, OFF, OTHER_PERIOD = range(4)


@dataclass(frozen=True)
class Shift:
    """What a plan says of a job; period 0: nothing."""

    period: int = 0
    offset: int = 0

    @property
    def valid(self) -> bool:
        """Whether there is something to wait for."""
        return PERIOD_MIN <= self.period <= PERIOD_MAX and self.offset < self.period


def _last() -> "deque[int]":
    return deque(maxlen=SEEN)


@dataclass
class Shifter:
    """What a client of a job knows."""

    plan: Shift = Shift()
    state: int = NONE
    error: int = 0
    waits: int = 0
    _start: int = 0
    _end: int = 0
    _waited: int = 0
    _settled: int = 0
    _placed: bool = False
    _gaps: "deque[int]" = field(default_factory=_last)
    _comms: "deque[int]" = field(default_factory=_last)

    @property
    def own_period(self) -> int:
        """The job's own period, the least of late; 0: not known yet."""
        return min(self._gaps) + min(self._comms) if len(self._gaps) >= ENOUGH else 0

    def start(self, plan: Shift, wall: int, mono: int) -> int:
        """A phase is about to begin; returns how long it has to wait first."""
        self._measure(mono)
        if plan != self.plan:
            self.plan, self._placed = plan, False
        self.state, self.error = NONE, 0
        wait = self._judge(wall, mono) if plan.valid else 0
        self._start, self._end = mono + wait, 0
        return wait

    def end(self, mono: int) -> None:
        """It is over."""
        if self._start and not self._end:
            self._end = mono

    def _measure(self, mono: int) -> None:
        if self._start:
            self._gaps.append(max(0, mono - (self._end or self._start)))
            self._comms.append(max(0, self._end - self._start))

    def _differs(self) -> bool:
        if not self.own_period:
            return False
        room = self.plan.period // TOLERANCE
        longest = max(self._gaps) + max(self._comms)
        return self.own_period > self.plan.period + room or longest < self.plan.period - room

    def _due(self, wait: int, mono: int) -> bool:
        since = max(0, mono - self._settled)
        if self.waits and max(0, mono - self._waited) < EVERY:
            return False
        return not self._placed or (since >= EVERY and wait <= since // COST)

    def _judge(self, wall: int, mono: int) -> int:
        period = self.plan.period
        late = (wall - self.plan.offset) % period
        wait = period - late
        early = late > period // 2
        self.error = -wait if early else late
        self.state = OTHER_PERIOD
        if self._differs():
            return 0
        self.state = HELD
        if (wait if early else late) <= period // SLACK:
            if not self._placed:
                self._settled, self._placed = mono, True
            return 0
        self.state = OFF
        if not self._due(wait, mono):
            return 0
        self.state, self._placed = HELD, True
        self._waited = self._settled = mono + wait
        self.waits += 1
        return wait
