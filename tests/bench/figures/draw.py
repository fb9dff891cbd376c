# SPDX-License-Identifier: GPL-2.0
"""Scenarios drawn at random: what a change is judged by, which nobody has tuned anything to.

Each kind comes in turn, so that a few scenarios have all of them.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlcclab import program, scenario
from mlcclab.errors import EXIT_OK, LabError
from mlcclab.options import MAX_SEED, Parser, whole

from .hostile import Cell, Keys, write

GOODPUT = 0.945e9  # of 1 Gb/s, bits a second
BUFFERS = ("256KiB", "1MiB", "2MiB")
SMALL_BUFFERS = (40_000, 80_000, 150_000)
DROPTAIL = {"rate": "1gbit", "queue": "droptail"}
COUNT_MAX = 1000

EPILOG = """\
examples:
  tests/bench/draw --seed 5 --count 16 build/drawn
  tests/lab/mlcc-lab compare build/drawn/*.toml --builds ../with,../without
"""

Rng = random.Random


def _job(rng: Rng, index: int, period_ms: float, load: float) -> Keys:
    """A job that needs that part of the link, of its period when alone."""
    comm_ms = period_ms * load
    return {
        "name": f"job{index}",
        "phase_bytes": int(comm_ms * GOODPUT / 8e3),
        "compute_ms": round(period_ms - comm_ms, 1),
        "noise": rng.choice([0.01, 0.02, 0.05]),
        "flows": rng.choice([1, 1, 1, 4]),
        "start_ms": rng.choice([0.0, round(rng.uniform(0, period_ms), 1)]),
    }


def _jobs(rng: Rng, factors: Sequence[float], load: tuple[float, float]) -> tuple[Keys, ...]:
    """Two to six, whose loads add up to one within bounds; periods differ by the factors."""
    base = rng.uniform(150, 320)
    weights = [rng.uniform(0.5, 1.5) for _ in range(rng.choice([2, 3, 3, 4, 6]))]
    whole = rng.uniform(*load) / sum(weights)
    return tuple(
        _job(rng, index, base * rng.choice(factors), weight * whole)
        for index, weight in enumerate(weights)
    )


Kind = Callable[[Rng], Cell]


def _droptail(
    about: str, buffers: Sequence[Any], factors: Sequence[float], load: tuple[float, float]
) -> Kind:
    """Jobs behind a queue that drops, and nothing else."""

    def kind(rng: Rng) -> Cell:
        link = {**DROPTAIL, "limit": rng.choice(buffers)}
        return Cell("", about, link, _jobs(rng, factors, load))

    return kind


def _marks(rng: Rng) -> Cell:
    link = {**DROPTAIL, "queue": "red-ecn", "limit": "1MiB"}
    link["ecn_threshold"] = rng.choice([30_000, 65_000])
    return Cell("", "ECN marks", link, _jobs(rng, [1.0], (0.6, 0.95)))


def _ring(rng: Rng) -> Cell:
    jobs = _jobs(rng, [1.0], (0.5, 0.85))[:3]
    rings = tuple({**job, "pattern": "ring", "workers": 2, "flows": 1} for job in jobs)
    return Cell("", "rings: traffic both ways", {**DROPTAIL, "limit": "1MiB"}, rings)


def _beside(rng: Rng) -> Cell:
    link = {**DROPTAIL, "limit": rng.choice([60_000, 256_000, 1_000_000])}
    flows: list[Keys] = [
        {"name": "backup", "kind": "bulk", "cc": rng.choice(["cubic", "reno", "bbr"])}
    ]
    if rng.random() < 0.5:
        flows.append({"name": "web", "kind": "short", "bytes": 100_000, "every_ms": 50.0})
    jobs = _jobs(rng, [1.0], (0.2, 0.4))[:2]
    return Cell("", "beside ordinary traffic", link, jobs, tuple(flows))


KINDS: dict[str, Kind] = {
    "equal": _droptail("jobs of equal periods", BUFFERS, [1.0], (0.6, 0.99)),
    "free": _droptail("periods near each other", BUFFERS, [1.0, 1.05, 1.12, 1.2], (0.6, 0.95)),
    "beside": _beside,
    "ring": _ring,
    "small": _droptail("a small buffer", SMALL_BUFFERS, [1.0], (0.6, 0.95)),
    "marks": _marks,
    "crowded": _droptail("more than the link has", BUFFERS, [1.0], (1.05, 1.4)),
    "harmonic": _droptail("periods 1 : 2", BUFFERS, [1.0, 2.0], (0.6, 0.95)),
}


def draw(seed: int, count: int) -> list[Cell]:
    """The first ones do not change if more are drawn."""
    rng = random.Random(seed)
    kinds = list(KINDS)
    drawn = []
    for number in range(count):
        kind = kinds[number % len(kinds)]
        drawn.append(replace(KINDS[kind](rng), name=f"drawn-{number:03}-{kind}"))
    return drawn


def main(arguments: Sequence[str]) -> int:
    """Parse, draw, and turn every error into one line."""
    return program.run("draw", lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="tests/bench/draw",
        description="Draw scenarios at random, for mlcc-lab run and compare.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("--seed", type=whole(0, MAX_SEED), default=1, help="the same one draws the same")
    add("--count", type=whole(1, COUNT_MAX), default=16, help="how many (default 16)")
    add("folder", type=Path, help="where they are written")
    options = parser.parse_args(arguments)
    drawn = draw(options.seed, options.count)
    try:
        write(drawn, options.folder)
    except OSError as error:
        raise LabError(f"{options.folder}: {error.strerror}") from None
    for cell in drawn:  # what is written can be read
        scenario.load(options.folder / f"{cell.name}.toml")
    return EXIT_OK
