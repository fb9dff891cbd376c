#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Connections that do what they are told, step by step, again and again, for observe.sh.

steps.py [--listen] ADDR:PORT[,ADDR:PORT...] STEP...

sN sends N bytes, rN receives them, wN waits N milliseconds, e waits until all is acknowledged, @N
goes on with another connection.  A server accepts one connection at each address; from port 7000 on
its receive buffer is small.
"""

import fcntl
import itertools
import socket
import struct
import sys
import termios
import time

BUFFER = 20000


def connection(place: str, listen: bool) -> socket.socket:
    host, port = place.rsplit(":", 1)
    sock = socket.socket()
    if not listen:
        sock.connect((host, int(port)))
        return sock
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if int(port) >= 7000:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    sock.bind((host, int(port)))
    sock.listen()
    return sock.accept()[0]


def step(sock: socket.socket, kind: str, count: int) -> None:
    if kind == "s":
        sock.sendall(bytes(count))
    elif kind == "w":
        time.sleep(count / 1000)
    elif kind == "r" and len(sock.recv(count, socket.MSG_WAITALL)) < count:
        sys.exit()
    while kind == "e" and struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]:
        time.sleep(0.001)


def main() -> None:
    listen = sys.argv[1] == "--listen"
    places, *steps = sys.argv[1 + listen :]
    socks = [connection(place, listen) for place in places.split(",")]
    sock = socks[0]
    for word in itertools.cycle(steps):
        if word[0] == "@":
            sock = socks[int(word[1:])]
        else:
            step(sock, word[0], int(word[1:] or 0))


if __name__ == "__main__":
    main()
