# SPDX-License-Identifier: BSD-2-Clause
"""Errors that end the program with one line and a fixed exit status, those of mlcc-ctl."""

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NO_DAEMON = 3
EXIT_MISFIT = 4


class PlanError(Exception):
    """The problem, a file or the machine is not as it has to be."""

    status = EXIT_FAILED


class UsageError(PlanError):
    """The command line is wrong."""

    status = EXIT_USAGE


class MisfitError(PlanError):
    """The jobs do not fit, so nothing is applied."""

    status = EXIT_MISFIT


class DaemonError(PlanError):
    """mlccd does not answer."""

    status = EXIT_NO_DAEMON
