# SPDX-License-Identifier: GPL-2.0
"""mlccd for the length of a run: jobs that a launcher would announce.

The whole chain of a real host: a cgroup for each sending host of the job, set-job with that
cgroup, sockets tagged as they connect, phases announced over mlccd's ring.
"""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from mlcc_client import Client, RefusedError

from . import shell
from .carrier import MLCCD, REPOSITORY
from .errors import LabError, SkipError

BINARY = REPOSITORY / MLCCD
START_S = 20.0
PAUSE_S = 0.05


def _cgroup_mount() -> Path:
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where)
    raise SkipError('hint = "exact": no cgroup2 file system is mounted')


class Daemon:
    """An mlccd of our own, with its sockets in a folder of ours."""

    def __init__(self, binary: Path = BINARY) -> None:
        if not binary.exists():
            raise SkipError(f'hint = "exact": {binary}: not built: make userspace')
        self._folder = tempfile.TemporaryDirectory(prefix="mlcc-lab-")
        self._run = Path(self._folder.name)
        self.socket = self._run / "mlccd.sock"
        self._closing = contextlib.ExitStack()
        self._cgroups: list[Path] = []
        self._parent = _cgroup_mount() / self._run.name
        self._command = [str(binary), "--config", str(self._run / "none")]
        self._command += ["--run-dir", str(self._run)]

    def __enter__(self) -> "Daemon":
        (self._run / "none").touch()
        self._log = (self._run / "log").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(self._command, stdout=self._log, stderr=self._log)
        try:
            self._connect()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _connect(self) -> None:
        for _ in range(int(START_S / PAUSE_S)):
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                client = Client(self.socket, START_S * shell.SLOW)
                self._client = self._closing.enter_context(client)
                return
            if self._process.poll() is not None:
                break
            time.sleep(PAUSE_S)
        raise LabError(f"mlccd does not answer: {self._said()}")

    def _said(self) -> str:
        lines = (self._run / "log").read_text(encoding="utf-8").splitlines()
        return lines[-1] if lines else "it says nothing"

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._client.ask(request)
        except RefusedError as error:
            raise LabError(f"{request['op']}: {error}") from None

    def set_job(
        self, job: int, name: str, profile: str, said: Mapping[str, Any] | None = None
    ) -> Path:
        """Announce a job by that id; returns the cgroup that its processes are to join.

        said: what else set-job is to be told of it.

        A host has an mlccd of its own, where a name is one job's. Here one has those of all hosts,
        and an owner for each of them tells those of one name apart.
        """
        cgroup = self._parent / str(job)
        cgroup.mkdir(parents=True)
        self._cgroups.append(cgroup)
        # mlccd takes paths as seen from the mount
        path = str(cgroup.relative_to(self._parent.parent))
        request = {"op": "set-job", "id": job, "name": name, "owner_gid": job, "cgroup": path}
        self._ask(request | ({"profile": profile} if profile else {}) | dict(said or {}))
        return cgroup

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs, with what the carrier knows of each."""
        return list(self._client.jobs())

    def records(self) -> dict[str, int]:
        """What has come over rings: all, and what was wrong or late."""
        status = self._ask({"op": "status"})
        return {key: value for key, value in status.items() if key.startswith("ring_")}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._closing.close()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10 * shell.SLOW)
        self._process.kill()
        self._process.wait()
        shell.attempt([*self._command, "--unload"])
        self._remove_cgroups()
        self._log.close()
        self._folder.cleanup()

    def _remove_cgroups(self) -> None:
        for cgroup in [*self._cgroups, self._parent]:
            for _ in range(50):
                try:
                    cgroup.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(PAUSE_S)
                else:
                    break
