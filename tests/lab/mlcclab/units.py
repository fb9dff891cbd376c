# SPDX-License-Identifier: GPL-2.0
"""Rates and sizes as people write them, with the meaning tc gives them; what TCP makes of these."""

import re
from collections.abc import Mapping

RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
SIZES = {"b": 1, "k": 2**10, "kb": 2**10, "kib": 2**10, "m": 2**20, "mb": 2**20, "mib": 2**20}

# Of a full-sized segment: what IPv4 and TCP with timestamps take of the MTU, and what the queue
# counts on top of it.
HEADERS = 20 + 32
ETHERNET = 14
MTU = 1500
JUMBO_MTU = 9000
MSS = MTU - HEADERS
FRAME = MTU + ETHERNET


def _quantity(text: str, units: Mapping[str, int], example: str) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)", text.strip())
    if not match or match[2].lower() not in units:
        raise ValueError(f"{text!r} is not a number and one of {', '.join(units)}, like {example}")
    return float(match[1]) * units[match[2].lower()]


def rate_bps(text: str) -> float:
    """Bits per second from "1gbit"."""
    return _quantity(text, RATES, '"1gbit"')


def size_bytes(text: str) -> int:
    """Bytes from "1mb", which is 1024 based, as in tc."""
    return int(_quantity(text, SIZES, '"1mb"'))


def goodput_bps(rate: float, mtu: int = MTU) -> float:
    """What TCP can deliver through a link of that rate."""
    return rate * (mtu - HEADERS) / (mtu + ETHERNET)


def wire_ms(nbytes: float, rate: float, mtu: int = MTU) -> float:
    """Time that so many payload bytes occupy the link."""
    return nbytes * 8e3 / goodput_bps(rate, mtu)
