# SPDX-License-Identifier: BSD-2-Clause
"""What this package says to mlccd: which job it is of, and here is a ring."""

from mlcc_client import Client, Json

from .ring import Ring

JOB_MAX = 65535


class Link:
    """A ring that mlccd has taken, for one job; it ends with the connection."""

    def __init__(self, path: str, job: str, timeout_s: float) -> None:
        """job: an id, a name, or empty for the one of this process's cgroup.

        Raises OSError, ValueError or RefusedError, within timeout_s.
        """
        self._client = Client(path, timeout_s, timeout_s)
        try:
            self.job = self._find(job)
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

    def _find(self, job: str) -> int:
        named = {"job": int(job) if job.isdecimal() else job} if job else {"self": True}
        return _id(self._client.ask({"op": "show", **named})["jobs"][0])


def _id(job: Json) -> int:
    number = job["id"]
    if not isinstance(number, int) or not 1 <= number <= JOB_MAX:
        raise ValueError(f"mlccd names a job {number!r}")
    return number
