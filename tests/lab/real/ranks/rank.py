# SPDX-License-Identifier: GPL-2.0
"""What the ranks of both kinds of job share: when to begin, what to write down.

A rank says that it is ready by making the file NAME.ready in its folder, begins at the time (in
nanoseconds of CLOCK_MONOTONIC) that the file "go" there names, and writes a JSON line for each
iteration to NAME.out until it is stopped.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

POLL_S = 0.02


def parser(about: str | None) -> argparse.ArgumentParser:
    """The arguments of every rank."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--name", required=True)
    made.add_argument("--folder", required=True, type=Path)
    made.add_argument("--bytes", required=True, type=int, help="of all gradients together")
    made.add_argument("--compute-ms", required=True, type=float)
    made.add_argument("--seed", required=True, type=int)
    made.add_argument("--hints", action="store_true", help="announce phases to mlccd")
    return made


class Diary:
    """The rank's side of the folder."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._ready = options.folder / f"{options.name}.ready"
        self._go = options.folder / "go"
        self._out = (options.folder / f"{options.name}.out").open("w", buffering=1)

    def wait(self) -> None:
        """Until all ranks of all jobs are ready, and then to the same instant."""
        self._ready.touch()
        while not self._go.exists():
            time.sleep(POLL_S)
        time.sleep(max(0.0, int(self._go.read_text()) / 1e9 - time.monotonic()))

    def write(self, **fields: Any) -> None:
        """One iteration."""
        self._out.write(json.dumps(fields) + "\n")


def hurry() -> None:
    """Small waits have to end in time; imports come before this, and are in nobody's way."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def pad(begun: float, compute_ms: float) -> float:
    """Compute as an accelerator does: for a fixed time. Returns how long it really took, in ms.

    What was computed here is only a part of it; the rest is slept through, so that the jobs do not
    compete for this machine's processors.
    """
    took = time.monotonic() - begun
    time.sleep(max(0.0, compute_ms / 1e3 - took))
    return took * 1e3
