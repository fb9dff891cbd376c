# SPDX-License-Identifier: BSD-2-Clause
"""A connection to mlccd: Documentation/mlccd-protocol.md describes the requests.

What comes back is whatever listens on that path has sent: JSON in an object that says "ok", and
nothing more is checked here.
"""

import json
import math
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SOCKET = "/run/mlcc/mlccd.sock"
REPLY_MAX = 1 << 17
LINE_MAX = 400

Json = dict[str, Any]


class RefusedError(Exception):
    """mlccd has answered that it will not, or with what is no answer; the text says which."""


class Client:
    """Requests that are answered one by one; may be used as a context."""

    def __init__(
        self, path: str | Path = SOCKET, timeout_s: float = 5.0, total_s: float = math.inf
    ) -> None:
        """timeout_s: for each request; total_s: for all. An OSError says why it is not there."""
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + total_s
        self.peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.peer.settimeout(self._left())
            self.peer.connect(str(path))
        except BaseException:
            self.peer.close()
            raise

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection, and the ring that came over it."""
        self.peer.close()

    def ask(self, request: Json, fds: Sequence[int] = ()) -> Json:
        """The reply; an OSError if there is none in time, RefusedError if it is not ok."""
        self.peer.settimeout(self._left())
        socket.send_fds(self.peer, [json.dumps(request).encode()], list(fds))
        return _reply(self.peer.recv(REPLY_MAX))

    def jobs(self) -> Iterator[Json]:
        """All that we may see, page by page."""
        after = 0
        while True:
            page = self.ask({"op": "show", "after": after})
            yield from page.get("jobs", [])
            if page.get("after", 0) <= after:
                return
            after = page["after"]

    def _left(self) -> float:
        left = min(self._timeout_s, self._deadline - time.monotonic())
        if left <= 0:
            raise TimeoutError("no answer in time")
        return left


def _reply(data: bytes) -> Json:
    if not data:
        raise ConnectionResetError("closed the connection")
    try:
        reply = json.loads(data)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict) or reply.get("ok") is not True:
        said = reply.get("error") if isinstance(reply, dict) else None
        # it goes to terminals and logs
        line = ascii(said)[1:-1][:LINE_MAX] if isinstance(said, str) else "no reply of mlccd's"
        raise RefusedError(f"mlccd: {line}")
    return reply
