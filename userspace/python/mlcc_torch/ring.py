# SPDX-License-Identifier: BSD-2-Clause
"""The ring that this process and mlccd share: include/mlcc/uapi/mlcc_ring.h in Python."""

import fcntl
import mmap
import os
import struct
import sys
import threading
import time

MAGIC = 0x6D6C6363
VERSION = 1
SLOTS = 256
PHASE_START = 1
PHASE_END = 2
BYTES_MAX = (1 << 48) - 1

HEAD = struct.Struct("=IIII")
RECORD = struct.Struct("=HHIQQQ32x")
RECORDS_AT = 192
# in words of eight bytes
HEAD_WORD, DROPPED_WORD, TAIL_WORD = 8, 9, 16
# what we say of our job's time-shift, and what mlccd says: sequence number, period, offset, lead
SAID_WORD, SHIFT_WORD = 10, 17
SHIFT_TRIES = 8
WORD_MAX = (1 << 64) - 1


class Ring:
    """A sealed memfd with an eventfd; one process produces, mlccd consumes."""

    def __init__(self, slots: int = SLOTS) -> None:
        """slots: a power of two from 8 to 16384. Raises OSError."""
        self.slots = slots
        size = RECORDS_AT + slots * RECORD.size
        self.memfd = os.memfd_create("mlcc-ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.memfd, size)
            os.pwrite(self.memfd, HEAD.pack(MAGIC, VERSION, slots, RECORD.size), 0)
            fcntl.fcntl(self.memfd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            self._map = mmap.mmap(self.memfd, size)
            self.event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        except BaseException:
            os.close(self.memfd)
            raise
        # whole words: a pointer that is stored byte by byte would be seen half-written
        self._words = memoryview(self._map).cast("Q")
        self._fence = threading.Lock()

    def put(self, kind: int, job: int, size: int) -> bool:
        """Add a record, one thread at a time; False where the ring is full: it is dropped."""
        head = self._words[HEAD_WORD]
        if head - self._words[TAIL_WORD] >= self.slots:
            self._words[DROPPED_WORD] += 1
            return False
        at = RECORDS_AT + (head & (self.slots - 1)) * RECORD.size
        record = RECORD.pack(VERSION, kind, job, size, time.monotonic_ns(), head)
        # a lock taken and given orders two stores on machines that would swap them
        with self._fence:
            self._map[at : at + RECORD.size] = record
        with self._fence:
            self._words[HEAD_WORD] = head + 1
        os.eventfd_write(self.event, 1)
        return True

    def shift(self) -> tuple[int, int, int] | None:
        """Period, offset and lead of the job's time-shift in ns; None: met mlccd writing it."""
        for _ in range(SHIFT_TRIES):
            with self._fence:
                before = self._words[SHIFT_WORD]
            with self._fence:
                period, offset, lead = self._words[SHIFT_WORD + 1 : SHIFT_WORD + 4]
            with self._fence:
                after = self._words[SHIFT_WORD]
            if before == after and not before & 1:
                return period, offset, lead
        return None

    def say_shift(self, state: int, waits: int, error_ns: int, period_ns: int) -> None:
        """What we make of the shift, for mlccd to show."""
        both = struct.pack("=II", state, min(waits, 0xFFFFFFFF))
        self._words[SAID_WORD] = int.from_bytes(both, sys.byteorder)
        self._words[SAID_WORD + 1] = error_ns & WORD_MAX
        self._words[SAID_WORD + 2] = min(period_ns, WORD_MAX)

    def close(self) -> None:
        """Give the memory and both descriptors back."""
        self._words.release()
        self._map.close()
        os.close(self.memfd)
        os.close(self.event)
