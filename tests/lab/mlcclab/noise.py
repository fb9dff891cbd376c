# SPDX-License-Identifier: GPL-2.0
"""How much the iterations of production jobs vary in time.

Quantiles of the coefficient of variation of mini-batch times, over the workers of 100 jobs (82,739
points) of a production cluster: alibaba/clusterdata, cluster-trace-gpu-v2020. The median is 9 %.
GPUs are shared there, so this is an upper side.
"""

import random
from typing import Any, Literal

from . import schema, stats

MEASURED: Literal["measured"] = "measured"
Noise = float | Literal["measured"]

QUANTILES = (
    *((0.01, 0.0143), (0.05, 0.0239), (0.10, 0.0319), (0.15, 0.0378), (0.20, 0.0443)),
    *((0.25, 0.0508), (0.30, 0.0575), (0.35, 0.0640), (0.40, 0.0713), (0.45, 0.0818)),
    *((0.50, 0.0935), (0.55, 0.1170), (0.60, 0.1353), (0.65, 0.2002), (0.70, 0.3438)),
    *((0.75, 0.5497), (0.80, 0.6452), (0.85, 0.8176), (0.90, 1.0651), (0.95, 1.4319)),
    (0.99, 3.0136),
)


def parse(value: Any, high: float = 0.5) -> Noise:
    """As a scenario says it."""
    if value == MEASURED:
        return MEASURED
    try:
        return schema.number(0.0, high)(value)
    except ValueError as error:
        raise ValueError(f'{error}, or "{MEASURED}"') from None


def drawn(seed: object) -> float:
    """One worker's coefficient of variation; the same for the same seed."""
    return stats.interpolated(QUANTILES, random.Random(f"{seed}").random())
