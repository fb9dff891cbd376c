#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Two ends of a TCP connection over loopback, to look at from the outside.

Answers each line of its input with one line:

    show            CC MARK TOS of the end that connected, then of the other
    send BYTES      the one that connected sends them, and the other has read them
    mark MARK       of the one that connected
"""

import argparse
import socket
import sys
import threading

TCP_CC_LEN = 16
SO_MARK = 36


def number(text: str) -> int:
    """With a prefix, too."""
    return int(text, 0)


def connect(options: argparse.Namespace) -> tuple[socket.socket, socket.socket]:
    """Both get what was asked for: the one that accepts from the socket that listens."""
    family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    ends = [socket.socket(family), socket.socket(family)]
    for end in ends:
        if options.mark:
            end.setsockopt(socket.SOL_SOCKET, SO_MARK, options.mark)
        if options.cc:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.cc.encode())
        if options.tos:
            end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, options.tos)
    client, listener = ends
    listener.bind((options.address, 0))
    listener.listen()
    client.connect(listener.getsockname())
    return client, listener.accept()[0]


def shown(end: socket.socket) -> str:
    """What the tagger may change."""
    cc = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, TCP_CC_LEN)
    mark = end.getsockopt(socket.SOL_SOCKET, SO_MARK)
    tos = end.getsockopt(socket.IPPROTO_IP, socket.IP_TOS)
    return f"{cc.rstrip(bytes(1)).decode()} {mark:#x} {tos:#x}"


def send(client: socket.socket, server: socket.socket, size: int) -> None:
    """Returns when all has been read."""
    thread = threading.Thread(target=client.sendall, args=(bytes(size),))
    thread.start()
    while size > 0:
        size -= len(server.recv(min(size, 1 << 16)))
    thread.join()


def main() -> None:
    """Until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc")
    parser.add_argument("--address", default="127.0.0.1", help="of both ends")
    parser.add_argument("--mark", type=number, default=0)
    parser.add_argument("--tos", type=number, default=0)
    client, server = connect(parser.parse_args())
    for line in sys.stdin:
        words = line.split()
        if words[0] == "send":
            send(client, server, int(words[1]))
            print("sent", flush=True)
        elif words[0] == "mark":
            client.setsockopt(socket.SOL_SOCKET, SO_MARK, number(words[1]))
            print("marked", flush=True)
        else:
            print(shown(client), shown(server), flush=True)


main()
