# SPDX-License-Identifier: BSD-2-Clause
"""Numbers as people write them: what userspace/common/number.c takes, and its words if not."""

import re

PHASE_BYTES_MAX = 2**48 - 1

_NUMBER = r"([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?)"
_BYTES = re.compile(_NUMBER + r"(?: ?([kKmMgGtT]i?B?|B))?", re.ASCII)
_TIME = re.compile(_NUMBER + r" ?(us|ms|s)", re.ASCII)
_TIMES = {"us": 1.0, "ms": 1e3, "s": 1e6}


def whole(text: str, low: int, high: int) -> int:
    """Only digits, or 0x and hexadecimal ones."""
    if re.fullmatch(r"[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16}", text, re.ASCII):
        value = int(text, 16 if text[1:2] in ("x", "X") else 10)
        if low <= value <= high:
            return value
    raise ValueError(f"{text[:40]!r}: a whole number from {low} to {high} is wanted")


def number(text: str, low: float, high: float) -> float:
    """A decimal one."""
    if re.fullmatch(_NUMBER, text) and low <= float(text) <= high:
        return float(text)
    raise ValueError(f"{text[:40]!r}: a number from {low:g} to {high:g} is wanted")


def nbytes(text: str, low: int = 1, high: int = PHASE_BYTES_MAX) -> int:
    """1000000, 250M, 250MB: powers of 1000; 64Mi, 64MiB: of 1024."""
    match = _BYTES.fullmatch(text)
    if match:
        unit = (match[2] or "B").removesuffix("B")
        factor = (1024 if "i" in unit else 1000) ** " kmgt".index(unit[:1].lower() or " ")
        value = float(match[1]) * factor + 0.5
        if low <= value < high + 1.0:
            return int(value)
    raise ValueError(
        f"{text[:40]!r}: from {low} to {high} bytes is wanted, such as 1000000, 250M or 250MB "
        "(thousands), 64Mi or 64MiB (1024s)"
    )


def time_us(text: str, low: float, high: float) -> float:
    """800us, 250ms, 1.5s, in microseconds, which are not rounded."""
    match = _TIME.fullmatch(text)
    if match and low <= float(match[1]) * _TIMES[match[2]] <= high:
        return float(match[1]) * _TIMES[match[2]]
    raise ValueError(
        f"{text[:40]!r}: from {low / 1e3:.10g}ms to {high / 1e3:.10g}ms is wanted, such as 800us, "
        "250ms or 1.5s"
    )
