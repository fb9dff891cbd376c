# SPDX-License-Identifier: GPL-2.0
"""The bottleneck of a scenario: its queue, the wire behind it, and what changes in a run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from . import schema, units
from .errors import UsageError
from .schema import Field, key

# Up to this a veth path is as slow by itself: no netem for it.
FREE_DELAY_S = 50e-6
# DCTCP's marking threshold at 1 Gb/s: about 20 full frames (Alizadeh 2010).
ECN_THRESHOLD = 30_000
# Two frames at least.
MIN_LIMIT = 3_000
MAX_LIMIT = 1 << 30

MTUS = (units.MTU, units.JUMBO_MTU)
# What TCP hands over at once, as Linux has it (gso_max_size).
GSO_BYTES = 65_536
NO_RATE = "none"
UNSHAPED = math.inf
MAX_RATE = 40e9
# What a token bucket may save: its timer is not more exact.
TIMER_JITTER_S = 0.0005
MAX_COALESCE_S = 0.001
RING_FRAMES = 256  # what a veth link holds until it is polled
QUEUES = ("droptail", "red-ecn", "fq_codel", "prio", "policer")


def _rate(value: Any) -> float:
    """A rate, or that there is none."""
    if value == NO_RATE:
        return UNSHAPED
    try:
        return float(schema.rate(1e6, MAX_RATE)(value))
    except ValueError as error:
        raise ValueError(f'{error}; "{NO_RATE}": no limit but the machine') from None


@dataclass(frozen=True)
class Change:
    """Another rate, or another delay, from some time of the run on."""

    at_ms: float = key(schema.number(0.0, 3_600_000.0))
    rate: float | None = key(schema.rate(1e6, MAX_RATE), None)
    delay: float | None = key(schema.duration(10.0), None)


@dataclass(frozen=True)
class Link:
    """The bottleneck, the same in both directions but for ack_slot."""

    rate: float = key(_rate)  # UNSHAPED: none, the machine is the limit
    queue: str = key(schema.choice(*QUEUES), "droptail")
    limit: int = key(schema.size(MIN_LIMIT, MAX_LIMIT), None)
    delay: float = key(schema.duration(10.0), 0.0)
    loss: float = key(schema.number(0.0, 0.5), 0.0)
    ecn_threshold: int = key(schema.size(3_000, MAX_LIMIT), ECN_THRESHOLD)
    jitter: float = key(schema.duration(1.0), 0.0)
    ack_slot: float = key(schema.duration(1.0), 0.0)
    reorder: float = key(schema.number(0.0, 0.5), 0.0)
    mtu: int = key(schema.choice(*MTUS), units.MTU)
    offloads: bool = key(schema.flag, None)
    coalesce: float = key(schema.duration(MAX_COALESCE_S), 0.0)  # least time between interrupts
    paths: int = key(schema.integer(1, 16), 1)  # bottlenecks side by side, which share the rate
    scale: float = 1.0  # of what a sender hands over at once, as of all sizes
    changes: tuple[Change, ...] = ()

    @property
    def shaped(self) -> bool:
        """Whether there is a bottleneck at all."""
        return self.rate < UNSHAPED

    @property
    def goodput_bps(self) -> float:
        """What TCP can deliver through it."""
        return units.goodput_bps(self.rate, self.mtu)

    @property
    def frame(self) -> int:
        """A full-sized frame, as the queue counts it."""
        return self.mtu + units.ETHERNET

    @property
    def one_path(self) -> "Link":
        """One of the bottlenecks that it is made of."""
        return replace(self, rate=self.rate / self.paths, paths=1)

    @property
    def gso_bytes(self) -> int:
        """What a sender may hand over at once: with offloads what Linux allows, else two frames."""
        two_frames = 2 * self.mtu + 100
        if not self.offloads:
            return two_frames
        return max(two_frames, round(min(1.0, self.scale) * GSO_BYTES))

    @property
    def wired(self) -> bool:
        """Whether there is netem behind the queue: for more than random loss."""
        delays = [self.delay, *(change.delay or 0.0 for change in self.changes)]
        return max(delays) > FREE_DELAY_S or bool(self.jitter or self.ack_slot or self.reorder)

    @property
    def needs(self) -> set[str]:
        """What the machine must have for it."""
        needs = {"netem"} if self.wired else set()
        if self.loss:
            needs.add("loss")
        if self.coalesce:
            needs.add("coalesce")
        if self.queue != "droptail":
            needs.add({"red-ecn": "red"}.get(self.queue, self.queue))
        return needs

    def after(self, change: Change) -> "Link":
        """The same as it is from then on."""
        rate = self.rate if change.rate is None else change.rate
        delay = self.delay if change.delay is None else change.delay
        return replace(self, rate=rate, delay=delay)

    def capacity_bits(self, seconds: float) -> float:
        """What it can carry in that time, from the start of a run on."""
        ends = [*(change.at_ms / 1e3 for change in self.changes), seconds]
        now, since, bits = self, 0.0, 0.0
        for end, change in zip(ends, [*self.changes, None], strict=True):
            bits += now.rate * (min(end, seconds) - since)
            since = min(end, seconds)
            now = now.after(change) if change else now
        return bits

    def scaled(self, factor: float) -> "Link":
        """The same in time at another speed; the queue keeps room for a few frames."""
        changes = (
            replace(change, rate=change.rate * factor if change.rate else None)
            for change in self.changes
        )
        return replace(
            self,
            rate=self.rate * factor,
            scale=self.scale * factor,
            limit=max(30_000, round(self.limit * factor)),
            ecn_threshold=max(3_000, round(self.ecn_threshold * factor)),
            changes=tuple(changes),
        )


FIELDS = schema.keys(Link) | {
    "limit_bdp": Field(schema.number(0.01, 100.0), None),
    "rtt": Field(schema.duration(10.0), None),
    "change": Field(lambda value: value, []),
}

# What only a bottleneck has; a limit without one is of no queue.
SHAPING = ("limit_bdp", "delay", "loss", "jitter", "ack_slot", "reorder", "coalesce", "change")

NOT_OF_PATHS = ("delay", "loss", "jitter", "ack_slot", "reorder", "coalesce")

DEFAULT_LIMIT = 1 << 20


def parse(table: Any, offloads: bool = True, instead: Mapping[str, Any] | None = None) -> Link:
    """Turn the table [link] into one; offloads: whether the transport can have them."""
    raw = schema.read_table("link", table, FIELDS, instead)
    if raw["reorder"] and raw["delay"] <= FREE_DELAY_S:
        raise UsageError("link.reorder: needs a delay: what overtakes does not wait for it")
    if raw["rate"] == UNSHAPED:
        _check_unshaped(raw)
    changes = tuple(_changes(raw.pop("change"), raw["queue"]))
    limit = _limit(raw)
    if limit < 2 * raw["mtu"]:
        raise UsageError(f"link.limit: {limit} bytes are less than two frames of mtu {raw['mtu']}")
    for name in ("offloads", "coalesce"):
        if raw[name] and not offloads:
            raise UsageError(f"link.{name}: only with transport = tcp or net")
    if raw["offloads"] is None:
        raw["offloads"] = offloads and limit >= 2 * GSO_BYTES
    if raw["coalesce"]:
        _check_coalesce(raw)
    if raw["paths"] > 1:
        _check_paths(raw, changes)
    raw["limit"] = limit
    return Link(**{name: raw[name] for name in schema.keys(Link)}, changes=changes)


def _check_unshaped(raw: dict[str, Any]) -> None:
    """Without a bottleneck there is nothing that drops, marks, delays or changes."""
    if raw["paths"] > 1:
        raise UsageError(f'link.paths: needs a rate, not "{NO_RATE}"')
    if raw["queue"] != "droptail":
        raise UsageError(f'link.queue: {raw["queue"]} needs a rate, not "{NO_RATE}"')
    for name in SHAPING:
        if raw[name]:
            raise UsageError(f'link.{name}: needs a rate, not "{NO_RATE}"')


def _check_paths(raw: dict[str, Any], changes: tuple[Change, ...]) -> None:
    """Several bottlenecks have no wire behind them."""
    said = [name for name in NOT_OF_PATHS if raw[name]]
    said += ["change" for change in changes if change.delay]
    for name in said:
        raise UsageError(f"link.paths: one only, together with {name}")


def _check_coalesce(raw: dict[str, Any]) -> None:
    """What comes while a veth link waits has to find room in its ring, a burst included."""
    if not raw["offloads"]:
        raise UsageError("link.coalesce: needs offloads: without them nothing is taken in by NAPI")
    room_s = RING_FRAMES * (raw["mtu"] + units.ETHERNET) * 8 / raw["rate"] - TIMER_JITTER_S
    if raw["coalesce"] > room_s:
        most = max(0, math.floor(room_s * 1e6))
        raise UsageError(f"link.coalesce: {most}us at most at this rate and MTU")


def _limit(raw: dict[str, Any]) -> int:
    """Two ways to say it: bytes, or a part of what is under way in a round trip."""
    if raw["limit_bdp"] is None:
        if raw["rtt"] is not None:
            raise UsageError("link.rtt: only with limit_bdp")
        return int(raw["limit"] or DEFAULT_LIMIT)
    if raw["limit"] is not None:
        raise UsageError("link.limit_bdp: not together with limit")
    rtt = 2 * max(raw["delay"], FREE_DELAY_S) if raw["rtt"] is None else raw["rtt"]
    limit = round(raw["limit_bdp"] * raw["rate"] / 8 * rtt)
    if not MIN_LIMIT <= limit <= MAX_LIMIT:
        raise UsageError(
            f"link.limit_bdp: {limit}: from {MIN_LIMIT} to {MAX_LIMIT} bytes is wanted"
        )
    return limit


def _changes(tables: Any, queue: str) -> list[Change]:
    found = []
    for where, table in schema.array("link.change", tables, 0, 1000):
        change = Change(**schema.read_table(where, table, schema.keys(Change)))
        if change.rate is None and change.delay is None:
            raise UsageError(f"{where}: neither rate nor delay")
        if change.rate is not None and queue != "droptail":
            raise UsageError(f"{where}.rate: only with queue = droptail")
        found.append(change)
    for index, (earlier, later) in enumerate(pairwise(found), 1):
        if later.at_ms <= earlier.at_ms:
            raise UsageError(f"link.change[{index}].at_ms: not later than the one before")
    return found
