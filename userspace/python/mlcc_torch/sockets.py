# SPDX-License-Identifier: BSD-2-Clause
"""What this process's TCP sockets have sent: the same figure that mlcc counts for a job."""

import contextlib
import os
import socket
import struct

# struct tcp_info of linux/tcp.h: bytes_acked
ACKED_AT = 120
ACKED = struct.Struct("=Q")


def _acked(fd: int) -> int:
    """0 for whatever is no TCP socket."""
    with contextlib.suppress(OSError):
        view = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=fd)
        try:
            info = view.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, ACKED_AT + ACKED.size)
        finally:
            view.detach()
        if len(info) == ACKED_AT + ACKED.size:
            return int(ACKED.unpack_from(info, ACKED_AT)[0])
    return 0


def bytes_acked() -> int:
    """Of all connections that are open now, since each was made."""
    return sum(_acked(int(name)) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208


class Meter:
    """How much was sent from one reading to the next."""

    def __init__(self) -> None:
        self._last: int | None = None

    def since_last(self) -> int:
        """0 the first time, and where more was closed meanwhile than sent."""
        now = bytes_acked()
        before, self._last = self._last, now
        return max(0, now - before) if before is not None else 0
