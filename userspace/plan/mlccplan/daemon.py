# SPDX-License-Identifier: BSD-2-Clause
"""What mlcc-plan asks of mlccd: Documentation/mlccd-protocol.md."""

import json
import socket
from typing import Any

from . import reader
from .errors import DaemonError, PlanError

SOCKET = "/run/mlcc/mlccd.sock"
REPLY_MAX = 1 << 17
TIMEOUT_S = 5.0
LINE_MAX = 400

Json = dict[str, Any]


class Daemon:
    """A connection, for requests that are answered one by one."""

    def __init__(self, path: str = SOCKET) -> None:
        self._path = path
        self._peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._peer.settimeout(TIMEOUT_S)
        try:
            self._peer.connect(path)
        except OSError as error:
            self._peer.close()
            raise DaemonError(f"mlccd at {path}: {error.strerror or error}") from None

    def close(self) -> None:
        """End the connection."""
        self._peer.close()

    def ask(self, request: Json) -> Json:
        """One request; raises PlanError with what mlccd says if it refuses."""
        try:
            self._peer.send(json.dumps(request).encode())
            data = self._peer.recv(REPLY_MAX)
        except OSError as error:
            raise DaemonError(f"mlccd at {self._path}: {error.strerror or error}") from None
        if not data:
            raise DaemonError(f"mlccd at {self._path}: closed the connection")
        reply = reader.parse("mlccd", data)
        if not isinstance(reply, dict) or reply.get("ok") is not True:
            said = reply.get("error") if isinstance(reply, dict) else None
            line = ascii(said)[1:-1][:LINE_MAX] if isinstance(said, str) else "no reply of mlccd's"
            raise PlanError(f"mlccd: {line}")
        return reply

    def jobs(self) -> list[Json]:
        """All that we may see."""
        jobs: list[Json] = []
        after = 0
        while True:
            page = self.ask({"op": "show", "after": after})
            jobs += page.get("jobs", [])
            if page.get("after", 0) <= after:
                return jobs
            after = page["after"]
