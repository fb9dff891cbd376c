# SPDX-License-Identifier: GPL-2.0
"""Starts, watches and stops mlcc-burst processes.

Each one writes to a file, not to a pipe: a lab that is slow to read must not
slow down what it measures.
"""

import json
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import machine
from .errors import LabError

BINARY = Path(__file__).resolve().parents[1] / "mlcc-burst"
VERBS = BINARY.with_name("mlcc-burst-verbs")
NET = BINARY.with_name("mlcc-burst-net")
# Waited for in slices: a slice that was slept through counts once.
STOP_SLICE_S = 0.5
STOP_SLICES = 20

Record = dict[str, Any]


class Burst:
    """One process in one namespace, and what it has printed so far."""

    def __init__(
        self,
        name: str,
        namespace: str,
        arguments: list[str],
        folder: Path,
        cgroup: Path | None = None,
        binary: Path = BINARY,
        environment: Mapping[str, str] | None = None,
        cpus: Sequence[str] = (),
    ) -> None:
        """cgroup: where it runs, from its first system call on; cpus: a prefix, else the hosts'."""
        self.name = name
        self.records: list[Record] = []
        self._tail = ""
        self._errors = (folder / f"{name}.err").open("w+")
        self._output = (folder / f"{name}.out").open("w+")
        self._reader = (folder / f"{name}.out").open()
        command = [*(cpus or machine.on_host_cpus()), "nsenter", f"--net=/run/netns/{namespace}"]
        if cgroup:
            join = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
            command = ["sh", "-c", join, str(cgroup), *command]
        self.process = subprocess.Popen(
            [*command, str(binary), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._errors,
            env=environment,
        )

    def poll(self) -> str:
        """Take in new lines; what the process complained of if it died by itself, else nothing."""
        if self.process.poll() not in (None, 0):
            return f"{self.name}: {self._complaint()}"
        self._read()
        return ""

    def of_kind(self, key: str) -> list[Record]:
        """The records that carry a key: iteration, request, sample_ns, totals."""
        return [record for record in self.records if key in record]

    @property
    def totals(self) -> Record:
        """The closing record."""
        return next(iter(self.of_kind("totals")), {})

    def stop(self) -> None:
        """Ask it to finish; it prints its totals."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def finish(self) -> None:
        """Wait for the end and read the rest."""
        if not any(self._ended() for _ in range(STOP_SLICES)):
            self.kill()
            raise LabError(f"{self.name}: did not stop when asked to")
        # Once told to stop, a worker may find that its peers stopped first.
        self._read()
        self._close()

    def kill(self) -> None:
        """The hard way, when the run has failed."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._close()

    def _ended(self) -> bool:
        try:
            self.process.wait(STOP_SLICE_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _read(self) -> None:
        *lines, self._tail = (self._tail + self._reader.read()).split("\n")
        self.records.extend(json.loads(line) for line in lines)

    def _complaint(self) -> str:
        self._errors.seek(0)
        said = self._errors.read().strip().splitlines()
        return said[-1] if said else f"ended with status {self.process.returncode}"

    def _close(self) -> None:
        for stream in (self._reader, self._output, self._errors):
            if not stream.closed:
                stream.close()
