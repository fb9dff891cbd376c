# SPDX-License-Identifier: GPL-2.0
"""What the measurements of tests/sim/papers share."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from mlcclab.interval import estimate

from . import report

Json = dict[str, Any]


def with_half(values: Sequence[float], digits: int = 1) -> str:
    """A mean and its 95 % interval."""
    return report.with_half(vars(estimate(values)), digits)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Markdown, a row as soon as it is there."""
    for row in chain((head, ["---"] * len(head)), rows):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print()
