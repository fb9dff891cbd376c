# SPDX-License-Identifier: GPL-2.0
"""Jobs for the carrier that is only memory: what tests/fake/fake.c maps begins with them."""

import ctypes
import mmap
from pathlib import Path

NAME, JOBS = 64, 65536


class JobConf(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_uint32),
        ("name", ctypes.c_char * NAME),
        ("profile", ctypes.c_char * NAME),
        ("phase_bytes", ctypes.c_uint64),
        ("job_class", ctypes.c_char * 16),
    ]


class Job(ctypes.Structure):
    _fields_ = [
        ("conf", JobConf),
        ("flows", ctypes.c_uint32),
        ("phases", ctypes.c_uint32),
        ("d_sent", ctypes.c_uint64),
        ("d_phase", ctypes.c_uint64),
        ("d_learnt", ctypes.c_uint64),
        ("hits", ctypes.c_uint32),
        ("neutral", ctypes.c_bool),
        ("progress", ctypes.c_uint32),
        ("gain", ctypes.c_uint32),
        ("iteration_us", ctypes.c_uint32),
        ("comm_us", ctypes.c_uint32),
        ("best_us", ctypes.c_uint32),
        ("bytes", ctypes.c_uint64),
        ("retrans", ctypes.c_uint64),
        ("ce", ctypes.c_uint64),
        ("hinted", ctypes.c_bool),
        ("timeouts", ctypes.c_uint32),
    ]


class Heard(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_uint32),
        ("progress", ctypes.c_uint32),
        ("best_us", ctypes.c_uint32),
        ("gap_us", ctypes.c_uint32),
        ("age_us", ctypes.c_uint32),
    ]


class Carrier:
    """The memory, of an mlccd that runs, too, and what a test does in it."""

    D_PHASE = 1_000_000

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("a+b") as file:
            file.truncate(max(file.tell(), (ctypes.sizeof(Job) + ctypes.sizeof(Heard)) * JOBS))
            self.map = mmap.mmap(file.fileno(), 0)
        self.jobs = (Job * JOBS).from_buffer(self.map)
        self.heard = (Heard * JOBS).from_buffer(self.map, ctypes.sizeof(Job) * JOBS)

    def add(self, number: int, name: str = "") -> None:
        job = self.jobs[number]
        job.conf.name = name.encode()
        job.conf.job_class = b"training"
        job.d_phase = self.D_PHASE
        job.flows = 1
        job.conf.id = number

    def remove(self, number: int) -> None:
        self.jobs[number].conf.id = 0

    def send(self, number: int, progress: float, nudge: int = 0) -> None:
        """The job has sent that much of its phase; nudge makes two calls differ."""
        job = self.jobs[number]
        job.neutral = False
        job.progress = int(65536 * progress)
        job.d_sent = int(self.D_PHASE * progress) + nudge

    def neutral(self, number: int) -> None:
        self.jobs[number].neutral = True
