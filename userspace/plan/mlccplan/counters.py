# SPDX-License-Identifier: BSD-2-Clause
"""Watches the byte counters of an interface, or of an RDMA device's port, while a job runs."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from . import progress
from .errors import PlanError
from .traffic import PEERS, Flow, Traffic, ordered

SYSFS = Path("/sys")
WORD_BYTES = 4  # port_xmit_data counts in words of four bytes, as InfiniBand has it

Read = Callable[[], tuple[int, int]]


def reader(device: str, sysfs: Path = SYSFS) -> Read:
    """What reads the bytes sent and received so far; mlx5_0/1 is a port of an RDMA device."""
    name, _, port = device.partition("/")
    counters = sysfs / "class" / "net" / name / "statistics"
    names, unit = ("tx_bytes", "rx_bytes"), 1
    if port or not counters.is_dir():
        counters = sysfs / "class" / "infiniband" / name / "ports" / (port or "1") / "counters"
        names, unit = ("port_xmit_data", "port_rcv_data"), WORD_BYTES
    if name in ("", ".", "..") or "/" in port or not counters.is_dir():
        there = sorted(path.name for kind in ("net", "infiniband") for path in _all(sysfs, kind))
        raise PlanError(f"{device[:40]!a}: no such interface; there are {', '.join(there)[:200]}")

    def read() -> tuple[int, int]:
        try:
            sent, received = (int((counters / one).read_text("ascii")) * unit for one in names)
        except (OSError, ValueError) as error:
            raise PlanError(f"{device}: its counters cannot be read: {error}") from None
        return sent, received

    return read


def _all(sysfs: Path, kind: str) -> list[Path]:
    folder = sysfs / "class" / kind
    return list(folder.iterdir()) if folder.is_dir() else []


def watch(
    device: str,
    read: Read,
    seconds: float,
    every: float,
    part: Callable[[str, float], None] = progress.part,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Traffic:
    """Read the counters every so many seconds, and see what was added."""
    rows = [(clock(), *read())]
    end = rows[0][0] + seconds
    while rows[-1][0] < end:
        sleep(every)
        rows.append((clock(), *read()))
        part(f"watching {device}", 1 - max(0.0, end - rows[-1][0]) / seconds)
    when, sent, received = (np.array(column) for column in zip(*rows, strict=True))
    # a device that was reset begins at 0 again
    added = [np.maximum(0, np.diff(count)) for count in (sent, received)]
    nbytes = np.concatenate(added)
    if not nbytes.any():
        raise PlanError(f"{device}: no bytes in {seconds:g} s")
    columns = (np.tile(when[1:], 2), nbytes, nbytes, np.repeat([0, 1], len(when) - 1))
    flows = (Flow(device, PEERS), Flow(PEERS, device))
    return ordered(device, columns, "interface", "frames", flows)
