# SPDX-License-Identifier: GPL-2.0
"""What the words of the command line may be."""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from mlcc_client import units

from . import link
from .carrier import is_mlcc
from .errors import UsageError
from .scenario import Overrides

T = TypeVar("T")
MAX_SEED = 10**9
MAX_REPEAT = 1000
# Two runs have an interval, too, of 12.7 standard errors.
MIN_PAIRS = 3


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as every error of the lab; an epilog is examples."""

    def __init__(self, **words: Any) -> None:
        if "epilog" in words:
            words["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(**words)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def as_argument(parse: Callable[[], T]) -> T:
    """What argparse says itself of a ValueError is without its text."""
    try:
        return parse()
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def whole(low: int, high: int) -> Callable[[str], int]:
    """A number without a point."""

    def parse(text: str) -> int:
        return as_argument(lambda: units.whole(text, low, high))

    return parse


def number(low: float, high: float) -> Callable[[str], float]:
    """A number with or without one."""
    return lambda text: as_argument(lambda: units.number(text, low, high))


# That rates are multiplied with.
factor = number(0.01, 10)


def seeds(text: str) -> range:
    """The first and the last one: "1-10"."""
    match = re.fullmatch(r"(\d{1,10})-(\d{1,10})", text)
    first, last = (int(match[1]), int(match[2])) if match else (1, 0)
    if last > MAX_SEED or not first <= last < first + MAX_REPEAT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the first and the last seed of at most {MAX_REPEAT}, like 1-10"
        )
    return range(first, last + 1)


def compared_seeds(text: str) -> range:
    """The same, enough of them for a verdict."""
    found = seeds(text)
    if len(found) < MIN_PAIRS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is fewer than {MIN_PAIRS} seeds: too few to judge"
        )
    return found


def settled_seeds(options: argparse.Namespace) -> range:
    """Two ways to say them."""
    if options.seed is None and options.repeat is None:
        return options.seeds or range(1, 2)
    if options.seeds:
        raise UsageError("--seeds: not together with --seed or --repeat")
    first = 1 if options.seed is None else options.seed
    return range(first, first + (options.repeat or 1))


def of_link(key: str) -> Callable[[str], str]:
    """A word that [link] takes for a key."""

    def parse(text: str) -> str:
        as_argument(lambda: link.FIELDS[key].parse(text))
        return text

    return parse


# Options that stand for keys of [link].
LINK_OPTIONS = ("rate", "mtu", "offloads", "coalesce")


def overrides(options: argparse.Namespace) -> Overrides:
    """What the command line says of each scenario."""
    said = {key: getattr(options, key) for key in LINK_OPTIONS if getattr(options, key) is not None}
    if "offloads" in said:
        said["offloads"] = said["offloads"] == "on"
    return Overrides(said, {} if options.flows is None else {"flows": options.flows})


def builds(text: str) -> list[Path]:
    """Two folders with a comma between them."""
    folders = text.split(",")
    if len(folders) != 2 or not all(folders):
        raise argparse.ArgumentTypeError(f"{text!r} is not two folders, like old,new")
    return list(map(Path, folders))


def compared_cc(text: str) -> str:
    """A congestion control that a build brings."""
    if len(cc_list(text)) > 1 or not is_mlcc(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not mlcc, with or without a profile")
    return text


def cc_list(text: str) -> list[str]:
    """Congestion controls, with commas between them."""
    ccs = text.split(",")
    for cc in ccs:
        if not re.fullmatch(r"mlcc(:[A-Za-z0-9_-]+)?(\+hints|\+led)?|[a-z0-9_-]{1,15}", cc):
            raise argparse.ArgumentTypeError(f"{cc!r} is not a congestion control")
    if len(set(ccs)) < len(ccs):
        raise argparse.ArgumentTypeError("names a congestion control twice")
    return ccs
