# SPDX-License-Identifier: GPL-2.0
"""What the tests share: the package of this tree, and an mlccd that only takes notes."""

import array
import importlib.util
import json
import mmap
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "userspace" / "python"
sys.path.insert(0, str(PACKAGE))

WAIT_S = 60.0
# include/mlcc/uapi/mlcc_ring.h, written down a second time on purpose
RECORD = struct.Struct("<HHIQQQ32s")
RECORDS_AT = 192
START, END = 1, 2


def no_torch() -> str:
    """Why tests with torch are skipped, or nothing."""
    torch = importlib.util.find_spec("torch")
    # this folder would do for a package of that name
    if torch is None or torch.origin is None:
        return "python3-torch is not installed: make demo-train installs it"
    return ""


class Record(NamedTuple):
    """What a producer wrote."""

    version: int
    kind: int
    job: int
    bytes: int
    time_ns: int
    seq: int
    zero: bytes


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for something that has to come; the time is only there so that a failure ends."""
    end = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.01)
    return value


class Taken:
    """A ring that was handed over, as mlccd would see it."""

    def __init__(self, fds: list[int]) -> None:
        self.fds = fds
        self.map = mmap.mmap(fds[0], 0)

    def number(self, at: int) -> int:
        return int(struct.unpack_from("=Q", self.map, at)[0])

    @property
    def head(self) -> tuple[int, ...]:
        return struct.unpack_from("=IIII", self.map, 0)

    @property
    def dropped(self) -> int:
        return self.number(72)

    def take(self) -> None:
        """Say that all records have been read."""
        struct.pack_into("=Q", self.map, 128, self.number(64))

    def records(self) -> list[Record]:
        """All that were written, while there are fewer than slots."""
        at = [RECORDS_AT + RECORD.size * n for n in range(self.number(64))]
        return [Record(*RECORD.unpack_from(self.map, offset)) for offset in at]


class Listener:
    """Plays mlccd on a socket: answers, keeps the rings, and can go away."""

    def __init__(self, jobs: list[dict[str, Any]], path: Path | None = None) -> None:
        self.jobs = jobs
        self._folder = tempfile.TemporaryDirectory(prefix="mlcc-torch-")
        self.path = path or Path(self._folder.name) / "mlccd.sock"
        self.rings: list[Taken] = []
        self.requests: list[dict[str, Any]] = []
        self.mute = False
        self.own: int | None = None  # the job whose cgroup the process is in
        self.listen()

    def listen(self) -> None:
        self._peers: list[socket.socket] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(str(self.path))
        self._socket.listen(16)
        threading.Thread(target=self._accept, args=[self._socket], daemon=True).start()

    def go(self) -> None:
        """As if killed: the socket's file stays, every connection ends."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for peer in self._peers:
            peer.shutdown(socket.SHUT_RDWR)
            peer.close()

    def close(self) -> None:
        self.go()
        self._folder.cleanup()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            self._peers.append(peer)
            threading.Thread(target=self._serve, args=[peer], daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        while True:
            try:
                data, ancillary, _, _ = peer.recvmsg(65536, socket.CMSG_SPACE(8))
            except OSError:
                return
            if not data:
                return
            request = json.loads(data)
            self.requests.append(request)
            fds = [fd for _, _, content in ancillary for fd in array.array("i", content)]
            if not self.mute:
                peer.send(json.dumps(self._reply(request, fds)).encode())

    def _reply(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        if request["op"] == "open-ring":
            self.rings.append(Taken(fds))
            return {"ok": True}
        wanted = self.own if request.get("self") else request["job"]
        found = [job for job in self.jobs if wanted in (job["id"], job["name"])]
        return {"ok": True, "jobs": found} if found else {"ok": False, "error": "no such job"}
