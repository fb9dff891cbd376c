# SPDX-License-Identifier: GPL-2.0
"""How the lab shares out the machine: which CPU does what, one lab at a time.

One CPU carries all packets between the namespaces (see topology.py), the
others run the hosts' processes. A sender that ran on the packets' CPU would
have the whole network run inside its own system call: acknowledgements arrive
before the call returns, make room for more data, and it never ends.
"""

import fcntl
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

LOCK = Path("/run/mlcc-lab.lock")
BACKLOG = Path("/proc/sys/net/core/netdev_max_backlog")
BACKLOG_PACKETS = 20_000
TIMER_TRIES = 101


def network_cpu() -> int:
    """The CPU that carries the packets: the last one that we may use."""
    return max(os.sched_getaffinity(0))


def _host_cpus() -> set[int]:
    """The CPUs of the hosts' processes: all others, if there are any."""
    return os.sched_getaffinity(0) - {network_cpu()} or {network_cpu()}


def network_cpu_mask() -> str:
    """The packets' CPU as sysfs wants it: hex words of 32 bits, the highest first."""
    word, bit = divmod(network_cpu(), 32)
    return f"{1 << bit:x}" + ",00000000" * word


def on_host_cpus() -> list[str]:
    """Command prefix for the hosts' processes: in time, and out of the packets' way."""
    return _on(_host_cpus())


def on_network_cpu() -> list[str]:
    """The same for a process whose packets that CPU takes in, and no one else's."""
    return _on({network_cpu()})


def _on(cpus: set[int]) -> list[str]:
    return ["chrt", "-r", "1", "taskset", "-c", ",".join(map(str, sorted(cpus)))]


def softnet_drops() -> int:
    """Packets lost in the kernel's backlog: losses that no queue of ours made."""
    lines = Path("/proc/net/softnet_stat").read_text().splitlines()
    return sum(int(line.split()[1], 16) for line in lines)


def stolen_s() -> float:
    """Seconds that a hypervisor gave to others while we wanted to run; all CPUs, since boot."""
    words = Path("/proc/stat").read_text().split(None, 9)
    return int(words[8]) / os.sysconf("SC_CLK_TCK")


def timer_lateness_s(wait_s: float) -> float:
    """By how much a timer of that length is late on the packets' CPU, undisturbed."""
    late: list[float] = []

    def wait() -> None:
        # of this thread alone
        os.sched_setaffinity(0, {network_cpu()})
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        for _ in range(TIMER_TRIES):
            began = time.perf_counter()
            time.sleep(wait_s)
            late.append(time.perf_counter() - began - wait_s)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    return max(0.0, sorted(late)[len(late) // 10]) if late else 0.0


def _lock_file() -> IO[str]:
    """Root's alone, whoever made it: who may open it may keep all labs waiting."""
    fd = os.open(LOCK, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    os.fchown(fd, 0, 0)
    os.fchmod(fd, 0o600)
    return os.fdopen(fd, "w")


@contextmanager
def reserved() -> Iterator[None]:
    """One lab at a time; waits for its turn.

    The carrier is one for the whole kernel, and two labs on the same CPUs
    would measure each other.
    """
    with _lock_file() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("mlcc-lab: another lab is running here: waiting for my turn", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        with _long_backlog(), _urgent_packets():
            yield


def _softirq_thread() -> int | None:
    """The thread of the packets' CPU that carries those that interrupts leave."""
    name = f"ksoftirqd/{network_cpu()}"
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text().strip() == name:
                return int(comm.parent.name)
        except OSError:  # has ended meanwhile
            continue
    return None


@contextmanager
def _urgent_packets() -> Iterator[None]:
    """Packets do not wait for another load: the hosts' processes do not, either."""
    thread = _softirq_thread()
    if thread is None:  # a container may not see it
        yield
        return
    before = os.sched_getscheduler(thread), os.sched_getparam(thread)
    os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(thread, *before)


@contextmanager
def _long_backlog() -> Iterator[None]:
    """All veth links share one backlog per CPU; it must never be the queue that drops.

    The setting exists once per machine, so it is put back.
    """
    before = int(BACKLOG.read_text())
    if before >= BACKLOG_PACKETS:
        yield
        return
    BACKLOG.write_text(f"{BACKLOG_PACKETS}\n")
    try:
        yield
    finally:
        BACKLOG.write_text(f"{before}\n")
