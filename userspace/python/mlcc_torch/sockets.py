# SPDX-License-Identifier: BSD-2-Clause
"""What this process has sent over TCP: the same figure that mlcc counts for a job, in the end.

What waits in a socket counts already: a phase is over when its bytes have been handed over, and the
last acknowledgements are still on their way.

A job's link is that between hosts. Of a process that is connected with other hosts only what goes
there counts: of the ranks of a host that make a ring, one sends all that leaves it. A process that
is connected within its host only has nothing else to tell.
"""

import contextlib
import functools
import ipaddress
import os
import socket
import struct

# struct tcp_info of linux/tcp.h: notsent_bytes; bytes_sent and bytes_retrans
WAITING, WAITING_AT = struct.Struct("=I"), 144
SENT, SENT_AT = struct.Struct("=QQ"), 200
FDS = "/proc/self/fd"


@functools.lru_cache(maxsize=1024)
def _is_own(address: str) -> bool:
    """Whether it is one of this host: the kernel then answers from the same one.  Sends nothing.

    But of 127.0.1.1, as Debian calls a host, it answers from 127.0.0.1.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))
        own = str(probe.getsockname()[0])
        return own == address or ipaddress.ip_address(own).is_loopback
    return False


def _stays(fd: int) -> bool:
    """Whether what a connection carries stays on this host."""
    view = socket.socket(fileno=fd)  # of the family that it is of, IPv6 too
    try:
        own, peer = view.getsockname()[0], view.getpeername()[0]
    finally:
        view.detach()
    return own == peer or _is_own(peer.removeprefix("::ffff:"))


def _sent(fd: int, known: dict[str, bool], inode: str) -> int | None:
    """Bytes; None: no TCP connection. known: of which it is known whether they stay here."""
    size = SENT_AT + SENT.size
    view = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=fd)
    try:
        info = view.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
        if inode not in known:
            known[inode] = _stays(fd)
    finally:
        view.detach()
    if len(info) < size:
        return None
    sent, again = SENT.unpack_from(info, SENT_AT)
    return int(sent - again + WAITING.unpack_from(info, WAITING_AT)[0])


class Sockets:
    """The TCP connections of this process."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def bytes_sent(self) -> tuple[int, int, bool]:
        """Over all that are open now, since each was made: to other hosts, and within this one.

        And whether there is one to another host.
        """
        away = here = 0
        known, self._known = self._known, {}
        for name in os.listdir(FDS):  # noqa: PTH208
            with contextlib.suppress(OSError):
                inode = os.readlink(f"{FDS}/{name}")  # noqa: PTH115  (a fifth of the time)
                sent = _sent(int(name), known, inode) if inode.startswith("socket:") else None
                if sent is None:
                    continue
                self._known[inode] = known[inode]
                away += 0 if known[inode] else sent
                here += sent if known[inode] else 0
        return away, here, not all(self._known.values())


class Meter:
    """How much was sent from one reading to the next."""

    def __init__(self) -> None:
        self._sockets = Sockets()
        self._last: tuple[int, int, bool] | None = None

    def since_last(self) -> int:
        """0 the first time, and where more was closed meanwhile than sent.

        1 for a process that takes part in what leaves its host through another one.
        """
        now = self._sockets.bytes_sent()
        before, self._last = self._last or now, now
        away, here = max(0, now[0] - before[0]), max(0, now[1] - before[1])
        if not now[2]:
            return here
        return away or int(here > 0)
