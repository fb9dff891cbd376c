# SPDX-License-Identifier: BSD-2-Clause
"""What this package says to mlccd: which job it is of, and here is a ring.

Documentation/mlccd-protocol.md describes the requests.
"""

import json
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .ring import Ring

SOCKET = "/run/mlcc/mlccd.sock"
REPLY_MAX = 1 << 17
JOB_MAX = 65535

Json = dict[str, Any]


class DaemonError(Exception):
    """mlccd is there, and there is no job to give hints for."""


class Link:
    """A ring that mlccd has taken, for one job; it ends with the connection."""

    def __init__(self, path: str, job: str, timeout_s: float) -> None:
        """job: an id, a name, or empty for the one of this process's cgroup.

        Raises OSError, ValueError or DaemonError, within timeout_s.
        """
        self._deadline = time.monotonic() + timeout_s
        self._peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._peer.settimeout(timeout_s)
            self._peer.connect(path)
            self.job = self._named(job) if job else self._of_cgroup(own_cgroup())
            self.ring = Ring()
        except BaseException:
            self._peer.close()
            raise
        try:
            request = {"op": "open-ring", "job": self.job}
            self._ask(request, [self.ring.memfd, self.ring.event])
            self._peer.setblocking(False)
        except BaseException:
            self.close()
            raise

    def lost(self) -> bool:
        """Whether mlccd has gone, or has ended the connection."""
        try:
            return not self._peer.recv(1)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """End the connection, and so the ring."""
        self._peer.close()
        self.ring.close()

    def _ask(self, request: Json, fds: Sequence[int] = ()) -> Json:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        self._peer.settimeout(left)
        socket.send_fds(self._peer, [json.dumps(request).encode()], list(fds))
        data = self._peer.recv(REPLY_MAX)
        if not data:
            raise ConnectionResetError("the connection was closed")
        reply = json.loads(data)
        if not isinstance(reply, dict) or not reply.get("ok"):
            said = reply.get("error") if isinstance(reply, dict) else repr(data[:80])
            raise DaemonError(f"mlccd: {said}")
        return reply

    def _named(self, job: str) -> int:
        jobs = self._ask({"op": "show", "job": int(job) if job.isdecimal() else job})["jobs"]
        return _id(jobs[0])

    def _of_cgroup(self, own: str) -> int:
        """The job of the innermost cgroup that holds ours."""
        inside = [job for job in self._jobs() if f"{own}/".startswith(f"{job['cgroup']}/")]
        if not inside:
            raise DaemonError(f"no job for the cgroup {own}, or it is another user's")
        return _id(max(inside, key=lambda job: len(job["cgroup"])))

    def _jobs(self) -> Iterator[Json]:
        after = 0
        while True:
            page = self._ask({"op": "show", "after": after})
            yield from (job for job in page["jobs"] if job.get("cgroup"))
            if page.get("after", 0) <= after:
                return
            after = page["after"]


def _id(job: Json) -> int:
    number = job["id"]
    if not isinstance(number, int) or not 1 <= number <= JOB_MAX:
        raise ValueError(f"mlccd names a job {number!r}")
    return number


def own_cgroup() -> str:
    """Below the cgroup2 file system, without the first slash."""
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        if line.startswith("0::"):
            if path := line[3:].strip("/"):
                return path
            raise DaemonError("this process is in the root cgroup, which is no job's: set MLCC_JOB")
    raise DaemonError("this process has no cgroup of version 2: set MLCC_JOB")
