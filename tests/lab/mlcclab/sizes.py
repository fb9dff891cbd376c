# SPDX-License-Identifier: GPL-2.0
"""How large flows of cross traffic are, as published: the simulator's."""

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
