# SPDX-License-Identifier: BSD-2-Clause
"""What options of the command line may say, as types for argparse."""

import argparse
import math
import re
from collections.abc import Callable
from ipaddress import ip_address


def whole(low: int, high: int) -> Callable[[str], int]:
    """A whole number in a range."""

    def parse(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or len(text) > 12:
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number")
        if not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text} is not from {low} to {high}")
        return int(text)

    return parse


def number(text: str, low: float, high: float) -> float:
    """A number in a range; NaN is in none."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from {low:g} to {high:g}")
    return value


def percent(text: str) -> float:
    """A percentage as a fraction."""
    return number(text, 0, 10) / 100


def seconds(text: str) -> float:
    """Up to a day."""
    return number(text, 0, 86400)


def milliseconds(text: str) -> float:
    """As seconds."""
    return number(text, 0.001, 1000) / 1000


def guard(text: str) -> int:
    """Milliseconds as microseconds."""
    return round(number(text, 0, 10000) * 1000)


def dscps(text: str) -> list[int]:
    """Different DSCPs, with commas."""
    values = [whole(0, 63)(word) for word in text.split(",")]
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} names a DSCP twice")
    return values


def steps(text: str) -> int | None:
    """Degrees as steps of a circle; None: exact."""
    if text == "exact":
        return None
    degrees = number(text, 0.1, 90)
    steps = round(360 / degrees)
    if abs(steps * degrees - 360) > 1e-9:
        raise argparse.ArgumentTypeError(f"360 is not a multiple of {text[:40]!r} degrees")
    return steps


def nbytes(text: str) -> float:
    """Up to a petabyte, with the units of mlcc-ctl: 97.5e6, 250M, 250MB, 64MiB."""
    units = re.fullmatch(r"([0-9][0-9.]*(?:e[0-9]+)?) ?(?:([kKmMgGtT])(i?))?B?", text)
    if not units:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no size, such as 250M or 64MiB")
    base = 1024 if units[3] else 1000
    factor = base ** ("kmgt".index(units[2].lower()) + 1) if units[2] else 1
    return number(units[1], 1 / factor, 1e15 / factor) * factor


def hosts(text: str) -> tuple[str, list[str]]:
    """NAME=ADDRESS,ADDRESS... or only addresses, as a name, or "", and the addresses."""
    name, _, listed = text.rpartition("=")
    try:
        addresses = [str(ip_address(word)) for word in listed.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{str(error)[:60]}") from None
    if len(set(addresses)) < 2:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} has to have two addresses or more")
    return name, addresses
