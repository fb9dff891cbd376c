# SPDX-License-Identifier: BSD-2-Clause
"""What this package says to mlccd: which job it is of, and here is a ring."""

from pathlib import Path

from mlcc_client import Client, Json

from .ring import Ring

JOB_MAX = 65535


class NoJobError(Exception):
    """mlccd is there, and there is no job to give hints for."""


class Link:
    """A ring that mlccd has taken, for one job; it ends with the connection."""

    def __init__(self, path: str, job: str, timeout_s: float) -> None:
        """job: an id, a name, or empty for the one of this process's cgroup.

        Raises OSError, ValueError, RefusedError or NoJobError, within timeout_s.
        """
        self._client = Client(path, timeout_s, timeout_s)
        try:
            self.job = self._named(job) if job else self._of_cgroup(own_cgroup())
            self.ring = Ring()
        except BaseException:
            self._client.close()
            raise
        try:
            request = {"op": "open-ring", "job": self.job}
            self._client.ask(request, [self.ring.memfd, self.ring.event])
            self._client.peer.setblocking(False)
        except BaseException:
            self.close()
            raise

    def lost(self) -> bool:
        """Whether mlccd has gone, or has ended the connection."""
        try:
            return not self._client.peer.recv(1)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """End the connection, and so the ring."""
        self._client.close()
        self.ring.close()

    def _named(self, job: str) -> int:
        jobs = self._client.ask({"op": "show", "job": int(job) if job.isdecimal() else job})["jobs"]
        return _id(jobs[0])

    def _of_cgroup(self, own: str) -> int:
        """The job of the innermost cgroup that holds ours."""
        jobs = [job for job in self._client.jobs() if job.get("cgroup")]
        inside = [job for job in jobs if f"{own}/".startswith(f"{job['cgroup']}/")]
        if not inside:
            raise NoJobError(f"no job for the cgroup {own}, or it is another user's")
        return _id(max(inside, key=lambda job: len(job["cgroup"])))


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
            raise NoJobError("this process is in the root cgroup, which is no job's: set MLCC_JOB")
    raise NoJobError("this process has no cgroup of version 2: set MLCC_JOB")
