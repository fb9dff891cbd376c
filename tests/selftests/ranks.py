# SPDX-License-Identifier: GPL-2.0
"""Ranks of a job that trains: compute, then send, wait for all others; with phases announced.

ranks.py sink PORT RANKS BYTES      what they send to
ranks.py rank HOST PORT BYTES SECONDS DONE
                                    one of them; SECONDS of computing; until DONE exists
ranks.py container FOLDER COMMAND...   in a container of the user who calls, root inside

A rank says what it is and when its phase began, in microseconds, as a line of JSON for each.
"""

import json
import os
import socket
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


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


def rank(host: str, port: int, size: int, seconds: float, done: Path) -> None:
    sys.path.insert(0, str(REPO / "userspace" / "python"))
    import mlcc_torch
    from mlcc_torch.step import default

    peer = socket.create_connection((host, port))
    while not done.exists():
        time.sleep(seconds)
        start_us = time.monotonic_ns() / 1000
        with mlcc_torch.phase():
            peer.sendall(bytes(size))
            if not receive(peer, 1):
                return
        linked = default().hints.linked
        said = {"uid": os.getuid(), "linked": linked, "start_us": start_us}
        print(json.dumps(said), flush=True)


def container(folder: Path, command: list[str]) -> None:
    """Namespaces and a root file system of its own, of what is installed here; crun runs it."""
    for name in ("dev", "proc"):
        (folder / "rootfs" / name).mkdir(parents=True)
    shared = [d for d in ("/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr") if Path(d).exists()]
    shared += [str(folder.parents[1])]  # this file is there, too
    mounts = [{"destination": d, "source": d, "type": "none", "options": ["rbind"]} for d in shared]
    mounts += [{"destination": "/proc", "source": "proc", "type": "proc", "options": []}]
    mounts += [{"destination": "/dev", "source": "tmpfs", "type": "tmpfs", "options": ["nosuid"]}]
    user, group = (
        {"containerID": 0, "hostID": own, "size": 1} for own in (os.getuid(), os.getgid())
    )
    config = {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": command,
            "env": [f"{name}={value}" for name, value in os.environ.items()],
            "cwd": "/",
            "noNewPrivileges": True,
        },
        "root": {"path": "rootfs"},
        "mounts": mounts,
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "user")],
            "uidMappings": [user],
            "gidMappings": [group],
        },
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    words = ["crun", "--root", str(folder / "state"), "--cgroup-manager=disabled"]
    os.execvp("crun", [*words, "run", "--bundle", str(folder), folder.name])


def main() -> None:
    role, first, *words = sys.argv[1:]
    if role == "sink":
        sink(int(first), int(words[0]), int(words[1]))
    elif role == "container":
        container(Path(first), words)
    else:
        port, size, seconds, done = words
        rank(first, int(port), int(size), float(seconds), Path(done))


if __name__ == "__main__":
    main()
