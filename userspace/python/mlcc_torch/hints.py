# SPDX-License-Identifier: BSD-2-Clause
"""Phases of this process's part of a job, told to mlccd as long as there is one.

    LINKED --- mlccd has gone -----> APART --- RETRY_S, in a thread of its own ---> LINKED
       |                               |
       +-- a record                    +-- nothing

Training calls phase_start() and phase_end() and never waits: what takes time (finding mlccd,
handing a ring over) happens once in the constructor, within TIMEOUT_S, and later in a thread.

Only wait_for_slot() waits, in the thread that calls it, and only where an operator has planned the
job: at most twice a minute, for less than the job's period (shift.py).
"""

import logging
import os
import threading
import time

from mlcc_client import SOCKET

from . import ranks
from .daemon import Link
from .ring import BYTES_MAX, PHASE_END, PHASE_START
from .shift import Shift, Shifter

TIMEOUT_S = 0.2
RETRY_S = 5.0

log = logging.getLogger("mlcc_torch")


class Hints:
    """The hints of one process; methods may be called from any thread and never raise."""

    def __init__(
        self, socket_path: str | None = None, job: str | None = None, first: bool | None = None
    ) -> None:
        """By default from MLCC_SOCKET, MLCC_JOB or MLCC_JOB_ID, and the launcher's rank variables.

        first: whether this process is the first of its host: only it waits for slots.
        """
        self._path = socket_path or os.environ.get("MLCC_SOCKET") or SOCKET
        named = os.environ.get("MLCC_JOB") or os.environ.get("MLCC_JOB_ID", "")
        self._job = named if job is None else job
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._link: Link | None = None
        self._searching = False
        self._closed = False
        self._search_at = time.monotonic() + RETRY_S
        self._warned: set[str] = set()
        self._shifter = Shifter()
        self._shifts = os.environ.get("MLCC_SHIFT") != "0" and (
            ranks.is_first() if first is None else first
        )
        self._search()

    @property
    def linked(self) -> bool:
        """Whether mlccd takes the hints, as far as is known."""
        return self._link is not None

    def phase_start(self, size: int = 0) -> None:
        """A phase begins in which this process sends size bytes; 0: it does not know."""
        self._say(PHASE_START, int(size) if 0 < size <= BYTES_MAX else 0)

    def phase_end(self) -> None:
        """The phase is over."""
        self._shifter.end(time.monotonic_ns())
        self._say(PHASE_END, 0)

    def wait_for_slot(self, iteration: bool = False) -> None:
        """Before phase_start(): sleep until the job's slot, if a plan says so and it is time.

        iteration: what begins now is not the phase but the iteration, with computing first.
        """
        if self._closed or not self._shifts or os.getpid() != self._pid:
            return
        wait = 0
        try:
            with self._lock:
                wait = self._until_slot(iteration)
        except Exception as error:  # as in _say()
            self._warn("shift", f"takes no more part in plans: {error!r}")
            self._shifts = False
        if wait:
            time.sleep(wait / 1e9)

    def close(self) -> None:
        """Say nothing more."""
        with self._lock:
            self._closed = True
            self._drop()

    def _say(self, kind: int, size: int) -> None:
        # a child of fork() has this object, too, but the ring has one producer
        if self._closed or os.getpid() != self._pid:
            return
        try:
            with self._lock:
                self._put(kind, size)
        except Exception as error:  # whatever it is, the training is worth more
            self._warn("broken", f"gives up: {error!r}")
            self._closed = True

    def _check_link(self) -> None:
        if self._link and self._link.lost():
            self._drop()
            self._warn("gone", "mlccd has gone; training goes on, phases are not announced")
        if self._link is None:
            self._search_again()

    def _until_slot(self, iteration: bool) -> int:
        """In ns; without mlccd nothing is planned."""
        self._check_link()
        shown = self._link.ring.shift() if self._link else (0, 0, 0)
        plan = self._shifter.plan
        if shown:
            period, offset, lead = shown
            plan = Shift(period, (offset - lead) % period if iteration and period else offset)
        wait = self._shifter.start(plan, time.time_ns(), time.monotonic_ns())
        if self._link:
            known = self._shifter
            self._link.ring.say_shift(known.state, known.waits, known.error, known.own_period)
        return wait

    def _put(self, kind: int, size: int) -> None:
        if kind == PHASE_START or self._link is None:
            self._check_link()
        if self._link is None:
            return
        if not self._link.ring.put(kind, self._link.job, size):
            self._warn("full", "mlccd takes no hints (the ring is full); they are dropped")

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link:
            link.close()

    def _search_again(self) -> None:
        now = time.monotonic()
        if self._searching or now < self._search_at:
            return
        self._searching = True
        self._search_at = now + RETRY_S
        threading.Thread(target=self._search, name="mlcc-search", daemon=True).start()

    def _search(self) -> None:
        try:
            link = Link(self._path, self._job, TIMEOUT_S)
        except Exception as error:  # also of a reply that is not as described
            self._warn("none", f"{self._path}: {error}; phases are not announced")
        else:
            self._found(link)
        self._searching = False

    def _found(self, link: Link) -> None:
        with self._lock:
            if self._closed:
                link.close()
            else:
                self._link = link
        log.info("announces the phases of job %d", link.job)

    def _warn(self, kind: str, text: str) -> None:
        """Once for each kind, and for a daemon that went and does not come back only once, too."""
        if kind in self._warned or (kind == "none" and "gone" in self._warned):
            return
        self._warned.add(kind)
        log.warning("%s", text)
