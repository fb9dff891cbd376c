#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes mlcc-lab's traces as C: the steps of an iteration of 268 ms at 1 Gb/s, for some duties.

Each iteration begins after its longest silence, as in the lab.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))
from mlcclab import traces

PERIOD_MS = 268.0
BPS = 1e9
DUTIES = (0.3, 0.38, 0.45, 0.55)


def table(name: str, duty: float) -> str:
    """A trace as an array of struct step."""
    steps, nbytes, compute_ms = traces.fitted(traces.load(name), PERIOD_MS, duty, BPS)
    rows = (
        f"\t{{ {step.compute * compute_ms * 1e3:.0f}, {sent}, {step.overlaps:d} }},\n"
        for step, sent in zip(steps, traces.shared(steps, nbytes), strict=True)
    )
    return f"static const struct step {symbol(name, duty)}[] = {{\n{''.join(rows)}}};\n"


def symbol(name: str, duty: float) -> str:
    """What the array is called."""
    return f"{name.replace('-', '_')}_{round(duty * 100)}"


def main() -> None:
    """Print the header."""
    print("/* written by steps.py */")
    for name in traces.NAMES:
        print("".join(table(name, duty) for duty in DUTIES))


if __name__ == "__main__":
    main()
