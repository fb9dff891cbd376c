#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes each system call of `mlcc-ctl run` fail in turn: each_call.py MLCC-CTL [OPTION...].

The command has to run all the same, its status has to come back, and nothing may outlive it. Calls
are counted for each process: the one that becomes the command, the one that it forks, the keeper. A
filter of system calls shows each one to us before it is made, and ends with its last process.
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NUMBERS = {  # seccomp, pidfd_getfd, execve, exit_group, futex, brk
    "x86_64": (317, 438, 59, 231, 202, 12),
    "aarch64": (277, 438, 221, 94, 98, 214),
}
SECCOMP, PIDFD_GETFD, EXECVE, EXIT_GROUP, FUTEX, BRK = NUMBERS.get(platform.machine(), [0] * 6)
# the command's own, what cannot fail (of brk all is an address), what the C library dies of
LEFT_OUT = (EXECVE, EXIT_GROUP, FUTEX, BRK)
SET_FILTER, NEW_LISTENER, NO_NEW_PRIVS = 1, 8, 38
ASK_EACH = struct.pack("HBBI", 6, 0, 0, 0x7FC00000)
RECEIVE, SEND, GOES_ON = 0xC0502100, 0xC0182101, 1
ERRORS = (errno.EIO, errno.EMFILE, errno.EPERM)  # a call each, in turns
LIMIT_S = 40
STATUS = 7
MOST_WRONG = 5  # each may take as long as we wait
libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Failing:
    """The call with this index of the process that came as the Nth."""

    process: int = -1
    index: int = -1
    error: int = 0


@dataclass
class Ran:
    pid: int
    status: int
    ended: bool
    calls: list[list[int]]


def become(command: Sequence[str]) -> None:
    nothing = os.open("/dev/null", os.O_RDWR)
    # it has something of its starter's that is always ready
    for fd in (0, 1, 2, 3):
        os.dup2(nothing, fd, inheritable=True)
    code = ctypes.create_string_buffer(ASK_EACH)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(code)))
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.syscall(SECCOMP, SET_FILTER, NEW_LISTENER, program) < 0:
        os._exit(ctypes.get_errno())
    os.execv(command[0], command)


def listener_of(pid: int) -> int:
    """The filter's; without one the process has ended."""
    pidfd = os.pidfd_open(pid)
    try:
        while not os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            for link in Path(f"/proc/{pid}/fd").iterdir():
                if "seccomp" in str(link.readlink()):
                    return int(libc.syscall(PIDFD_GETFD, pidfd, int(link.name), 0))
    except OSError:
        pass
    finally:
        os.close(pidfd)
    return -1


def serve(listener: int, failing: Failing) -> tuple[bool, dict[int, list[int]]]:
    """Until all have ended, but not for ever."""
    calls: dict[int, list[int]] = {}
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    until = time.monotonic() + LIMIT_S
    while (left := until - time.monotonic()) > 0:
        events = poll.poll(left * 1000)
        if events and events[0][1] & select.POLLHUP:
            return True, calls
        call = bytearray(80)
        try:
            fcntl.ioctl(listener, RECEIVE, call)
            number, pid, _, name = struct.unpack_from("QIIi", call)
            own = calls.setdefault(pid, [])
            at = Failing(list(calls).index(pid), len(own), failing.error)
            own.append(name)
            # the second execve is ours: what follows is the command, and does not fail
            fails = at == failing and own.count(EXECVE) < 2
            answer = (-failing.error, 0) if fails else (0, GOES_ON)
            fcntl.ioctl(listener, SEND, bytearray(struct.pack("QqiI", number, 0, *answer)))
        except OSError:
            continue  # who has asked was killed
    return False, calls


def run(command: Sequence[str], failing: Failing) -> Ran:
    pid = os.fork()
    if pid == 0:
        become(command)
    listener = listener_of(pid)
    if listener < 0:
        os.kill(pid, signal.SIGKILL)
        sys.exit(f"no filter: this process may not have one (ended with {os.waitpid(pid, 0)[1]})")
    ended, calls = serve(listener, failing)
    for process in [] if ended else calls:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    os.close(listener)
    return Ran(pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), ended, [*calls.values()])


def main(words: Sequence[str]) -> int:
    if not SECCOMP:
        sys.exit("no filter: not on this machine")
    plain = [*words, "run", "--", "/bin/sh", "-c", f"exit {STATUS}"]
    leaves = [*plain[:-1], f"sleep 1000 & exit {STATUS}"]
    loader = run([*words, "--version"], Failing()).calls[0]
    base = run(plain, Failing())
    assert base.status == STATUS and base.ended and len(base.calls) == 3, base
    own = base.calls[0]
    # what the loader does is before us, what follows the last execve is the command's
    begin = len(os.path.commonprefix([loader, own]))
    end = len(own) - own[::-1].index(EXECVE) - 1
    cases = [
        (plain if process < 2 else leaves, Failing(process, index, ERRORS[index % len(ERRORS)]))
        for process, calls in enumerate(base.calls)
        for index in (range(begin, end) if process == 0 else range(len(calls)))
        if calls[index] not in LEFT_OUT
    ]
    wrong = 0
    folders = set()
    for command, failing in cases:
        ran = run(command, failing)
        folders.add(f"mlcc-run-{ran.pid}")
        if ran.status != STATUS or not ran.ended:
            name = base.calls[failing.process][failing.index]
            print(f"{failing}, call {name}: status {ran.status}, all ended: {ran.ended}")
            wrong += 1
        if wrong == MOST_WRONG:
            break
    # not os.walk(): others' groups may be deeper than it can go
    find = ["find", "/sys/fs/cgroup", "-name", "mlcc-run-*"]
    there = subprocess.run(find, stdout=subprocess.PIPE, text=True, check=False).stdout
    left = [path for path in there.splitlines() if Path(path).name in folders]
    print(f"{len(cases)} failures, {wrong} wrong, left: {left}")
    return 1 if wrong or left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
