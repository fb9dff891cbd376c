# SPDX-License-Identifier: GPL-2.0
"""Runs suites beside each other, one in each lane; one that measures has the machine for itself.

What fails there may fail by what runs beside it. As the netdev maintainers' own machines do, it is
run once more, alone; what passes then is said to be unsteady. What is broken fails both times.
"""

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from .suites import BUILD, ROOT, Lane, Suite
from .tap import Reader, Totals

LOGS = BUILD / "check"
TIMED_OUT = (124, 137)
STOP_S = 10
TRIED_AGAIN = 3  # commands; where more fail, it is not the machine

_printing = threading.Lock()


def say(text: str) -> None:
    """One whole line, whichever thread says it."""
    with _printing:
        print(text, flush=True)


def _lines(process: subprocess.Popen[str], log: Path) -> Iterator[str]:
    assert process.stdout is not None
    with log.open("w", encoding="utf-8") as copy:
        for text in process.stdout:
            copy.write(text)
            copy.flush()
            yield text.rstrip("\n")


def _stop(process: subprocess.Popen[str]) -> None:
    """TERM first: suites undo what they have set up."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
            return
    process.wait()


class Runs:
    """The processes that run now."""

    def __init__(self) -> None:
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.stopped = False

    def run(self, suite: Suite) -> Totals:
        """Run one suite; whatever it does, it ends within its time."""
        if self.stopped:
            return Totals()
        say(f"=== {suite.name}")
        LOGS.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        process = subprocess.Popen(
            ["timeout", "--kill-after=30", f"{suite.timeout_s:.0f}", *map(str, suite.command)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.processes[suite.name] = process
        try:
            totals = self._read(suite, process)
        finally:
            _stop(process)
            del self.processes[suite.name]
        say(f"=== {suite.name}: {time.monotonic() - begun:.0f} s")
        return totals

    def _read(self, suite: Suite, process: subprocess.Popen[str]) -> Totals:
        reader = Reader(suite.may_skip)
        for text in _lines(process, LOGS / f"{suite.name.replace('/', '-')}.log"):
            reader.line(text)
            say(f"{suite.name}: {text}")
        totals = reader.end(process.wait())
        if process.returncode in TIMED_OUT:
            totals.failures.append(("", f"stopped after {suite.timeout_s:.0f} s"))
        return _named(suite, totals)

    def stop(self) -> None:
        """No more suites, and an end to those that run."""
        self.stopped = True
        for process in list(self.processes.values()):
            _stop(process)


def _named(suite: Suite, totals: Totals) -> Totals:
    """With the suite's name, and how to see a failure again."""
    failures = []
    for case, why in totals.failures:
        what = ": ".join(part for part in (suite.name, case, why) if part)
        failures.append((what, suite.again(case)))
    return Totals(totals.passed, failures, [f"{suite.name}: {skip}" for skip in totals.skips])


def _next(waiting: list[Suite], busy: Iterable[Lane]) -> Suite | None:
    """The first that may begin beside those that run. What wants the machine is not overtaken."""
    lanes = set(busy)
    if Lane.MACHINE in lanes:
        return None
    for suite in waiting:
        if suite.lane is Lane.MACHINE:
            return None if lanes else suite
        if suite.lane not in lanes:
            return suite
    return None


def run_all(suites: Sequence[Suite], runs: Runs) -> Totals:
    """All suites, each in its lane, in order."""
    totals, waiting = Totals(), list(suites)
    running: dict[Future[Totals], Lane] = {}
    with ThreadPoolExecutor(len(Lane)) as pool:
        try:
            while waiting or running:
                while (suite := _next(waiting, running.values())) is not None:
                    waiting.remove(suite)
                    running[pool.submit(runs.run, suite)] = suite.lane
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    del running[future]
                    totals.add(future.result())
        except BaseException:
            runs.stop()
            raise
    return totals


def try_again(totals: Totals, ran: Sequence[Suite], runs: Runs) -> None:
    """Run what has failed once more, each command alone, and say which failures are unsteady."""
    names = {suite.name: suite for suite in ran}
    commands = list(dict.fromkeys(again for _, again in totals.failures))
    if len(commands) > TRIED_AGAIN:
        return
    for command in commands:
        failed = [what for what, again in totals.failures if again == command]
        suite = names[failed[0].split(": ")[0]]
        alone = replace(suite, name=f"{suite.name}/again", command=shlex.split(command))
        result = runs.run(alone)
        if result.passed and not result.failures:
            totals.failures = [one for one in totals.failures if one[1] != command]
            totals.passed += len(failed)
            totals.unsteady += failed
