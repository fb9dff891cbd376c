# SPDX-License-Identifier: GPL-2.0
"""How large flows of cross traffic are, as published; the simulator has the same."""

import tomllib
from itertools import pairwise
from pathlib import Path

Table = list[list[float]]  # bytes, and how many per cent of the flows are no larger

SIZES: dict[str, Table] = tomllib.loads(
    (Path(__file__).parents[1] / "sizes.toml").read_text(encoding="utf-8")
)


def mean_bytes(table: Table) -> float:
    """Of a flow; between two lines it goes straight."""
    return sum(
        (size + before) / 2 * (part - less) / 100
        for (before, less), (size, part) in pairwise(table)
    )


def scaled(table: Table, mean: float) -> Table:
    """The same with another mean size."""
    factor = mean / mean_bytes(table)
    return [[size * factor, part] for size, part in table]
