# SPDX-License-Identifier: BSD-2-Clause
"""What traffic is for: the class of this process's job, and checkpoints as background."""

import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from mlcc_client import SOCKET, Client

from .hints import log

ANSWER_S = 2.0
PART = "mlcc-background"

_said = threading.Event()


def job(class_: str) -> None:
    """Give this process's job a class: training, latency or background, else a warning.

    Its name, profile and what it skips stay; bytes, period and priorities become the class's.
    """
    try:
        with _client() as mlccd:
            (now,) = mlccd.ask({"op": "show", "self": True})["jobs"]
            if now["class"] == class_:
                return
            kept = ("name", "cgroup", "profile", "skip", "owner_uid", "owner_gid")
            fields = {key: now[key] for key in kept if now.get(key)}
            mlccd.ask({"op": "set-job", "class": class_, **fields})
    except Exception as error:
        log.warning("the job does not become %s: mlccd: %s", class_, error)


@contextlib.contextmanager
def checkpoint() -> Iterator[None]:
    """What the thread connects to inside is background: a decorator, too.

    So is what threads and processes connect to that it starts there. Connections that are there
    stay as they are. Where that cannot be had, one warning says so.
    """
    before = None
    try:
        before = _enter()
    except Exception as error:
        level = logging.DEBUG if _said.is_set() else logging.WARNING
        log.log(level, "checkpoints are sent as training is: mlccd or its cgroup: %s", error)
        _said.set()
    try:
        yield
    finally:
        if before:
            with contextlib.suppress(OSError):
                (before / "cgroup.threads").write_text("0")


def _client() -> Client:
    return Client(os.environ.get("MLCC_SOCKET") or SOCKET, ANSWER_S, ANSWER_S)


def _own() -> tuple[str, Path]:
    """The thread's cgroup: its path in the hierarchy, and where that is mounted."""
    lines = Path("/proc/thread-self/cgroup").read_text(encoding="utf-8")
    own = lines.partition("0::")[2].split("\n")[0]
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, mount, kind, *_ = line.split()
        if kind == "cgroup2" and (at := Path(mount + own)).is_dir():
            return own, at
    raise FileNotFoundError("no cgroup2 file system shows this process")


def _enter() -> Path | None:
    """Move the thread into a part of its cgroup that is a job of its own; where it was before."""
    own, at = _own()
    if at.name == PART:
        return None
    (part := at / PART).mkdir(exist_ok=True)
    try:
        with _client() as mlccd:
            path = f"{own}/{PART}".strip("/")
            mlccd.ask({"op": "set-job", "cgroup": path, "class": "background"})
        # threads of one process may be in different ones then
        (part / "cgroup.type").write_text("threaded")
        (part / "cgroup.threads").write_text("0")
    except Exception:
        with contextlib.suppress(OSError):
            part.rmdir()
        raise
    return at
