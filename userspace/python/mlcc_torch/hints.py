# SPDX-License-Identifier: BSD-2-Clause
"""Phases of this process's part of a job, told to mlccd as long as there is one.

Training calls phase_start() and phase_end() and never waits: what takes time happens once, in the
constructor, within ATTACH_MS. Only wait_for_slot() waits, in the thread that calls it, and only
where an operator has planned the job.
"""

import ctypes
import logging
import os
import threading
import time
from typing import Any

from . import library

ATTACH_MS = 200

log = logging.getLogger("mlcc_torch")


def _logged(_: int | None, warning: bool, line: bytes) -> None:
    log.log(logging.WARNING if warning else logging.INFO, "%s", line.decode(errors="replace"))


def _bytes(size: Any) -> int:
    """0 for what is no number of them."""
    try:
        return int(size) if 0 < size < 1 << 64 else 0
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return 0


class Hints:
    """The hints of one process; methods may be called from any thread and never raise."""

    def __init__(self, socket_path: str | None = None, job: str | None = None) -> None:
        """By default from MLCC_SOCKET, and MLCC_JOB or MLCC_JOB_ID, else by cgroup, as with ""."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        # ctypes does not keep it
        self._log = library.Log(_logged)
        self._handle: int | None = None
        try:
            self._library = library.load()
        except OSError as error:
            log.warning("no phases are announced: %s", error)
            return
        self._open(socket_path, job)

    @property
    def linked(self) -> bool:
        """Whether mlccd takes the hints, as far as is known."""
        return bool(self._call("linked"))

    def phase_start(self, size: int = 0) -> None:
        """A phase begins in which this process sends size bytes; 0: it does not know."""
        self._call("start", _bytes(size))

    def phase_end(self) -> None:
        """The phase is over."""
        self._call("end")

    def wait_for_slot(self, iteration: bool = False) -> None:
        """Before phase_start(): sleep until the job's slot, if a plan says so and it is time.

        iteration: what begins now is not the phase but the iteration, with computing first.
        """
        if until := self._call("slot", iteration):
            time.sleep(max(0, until - time.monotonic_ns()) / 1e9)

    def close(self) -> None:
        """Say nothing more."""
        self._call("free")

    def _call(self, name: str, *arguments: int) -> int:
        """What the library says; 0 where there is no handle, or no longer.

        A child of fork() has this object, too, and perhaps a lock that nobody gives back.
        """
        if self._handle is None or os.getpid() != self._pid:
            return 0
        with self._lock:
            handle, function = self._handle, getattr(self._library, f"mlcc_hint_{name}")
            if name == "free":
                self._handle = None
            return (handle and function(handle, *arguments)) or 0

    def _open(self, socket_path: str | None, job: str | None) -> None:
        options = library.Options(
            socket=socket_path and os.fsencode(socket_path),
            job=None if job is None else job.encode(),
            log=self._log,
        )
        self._handle = self._library.mlcc_hint_new(ctypes.byref(options))
        if self._handle:
            self._library.mlcc_hint_attach(self._handle, ATTACH_MS)
