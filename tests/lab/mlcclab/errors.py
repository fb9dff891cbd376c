# SPDX-License-Identifier: GPL-2.0
"""Errors that end the program with one line and a fixed exit status."""

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_SKIP = 4


class LabError(Exception):
    """The run failed: the system refused something or a flow got stuck."""

    status = EXIT_FAILED


class UsageError(LabError):
    """The command line or the scenario is wrong."""

    status = EXIT_USAGE


class SkipError(LabError):
    """The machine lacks something that the scenario needs."""

    status = EXIT_SKIP
