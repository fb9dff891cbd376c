# SPDX-License-Identifier: GPL-2.0
"""Plays mlccd, for tests of what asks it for jobs, or announces their phases to it."""

import array
import json
import mmap
import socket
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

Json = dict[str, Any]

# include/mlcc/uapi/mlcc_ring.h, written down a second time on purpose
RECORD = struct.Struct("<HHIQQQ32s")
RECORDS_AT = 192
START, END = 1, 2


class Record(NamedTuple):
    """What a producer wrote."""

    version: int
    kind: int
    job: int
    bytes: int
    time_ns: int
    seq: int
    zero: bytes


class Taken:
    """A ring that was handed over, as mlccd would see it."""

    def __init__(self, fds: list[int]) -> None:
        self.fds = fds
        self.map = mmap.mmap(fds[0], 0)

    def number(self, at: int) -> int:
        return int(struct.unpack_from("=Q", self.map, at)[0])

    def records(self) -> list[Record]:
        """All that were written, while there are fewer than slots."""
        at = [RECORDS_AT + RECORD.size * n for n in range(self.number(64))]
        return [Record(*RECORD.unpack_from(self.map, offset)) for offset in at]


class Listener:
    """Knows these jobs, keeps requests and rings, may refuse or say nothing, and can go."""

    def __init__(
        self, jobs: Sequence[str | Json], refusal: str = "", path: Path | None = None
    ) -> None:
        self.jobs = [
            {"id": number, "name": job} if isinstance(job, str) else job
            for number, job in enumerate(jobs, 1)
        ]
        self._folder = TemporaryDirectory(prefix="mlccd-")
        self.path = path or Path(self._folder.name) / "sock"
        self.refusal = refusal
        self.rings: list[Taken] = []
        self.requests: list[Json] = []
        self.mute = False
        self.reply: bytes | None = None  # whatever it is asked
        self.own: int | None = None  # the job whose cgroup the process is in
        self.listen()

    @property
    def asked(self) -> list[Json]:
        """What changes something."""
        return [request for request in self.requests if request["op"] != "show"]

    @property
    def starts(self) -> list[int]:
        """The bytes of each phase that was announced."""
        records = [record for ring in self.rings for record in ring.records()]
        return [record.bytes for record in records if record.kind == START]

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
                data, ancillary, _, _ = peer.recvmsg(1 << 17, socket.CMSG_SPACE(8))
            except OSError:
                return
            if not data:
                return
            request = json.loads(data)
            self.requests.append(request)
            fds = [fd for _, _, content in ancillary for fd in array.array("i", content)]
            if not self.mute:
                told = json.dumps(self._reply(request, fds)).encode()
                peer.send(told if self.reply is None else self.reply)

    def _reply(self, request: Json, fds: list[int]) -> Json:
        if request["op"] == "open-ring":
            self.rings.append(Taken(fds))
            return {"ok": True}
        if request["op"] != "show":
            return {"ok": False, "error": self.refusal} if self.refusal else {"ok": True, "ids": []}
        if "job" not in request and not request.get("self"):
            return {"ok": True, "jobs": self.jobs}
        wanted = self.own if request.get("self") else request["job"]
        found = [job for job in self.jobs if wanted and wanted in (job["id"], job.get("name"))]
        return {"ok": True, "jobs": found} if found else {"ok": False, "error": "no such job"}
