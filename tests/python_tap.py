# SPDX-License-Identifier: GPL-2.0
"""Runs the unittest modules below the folders that it is given, and prints TAP.

python_tap.py FOLDER... [-k PATTERN]    only tests whose id has the pattern in it
"""

import argparse
import sys
import unittest
from pathlib import Path
from types import TracebackType

ErrorInfo = tuple[type[BaseException], BaseException, TracebackType]


class TapResult(unittest.TestResult):
    """A line for each test."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def _line(self, good: bool, test: unittest.TestCase, more: str = "") -> None:
        self.count += 1
        name = test.id().replace("#", "")
        print(f"{'ok' if good else 'not ok'} {self.count} {name}{more}", flush=True)

    def _broken(self, test: unittest.TestCase, trace: str) -> None:
        for line in trace.splitlines():
            print(f"# {line}")
        self._line(False, test)

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self._line(True, test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._line(True, test, f" # SKIP {reason}")

    def addFailure(self, test: unittest.TestCase, err: ErrorInfo) -> None:
        super().addFailure(test, err)
        self._broken(test, self.failures[-1][1])

    def addError(self, test: unittest.TestCase, err: ErrorInfo) -> None:
        super().addError(test, err)
        self._broken(test, self.errors[-1][1])

    def addSubTest(
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: ErrorInfo | None
    ) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._broken(subtest, (self.failures + self.errors)[-1][1])


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="+")
    parser.add_argument("-k", dest="pattern", metavar="PATTERN", help="only tests that have it")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    chosen = options(arguments)
    print("TAP version 13")
    result, loader = TapResult(), unittest.TestLoader()
    if chosen.pattern:
        loader.testNamePatterns = [f"*{chosen.pattern}*"]
    for folder in chosen.folder:
        # each folder holds a package of its own beside its tests
        sys.path.insert(0, str(Path(folder).resolve()))
        loader.discover(folder, "test_*.py", folder).run(result)
        sys.path.pop(0)
    if result.count == 0:
        print("Bail out! there are no such tests below " + ", ".join(chosen.folder))
        return 1
    print(f"1..{result.count}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
