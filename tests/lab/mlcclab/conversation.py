# SPDX-License-Identifier: GPL-2.0
"""Transfers of key-value caches, as a service of conversations makes them.

Quantiles of the input tokens of a request over their mean, of the first 4,000 requests of an LLM
service (Mooncake, FAST '25; kvcache-ai/Mooncake, the conversation trace). A cache has as many bytes
as its tokens, times what the model needs for one. Arrivals there are told by 3 s only, so here they
are random.
"""

import random

from . import stats

QUANTILES = (
    *((0.00, 0.067), (0.10, 0.073), (0.25, 0.199), (0.50, 0.591), (0.75, 1.269)),
    *((0.90, 2.177), (0.95, 3.233), (0.99, 7.092), (1.00, 9.254)),
)
COUNT = 100
SEED = "conversation"
LEAST = 100  # bytes


def requests(mean_bytes: int, mean_gap_ms: float) -> list[tuple[float, int]]:
    """How long after the one before, and how many bytes; always the same ones, a hundred.

    Each percentile comes once, and the means are what is asked for.
    """
    draw = random.Random(SEED)
    sizes = [stats.interpolated(QUANTILES, (i + 0.5) / COUNT) for i in range(COUNT)]
    draw.shuffle(sizes)
    scale = mean_bytes * COUNT / sum(sizes)
    gaps = [draw.expovariate(1.0) for _ in sizes]
    stretch = mean_gap_ms * COUNT / sum(gaps)
    return [
        (gap * stretch, max(LEAST, round(size * scale)))
        for gap, size in zip(gaps, sizes, strict=True)
    ]
