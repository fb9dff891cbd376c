# SPDX-License-Identifier: GPL-2.0
"""A small table-driven checker for TOML tables.

A table is described as {key: Field(parse, default)}. Every complaint is one
line that names the key by its full path and says what is allowed.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from mlcc_client import units as number_units

from . import units
from .errors import UsageError

REQUIRED = object()
Parser = Callable[[Any], Any]
Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class Field:
    """How to read one key; without a default the key is required."""

    parse: Parser
    default: Any = REQUIRED


def key(parse: Parser, default: Any = REQUIRED) -> Any:
    """A field of a dataclass that is a key of a table."""
    more = {} if default is REQUIRED else {"default": default}
    return field(metadata={"key": Field(parse, default)}, **more)


def keys(of: type) -> dict[str, Field]:
    """The keys of a dataclass."""
    return {item.name: item.metadata["key"] for item in fields(of) if item.metadata}


def load_toml(path: Path, parse: Callable[[dict[str, Any]], Parsed]) -> Parsed:
    """What parse makes of a file; what is wrong with either is told with the file's name."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    try:
        return parse(table)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def read_table(
    where: str, table: Any, allowed: Mapping[str, Field], instead: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Check a table against its fields and fill in the defaults; instead: keys said elsewhere."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{where or 'scenario'}: must be a table")
    for name in table:
        if name not in allowed:
            raise UsageError(f"{_path(where, name)}: unknown key; allowed: {', '.join(allowed)}")
    table = {**table, **(instead or {})}
    return {name: _read_key(where, name, table, one) for name, one in allowed.items()}


def array(where: str, tables: Any, low: int, high: int) -> list[tuple[str, Any]]:
    """Tables of a kind, each with its path."""
    if not isinstance(tables, list) or not low <= len(tables) <= high:
        raise UsageError(f"{where}: write {low} to {high} tables as [[{where}]]")
    return [(f"{where}[{i}]", table) for i, table in enumerate(tables)]


def _read_key(where: str, name: str, table: Mapping[str, Any], one: Field) -> Any:
    if name not in table:
        if one.default is REQUIRED:
            raise UsageError(f"{_path(where, name)}: missing")
        return one.default
    try:
        return one.parse(table[name])
    except ValueError as error:
        raise UsageError(f"{_path(where, name)}: {error}") from None


def _path(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def text(value: Any) -> str:
    """Any string."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    return value


def word(value: Any) -> str:
    """A name that is safe in file names, command lines and JSON."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", value):
        raise ValueError(f"{value!r} is not a name of up to 32 letters, digits and ._-")
    return value


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def choice(*allowed: str | int) -> Parser:
    """One of a few words, or whole numbers."""

    def parse(value: Any) -> Any:
        if type(value) is not type(allowed[0]) or value not in allowed:
            raise ValueError(f"{value!r} is not one of {', '.join(map(str, allowed))}")
        return value

    return parse


def integer(low: int, high: int) -> Parser:
    """A whole number in a range."""

    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{value!r}: a whole number from {low} to {high} is wanted")
        return value

    return parse


def number(low: float, high: float) -> Parser:
    """A number in a range."""

    def parse(value: Any) -> float:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not low <= value <= high:
            raise ValueError(f"{value!r}: a number from {low:g} to {high:g} is wanted")
        return float(value)

    return parse


def rate(low: float, high: float) -> Parser:
    """A rate as tc writes it, in bits per second."""

    def parse(value: Any) -> float:
        bps = units.rate_bps(text(value))
        if not low <= bps <= high:
            raise ValueError(f"{value!r}: from {low / 1e6:g}mbit to {high / 1e6:g}mbit is wanted")
        return bps

    return parse


def size(low: int, high: int) -> Parser:
    """A size as tc writes it, or a plain number of bytes."""

    def parse(value: Any) -> int:
        nbytes = value if type(value) is int else units.size_bytes(text(value))
        if not low <= nbytes <= high:
            raise ValueError(f"{value!r}: from {low} to {high} bytes is wanted")
        return nbytes

    return parse


def duration(high: float) -> Parser:
    """A time such as "50us", in seconds."""

    def parse(value: Any) -> float:
        return number_units.time_us(text(value), 0, round(high * 1e6)) / 1e6

    return parse
