#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Connections over loopback, to look at from the outside, or to see which slots jobs get.

Answers each line of its input with one line: "done", a number, or what is shown.

marked.py           of many jobs, by their marks; one end asks for mlcc
    open ID...          a connection of each job
    send ID BYTES       over the last one of the job: the other end has read them
    close ID...         the last one of each job
    race FIRST COUNT    two of each of COUNT jobs ask at the same time; then all of them close
    spread ID COUNT     a connection of the job in each of COUNT user and network namespaces
    gather              ends these
    having              how many have a job, which the module tells

marked.py ADDRESS CC MARK TOS       of one, both of whose ends ask for what is not 0, is job 0
    send BYTES
    show                CC MARK TOS of the end that connected, then of the other
    mark MARK           of the one that connected
"""

import ctypes
import fcntl
import mmap
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable

SO_MARK = 36
TCP_CC_INFO = 26
BBR_INFO_SIZE = 20  # the layout in which flows of a job show themselves
TCP_CC_LEN = 16
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: nothing waits for the other end
CC = b"mlcc"
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


class Connection:
    """The end that asks, and the other."""

    def __init__(self, address: str, cc: bytes = b"", mark: int = 0, tos: int = 0) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.end, listener = socket.socket(family), socket.socket(family)
        for end in (self.end, listener):
            for level, option, value in (
                (socket.SOL_SOCKET, SO_MARK, mark),
                (socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc),
                (socket.IPPROTO_IP, socket.IP_TOS, tos),
            ):
                if value:
                    end.setsockopt(level, option, value)
        listener.bind((address, 0))
        listener.listen()
        self.end.connect(listener.getsockname())
        self.other = listener.accept()[0]

    def mark(self, mark: int) -> None:
        self.end.setsockopt(socket.SOL_SOCKET, SO_MARK, mark)

    def shown(self) -> str:
        """What the tagger may change."""
        said = []
        for end in (self.end, self.other):
            cc = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, TCP_CC_LEN)
            mark = end.getsockopt(socket.SOL_SOCKET, SO_MARK)
            tos = end.getsockopt(socket.IPPROTO_IP, socket.IP_TOS)
            said.append(f"{cc.rstrip(bytes(1)).decode()} {mark:#x} {tos:#x}")
        return " ".join(said)

    def ask(self) -> None:
        """It begins anew, if the tagger has given it mlcc already."""
        self.end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        self.end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, CC)

    def send(self, size: int) -> None:
        thread = threading.Thread(target=self.end.sendall, args=(bytes(size),))
        thread.start()
        while size > 0:
            size -= len(self.other.recv(min(size, 1 << 16)))
        thread.join()

    def has_job(self) -> bool:
        return len(self.end.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)) == BBR_INFO_SIZE

    def close(self) -> None:
        self.end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.end.close()
        self.other.close()


parent = os.getpid()
elsewhere: list[int] = []
jobs: defaultdict[int, list[Connection]] = defaultdict(list)


def marked(job: int) -> Connection:
    connection = Connection("127.0.0.1")
    connection.mark(job)
    return connection


def open_all(*ids: int) -> None:
    for job in ids:
        jobs[job].append(marked(job))
        jobs[job][-1].ask()


def close_all(*ids: int) -> None:
    for job in ids:
        jobs[job].pop().close()


def send(*numbers: int) -> None:
    """Without a job over the one that there is."""
    jobs[numbers[-2] if numbers[1:] else 0][-1].send(numbers[-1])


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
    pairs = [(marked(job), marked(job)) for job in range(first, first + count)]
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
    verbs: dict[str, Callable[..., int | str | None]] = {
        "open": open_all,
        "send": send,
        "close": close_all,
        "race": race,
        "spread": spread,
        "gather": gather,
        "having": having,
        "show": lambda: jobs[0][0].shown(),
        "mark": lambda mark: jobs[0][0].mark(mark),
    }
    if sys.argv[1:]:
        address, cc, mark, tos = sys.argv[1:]
        jobs[0].append(Connection(address, cc.encode(), int(mark, 0), int(tos, 0)))
    for line in sys.stdin:
        verb, *numbers = line.split()
        said = verbs[verb](*map(int, numbers))
        print("done" if said is None else said, flush=True)


main()
