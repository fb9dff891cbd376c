# SPDX-License-Identifier: BSD-2-Clause
"""What options of the command line may say, as types for argparse."""

import argparse
from collections.abc import Callable
from ipaddress import ip_address
from typing import TypeVar

from mlcc_client import units

T = TypeVar("T")


def _as_argument(parse: Callable[[], T]) -> T:
    try:
        return parse()
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def whole(low: int, high: int) -> Callable[[str], int]:
    """A whole number in a range."""

    def parse(text: str) -> int:
        return _as_argument(lambda: units.whole(text, low, high))

    return parse


def number(text: str, low: float, high: float) -> float:
    """A number in a range."""
    return _as_argument(lambda: units.number(text, low, high))


def percent(text: str) -> float:
    """A percentage as a fraction."""
    return number(text, 0, 10) / 100


def seconds(text: str) -> float:
    """Up to a day."""
    return number(text, 0, 86400)


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


def nbytes(text: str) -> int:
    """Up to a petabyte."""
    return _as_argument(lambda: units.nbytes(text, high=10**15))


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
