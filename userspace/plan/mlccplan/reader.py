# SPDX-License-Identifier: BSD-2-Clause
"""Reads JSON that others wrote: every complaint is one line that names the place.

Refused as a whole: what is too large, too deep, no JSON, not finite, said twice or unknown.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from .errors import PlanError

BYTES_MAX = 64 << 20
NAME = re.compile(r"[A-Za-z0-9._:/@+-]{1,63}")
QUOTE_MAX = 40

Parser = Callable[[str, Any], Any]


def load(path: str) -> Any:
    """The document in a file; "-" is standard input."""
    return parse("standard input" if path == "-" else path, contents(path))


def contents(path: str) -> bytes:
    """All of a file; "-" is standard input."""
    try:
        if path == "-":
            return _limited("standard input", sys.stdin.buffer)
        with Path(path).open("rb") as file:
            return _limited(path, file)
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror}") from None


def _limited(what: str, file: BinaryIO) -> bytes:
    data = file.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise PlanError(f"{what}: more than {BYTES_MAX >> 20} MiB")
    return data


def parse(what: str, data: bytes) -> Any:
    """JSON as RFC 8259 has it: no NaN, no Infinity; and no key twice."""
    try:
        return json.loads(data, parse_constant=_no_constant, object_pairs_hook=_no_twice)
    except RecursionError:
        raise PlanError(f"{what}: nested too deeply") from None
    except ValueError as error:
        raise PlanError(f"{what}: no JSON: {error}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that is allowed")


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{quoted(twice)} is there twice")
    return table


def quoted(value: Any) -> str:
    """What somebody wrote, short and harmless on a terminal."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        text = ascii(value)
    except ValueError:  # more digits than Python converts
        return "a huge number"
    return text if len(text) <= QUOTE_MAX else f"{text[:QUOTE_MAX]}..."


@dataclass(frozen=True)
class Field:
    """How to read one key; a required one has no default."""

    parse: Parser
    required: bool = False
    default: Any = None


def table(where: str, value: Any, fields: Mapping[str, Field]) -> dict[str, Any]:
    """An object with these keys and no others."""
    if not isinstance(value, dict):
        raise PlanError(f"{where}: {quoted(value)} is not an object")
    for key in value:
        if key not in fields:
            raise PlanError(f"{where}: {quoted(key)} is not one of {', '.join(fields)}")
    read = {}
    for key, field in fields.items():
        if key in value:
            read[key] = field.parse(f"{where}.{key}", value[key])
        elif field.required:
            raise PlanError(f"{where}: {key} is missing")
        else:
            read[key] = field.default
    return read


def each(parse_one: Parser, low: int, high: int) -> Parser:
    """A list of low to high values; the number is looked at first."""

    def parse_list(where: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise PlanError(f"{where}: {quoted(value)} is not a list")
        if not low <= len(value) <= high:
            raise PlanError(f"{where}: {len(value)} entries; from {low} to {high} are allowed")
        return tuple(parse_one(f"{where}[{index}]", one) for index, one in enumerate(value))

    return parse_list


def name(where: str, value: Any) -> str:
    """The names that mlccd allows."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise PlanError(
            f"{where}: {quoted(value)} is not a name of 1 to 63 letters, digits and ._:/@+-"
        )
    return value


def number(low: float, high: float) -> Parser:
    """A finite number in a range."""

    def parse_number(where: str, value: Any) -> float:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not low <= value <= high or not math.isfinite(value):
            raise PlanError(
                f"{where}: {quoted(value)}: a number from {low:g} to {high:g} is wanted"
            )
        return float(value)

    return parse_number


def flag(where: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise PlanError(f"{where}: {quoted(value)} is neither true nor false")
    return value


def unique(where: str, names: Sequence[str]) -> None:
    """No name is there twice."""
    seen = set()
    for one in names:
        if one in seen:
            raise PlanError(f"{where}: {quoted(one)} is there twice")
        seen.add(one)
