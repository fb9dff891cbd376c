# SPDX-License-Identifier: GPL-2.0
"""What answers as mlccd does, for tests of what asks it for jobs."""

import json
import socket
import threading
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

Json = dict[str, Any]


class Listener:
    """An mlccd that has these jobs, writes down what it is asked for, and may refuse it."""

    def __init__(self, names: Sequence[str], refusal: str = "") -> None:
        self.jobs: list[Json] = [
            {"id": number, "name": name} for number, name in enumerate(names, 1)
        ]
        self.refusal = refusal
        self.asked: list[Json] = []
        self._folder = TemporaryDirectory(prefix="mlccd-")
        self.path = f"{self._folder.name}/sock"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(self.path)
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            with peer:
                while data := peer.recv(1 << 17):
                    peer.send(json.dumps(self._reply(json.loads(data))).encode())

    def _reply(self, request: Json) -> Json:
        if request["op"] == "show":
            return {"ok": True, "jobs": self.jobs}
        self.asked.append(request)
        return {"ok": False, "error": self.refusal} if self.refusal else {"ok": True, "ids": []}

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._folder.cleanup()
