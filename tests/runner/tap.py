# SPDX-License-Identifier: GPL-2.0
"""Counts the results in a suite's output: TAP's lines, or the exit status of what prints none."""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

SKIPPED = 4
SAID = 8  # lines of a failed case that are said again

RESULT = re.compile(
    r"^(?P<no>not )?ok\b *(?P<number>\d+)? *(?:- )?(?P<name>[^#]*)"
    r"(?:# *(?P<word>SKIP|TODO)\b:? *(?P<reason>.*))?$",
    re.IGNORECASE,
)
PLAN = re.compile(r"^1\.\.(?P<count>\d+)(?: *# *SKIP\b:? *(?P<reason>.*))?$", re.IGNORECASE)
BAIL = re.compile(r"^Bail out! *(?P<reason>.*)$")


@dataclass
class Totals:
    """What came of one suite, or of all. A failure is a case and what is to be said of it.

    unsteady: what failed beside other suites, and passed alone.
    """

    passed: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)

    def add(self, other: "Totals") -> None:
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips

    def seen(self) -> int:
        return self.passed + len(self.failures) + len(self.skips)


class Reader:
    """Takes in the lines of one suite.

    may_skip: patterns of the cases that a machine may be unable to run, and why. Any other skip is
    a failure: what is not run is not tested.
    """

    def __init__(self, may_skip: Mapping[str, str]) -> None:
        self.may_skip = may_skip
        self.totals = Totals()
        self.planned: int | None = None
        self.last = ""
        self.said: deque[str] = deque(maxlen=SAID)  # by the case that runs

    def line(self, text: str) -> None:
        if text.strip():
            self.last = text.strip()
        if plan := PLAN.match(text):
            self._plan(int(plan["count"]), plan["reason"])
        elif result := RESULT.match(text):
            self._result(result)
        elif bail := BAIL.match(text):
            self._fail("", f"bailed out: {bail['reason']}")
        elif text.startswith("#"):
            self.said.append(text.strip("# \t"))

    def _plan(self, count: int, reason: str | None) -> None:
        self.planned = count
        if count == 0:
            self._skip("", reason)

    def _result(self, result: re.Match[str]) -> None:
        name = result["name"].strip()
        if (result["word"] or "").upper() == "SKIP":
            self._skip(name, result["reason"])
        elif result["no"]:
            self._fail(name, "".join(f"\n        {line}" for line in self.said))
        else:
            self.totals.passed += 1
        self.said.clear()

    def _fail(self, case: str, why: str = "") -> None:
        self.totals.failures.append((case, why))

    def _skip(self, case: str, reason: str | None) -> None:
        why = reason or "no reason given"
        if any(re.fullmatch(pattern, case) for pattern in self.may_skip):
            self.totals.skips.append(f"{case}: {why}" if case else why)
        else:
            self._fail(case, f"skipped, and no machine may skip it: {why}")

    def end(self, status: int) -> Totals:
        """What the lines did not say, the exit status says."""
        totals = self.totals
        if self.planned is None and totals.seen() == 0:
            self._status(status)
        elif self.planned and totals.seen() != self.planned:
            self._fail("", f"{self.planned} results planned, {totals.seen()} seen")
        elif status not in (0, SKIPPED) and not totals.failures:
            self._fail("", f"ended with status {status}")
        return totals

    def _status(self, status: int) -> None:
        if status == 0:
            self.totals.passed += 1
        elif status == SKIPPED:
            self._skip("", self.last)
        else:
            self._fail("", f"status {status}: {self.last}")
