# SPDX-License-Identifier: GPL-2.0
"""The cases of mlccd.sh: mlccd_cases.py BUILD DIRECTORY. Prints KTAP."""

import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from mlccd_ctl import Ctl
from mlccd_driver import Cgroups, Daemon, RunCase, names_of, outcome, run_all, say_result
from mlccd_life import Life
from mlccd_metrics import Metrics
from mlccd_requests import Requests
from mlccd_rings import Rings

# Metrics last: what was told of RDMA devices shows for a moment after they have gone
SUBJECTS = (Requests, Life, Rings, Ctl, Metrics)


class Everything(*SUBJECTS):  # type: ignore[misc]  # a constant
    """One daemon for all of them."""


def run_case(number: int, name: str, cases: Everything) -> str:
    """One result; the next case finds a daemon that runs, without jobs, with the defaults."""
    d = cases.d
    error, skip = outcome(getattr(cases, name))
    if d.process is None or d.process.poll() is not None:
        error = error or f"mlccd has ended:\n{d.log.read_text()[-2000:]}"
        d.gone.unlink(missing_ok=True)
        d.start()
    d.write_config("")
    cases.reload()
    d.reset()
    return say_result(number, name, error, skip)


def main(build: str, directory: str) -> int:
    def prepare(stack: ExitStack, cgroups: Cgroups) -> RunCase:
        daemon = Daemon(Path(build), Path(directory))
        stack.callback(lambda: daemon.process and daemon.kill(signal.SIGTERM))
        daemon.start()
        cases = Everything(daemon, cgroups)
        return lambda number, name: run_case(number, name, cases)

    return run_all(names_of(*SUBJECTS), prepare)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
