# SPDX-License-Identifier: GPL-2.0
"""ECN marks, random loss, a policer and interrupt moderation by BPF (wire.bpf.c)."""

import json
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import shell

OBJECT = Path(__file__).resolve().parents[1] / "wire.bpf.o"
# ns_per_kib, burst_ns, limit_ns, mark_ns, loss, busy, marked, lost
LAYOUT = struct.Struct("=8Q")
MARKED, LOST = 6, 7
KEY = ["key", "hex", "00", "00", "00", "00"]


def buildable() -> bool:
    """Whether this machine has what it takes."""
    return OBJECT.exists() and shutil.which("bpftool") is not None


class Program:
    """One program at one device, with settings of its own."""

    def __init__(self, namespace: str, device: str, section: str, settings: Sequence[int]) -> None:
        where = "ingress" if section == "tc/lose" else "egress"
        tc = ["tc", "-n", namespace]
        shell.attempt([*tc, "qdisc", "add", "dev", device, "clsact"])
        add = [*tc, "filter", "add", "dev", device, where, "bpf", "direct-action"]
        shell.run([*add, "object-file", str(OBJECT), "section", section])
        shown = json.loads(shell.run([*tc, "-j", "filter", "show", "dev", device, where]))
        program = next(f["options"]["prog"]["id"] for f in shown if "options" in f)
        self.map = str(_bpftool("prog", "show", "id", str(program))["map_ids"][0])
        value = LAYOUT.pack(*settings, *([0] * (8 - len(settings))))
        words = [f"{byte:02x}" for byte in value]
        shell.run(["bpftool", "map", "update", "id", self.map, *KEY, "value", "hex", *words])

    def counts(self) -> tuple[int, int]:
        """Packets marked and lost so far."""
        found = _bpftool("map", "lookup", "id", self.map, *KEY)
        value = bytes(int(byte, 16) for byte in found["value"])
        counted = LAYOUT.unpack(value)
        return int(counted[MARKED]), int(counted[LOST])


def marker(
    namespace: str, device: str, rate: float, burst: int, limit: int, threshold: int
) -> Program:
    """CE-mark what finds more than threshold bytes in the token bucket's queue."""
    sizes = [int(size * 8e9 / rate) for size in (1024, burst, limit, threshold)]
    return Program(namespace, device, "tc/mark", sizes)


def loser(namespace: str, device: str, loss: float) -> Program:
    """Lose arriving packets at random, with this probability."""
    return Program(namespace, device, "tc/lose", [0, 0, 0, 0, int(loss * 2**32)])


def policer(namespace: str, device: str, rate: float, depth: int) -> Program:
    """Drop what finds too little in a bucket of that depth, which fills at the rate."""
    sizes = [int(size * 8e9 / rate) for size in (1024, depth)]
    return Program(namespace, device, "tc/police", sizes)


def moderate(namespace: str, device: str, flush_ns: int) -> None:
    """Have a device take in packets at most every so often: its interrupt moderation.

    NAPI puts its next poll off, and would keep back what GRO has joined even longer than that: up
    to a tick. A generic XDP program turns GRO off and leaves NAPI, which a veth link has for GRO.
    """
    attach = ["xdpgeneric", "obj", str(OBJECT), "sec", "xdp.frags/moderate"]
    shell.run(["ip", "-n", namespace, "link", "set", "dev", device, *attach])
    settings = {"napi_defer_hard_irqs": 1, "gro_flush_timeout": flush_ns}
    lines = [f"echo {v} > /sys/class/net/{device}/{key}" for key, v in settings.items()]
    shell.run(["ip", "netns", "exec", namespace, "sh", "-e"], "\n".join(lines) + "\n")


def _bpftool(*words: str) -> Any:
    return json.loads(shell.run(["bpftool", "-j", *words]))
