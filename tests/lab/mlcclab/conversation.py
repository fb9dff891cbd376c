# SPDX-License-Identifier: GPL-2.0
"""Transfers of key-value caches, as a service of conversations makes them.

Quantiles of the input tokens of a request over their mean, of the first 4,000 requests of an LLM
service (Mooncake, FAST '25; kvcache-ai/Mooncake, the conversation trace). A cache has as many bytes
as its tokens, times what the model needs for one. Arrivals there are told by 3 s only, so here they
are random.
"""

import random
from bisect import bisect_right

QUANTILES = (
    *((0.00, 0.067), (0.10, 0.073), (0.25, 0.199), (0.50, 0.591), (0.75, 1.269)),
    *((0.90, 2.177), (0.95, 3.233), (0.99, 7.092), (1.00, 9.254)),
)
COUNT = 100
SEED = "conversation"
LEAST = 100  # bytes


def quantile(part: float) -> float:
    """Linear between the table's."""
    after = min(bisect_right(QUANTILES, part, key=lambda row: row[0]), len(QUANTILES) - 1)
    (x0, y0), (x1, y1) = QUANTILES[after - 1 : after + 1]
    return y0 + (y1 - y0) * (part - x0) / (x1 - x0)


def requests(mean_bytes: int, mean_gap_ms: float) -> list[tuple[float, int]]:
    """How long after the one before, and how many bytes; always the same ones, a hundred.

    Each percentile comes once, and the means are what is asked for.
    """
    draw = random.Random(SEED)
    sizes = [quantile((i + 0.5) / COUNT) for i in range(COUNT)]
    draw.shuffle(sizes)
    scale = mean_bytes * COUNT / sum(sizes)
    gaps = [draw.expovariate(1.0) for _ in sizes]
    stretch = mean_gap_ms * COUNT / sum(gaps)
    return [
        (gap * stretch, max(LEAST, round(size * scale)))
        for gap, size in zip(gaps, sizes, strict=True)
    ]
