#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Marked connections over loopback, of which one end asks for mlcc: to see which slots jobs get.

Answers each line of its input with "done", or a number:

    open ID...          a connection of each job
    send ID BYTES       over the last one of the job
    close ID...         the last one of each job
    race FIRST COUNT    two of each of COUNT jobs ask at the same time; then all of them close
    spread ID COUNT     a connection of the job in each of COUNT user and network namespaces
    gather              ends these
    having              how many have a job, which the module tells
"""

import ctypes
import fcntl
import mmap
import os
import signal
import socket
import struct
import sys
import time
from collections import defaultdict
from collections.abc import Callable

SO_MARK = 36
TCP_CC_INFO = 26
BBR_INFO_SIZE = 20  # the layout in which flows of a job show themselves
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: nothing waits for the other end
CC = b"mlcc"
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


class Connection:
    """The end that asks, and the other."""

    def __init__(self, job: int) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.end = socket.create_connection(listener.getsockname())
        self.other = listener.accept()[0]
        self.end.setsockopt(socket.SOL_SOCKET, SO_MARK, job)

    def ask(self) -> None:
        """It begins anew, if the tagger has given it mlcc already."""
        self.end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        self.end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CC)

    def send(self, size: int) -> None:
        while size > 0:
            some = min(size, 10000)
            self.end.sendall(bytes(some))
            self.other.recv(some, socket.MSG_WAITALL)
            size -= some

    def has_job(self) -> bool:
        return len(self.end.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)) == BBR_INFO_SIZE

    def close(self) -> None:
        self.end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.end.close()
        self.other.close()


parent = os.getpid()
elsewhere: list[int] = []
jobs: defaultdict[int, list[Connection]] = defaultdict(list)


def open_all(*ids: int) -> None:
    for job in ids:
        jobs[job].append(Connection(job))
        jobs[job][-1].ask()


def close_all(*ids: int) -> None:
    for job in ids:
        jobs[job].pop().close()


def send(job: int, size: int) -> None:
    jobs[job][-1].send(size)


def having() -> int:
    return sum(c.has_job() for connections in jobs.values() for c in connections)


def ask_in_step(connections: list[Connection], steps: mmap.mmap, me: int) -> None:
    """Each waits for the other before each step, on a processor of its own if there are two."""
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processors[me % len(processors)]})
    for n, connection in enumerate(connections, 1):
        ask = connection.end.setsockopt
        steps[me] = n & 0xFF
        while (steps[1 - me] - n) & 0x80:
            pass
        ask(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CC)
    os.sched_setaffinity(0, processors)


def race(first: int, count: int) -> None:
    pairs = [(Connection(job), Connection(job)) for job in range(first, first + count)]
    steps = mmap.mmap(-1, 2)
    child = os.fork()
    if not child:
        ask_in_step([pair[1] for pair in pairs], steps, 1)
        os._exit(0)
    ask_in_step([pair[0] for pair in pairs], steps, 0)
    if os.waitpid(child, 0)[1]:
        sys.exit("the other process has failed")
    for pair in pairs:
        for connection in pair:
            connection.close()


def hold_elsewhere(job: int, said: int) -> None:
    """In namespaces of its own, until nobody asks any more."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    open_all(job)
    send(job, 10000)  # a flow whose start was skipped finds its slot here
    os.write(said, b"x")
    os.close(said)
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(0)


def spread(job: int, count: int) -> None:
    here, there = os.pipe()
    for _ in range(count):
        elsewhere.append(os.fork())
        if not elsewhere[-1]:
            os.close(here)
            try:
                hold_elsewhere(job, there)
            finally:
                os._exit(1)
    os.close(there)
    held = b""
    while some := os.read(here, count):
        held += some
    if len(held) < count:
        sys.exit(f"only {len(held)} of {count}")


def gather() -> None:
    while elsewhere:
        os.kill(elsewhere[-1], signal.SIGKILL)
        os.waitpid(elsewhere.pop(), 0)


def main() -> None:
    """Until the input ends."""
    verbs: dict[str, Callable[..., int | None]] = {
        "open": open_all,
        "send": send,
        "close": close_all,
        "race": race,
        "spread": spread,
        "gather": gather,
        "having": having,
    }
    for line in sys.stdin:
        verb, *numbers = line.split()
        said = verbs[verb](*map(int, numbers))
        print("done" if said is None else said, flush=True)


main()
