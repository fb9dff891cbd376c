# SPDX-License-Identifier: BSD-2-Clause
"""What this process has sent over TCP: the same figure that mlcc counts for a job, in the end.

What waits in a socket counts already: a phase is over when its bytes have been handed over, and the
last acknowledgements are still on their way.
"""

import contextlib
import os
import socket
import struct

# struct tcp_info of linux/tcp.h: notsent_bytes; bytes_sent and bytes_retrans
WAITING, WAITING_AT = struct.Struct("=I"), 144
SENT, SENT_AT = struct.Struct("=QQ"), 200


def _sent(fd: int) -> int:
    """0 for whatever is no TCP socket."""
    size = SENT_AT + SENT.size
    with contextlib.suppress(OSError):
        view = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=fd)
        try:
            info = view.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
        finally:
            view.detach()
        if len(info) == size:
            sent, again = SENT.unpack_from(info, SENT_AT)
            return int(sent - again + WAITING.unpack_from(info, WAITING_AT)[0])
    return 0


def bytes_sent() -> int:
    """Over all connections that are open now, since each was made."""
    return sum(_sent(int(name)) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208


class Meter:
    """How much was sent from one reading to the next."""

    def __init__(self) -> None:
        self._last: int | None = None

    def since_last(self) -> int:
        """0 the first time, and where more was closed meanwhile than sent."""
        now = bytes_sent()
        before, self._last = self._last, now
        return max(0, now - before) if before is not None else 0
