# SPDX-License-Identifier: BSD-2-Clause
"""mlccd for the length of a verb: what goes wrong there ends mlcc-plan with one line."""

from collections.abc import Iterator
from contextlib import contextmanager

from mlcc_client import Client, RefusedError

from .errors import DaemonError, PlanError


@contextmanager
def connected(path: str) -> Iterator[Client]:
    """A connection; raises DaemonError without one, PlanError with what mlccd refuses."""
    try:
        with Client(path) as client:
            yield client
    except OSError as error:
        raise DaemonError(f"mlccd at {path}: {error.strerror or error}") from None
    except RefusedError as error:
        raise PlanError(str(error)) from None
