# SPDX-License-Identifier: GPL-2.0
"""Ranks of a job that trains: compute, then send, wait for all others; with phases announced.

ranks.py sink PORT RANKS BYTES      what they send to
ranks.py rank PORT BYTES DONE       one of them, until DONE exists

A rank says what it is and when its phase began, in microseconds, as a line of JSON for each.
"""

import json
import os
import socket
import sys
import time
from pathlib import Path

COMPUTE_S = 0.2


def receive(peer: socket.socket, size: int) -> bool:
    while size:
        got = len(peer.recv(min(size, 1 << 20)))
        if not got:
            return False
        size -= got
    return True


def sink(port: int, ranks: int, size: int) -> None:
    """A collective: nobody goes on before all have sent."""
    listener = socket.create_server(("", port))
    peers = [listener.accept()[0] for _ in range(ranks)]
    while all(receive(peer, size) for peer in peers):
        for peer in peers:
            peer.sendall(b".")


def rank(port: int, size: int, done: Path) -> None:
    import mlcc_torch
    from mlcc_torch.step import default

    peer = socket.create_connection(("127.0.0.1", port))
    while not done.exists():
        time.sleep(COMPUTE_S)
        start_us = time.monotonic_ns() / 1000
        with mlcc_torch.phase():
            peer.sendall(bytes(size))
            if not receive(peer, 1):
                return
        linked = default().hints.linked
        said = {"uid": os.getuid(), "linked": linked, "start_us": start_us}
        print(json.dumps(said), flush=True)


def main() -> None:
    role, port, *words = sys.argv[1:]
    if role == "sink":
        sink(int(port), int(words[0]), int(words[1]))
    else:
        rank(int(port), int(words[0]), Path(words[1]))


if __name__ == "__main__":
    main()
