# SPDX-License-Identifier: GPL-2.0
"""The cells of the hostile suite: networks unlike the lab's usual one, as scenarios of mlcc-lab."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .tables import NATIVE, RESULTS, ROOT, Measurement, Place, Table

KEPT = ROOT / "build" / "hostile"
CCS = ("cubic", "reno", "mlcc")
KERNEL = "6.12"
# The page that the verdicts are written to; its rows are no columns of one congestion control.
TABLE = Table("hostile", RESULTS, "hostile networks", NATIVE, (), ())

Keys = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Cell:
    """One network, who is on it, and for how many iterations."""

    name: str
    about: str
    link: Keys
    jobs: tuple[Keys, ...]
    flows: tuple[Keys, ...] = ()
    iterations: int = 24
    judged: str | None = None  # the job that counts; None: all
    kernel: str | None = None  # of a virtual machine, for netem

    @property
    def alone(self) -> bool:
        """Whether the job has the network for itself."""
        return len(self.jobs) == 1 and not self.flows

    def toml(self) -> str:
        """As mlcc-lab reads it."""
        top = {"name": self.name, "about": self.about, "kind": "beside"}
        lines = [*_lines(top), *_table("[link]", self.link)]
        for kind, tables in (("job", self.jobs), ("flow", self.flows)):
            for table in tables:
                lines += _table(f"[[{kind}]]", table)
        return "# SPDX-License-Identifier: GPL-2.0\n" + "\n".join(lines) + "\n"


def _lines(keys: Keys) -> Iterator[str]:
    """JSON's strings, numbers, booleans and lists of them are TOML's."""
    for key, value in keys.items():
        yield f"{key} = {json.dumps(value)}"


def _table(head: str, keys: Keys) -> Iterator[str]:
    """Tables in it come last: TOML gives them all that follows."""
    yield from ("", head)
    yield from _lines({key: value for key, value in keys.items() if key != "change"})
    for change in keys.get("change", ()):
        yield from _table("[[link.change]]", change)


def write(cells: Sequence[Cell], folder: Path) -> None:
    """A scenario file for each: what is measured, and what anyone may run by hand."""
    folder.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        (folder / f"{cell.name}.toml").write_text(cell.toml(), encoding="utf-8")


def measurement(cell: Cell, folder: Path) -> Measurement:
    """What mlcc-lab has to run for a cell."""
    place = Place(cell.kernel or "native", cell.iterations, cell.kernel, scenarios=folder)
    return Measurement(cell.name, place, CCS)


# On this kernel: 1 Gb/s and a round trip of some 50 us, so that buffers are many times what is
# under way. Three of the jobs need 90 % of the link.
NOISE = 0.02
FAST = {"rate": "1gbit"}
JOB = {"name": "bert", "phase_bytes": 10_000_000, "compute_ms": 195.2, "noise": NOISE}
# A quarter of the link when alone.
LIGHT = {"name": "bert", "phase_bytes": 5_000_000, "compute_ms": 140.0, "noise": NOISE}
THREE = tuple({**JOB, "name": name} for name in ("bert", "gpt", "vgg19"))
BULK = {"name": "backup", "kind": "bulk", "cc": "cubic"}
WEB = {"name": "web", "kind": "short", "bytes": 50_000, "every_ms": 25.0}
LATE = {**LIGHT, "start_ms": 3000.0, "connect_late": True}
# One transfer with hardly a pause, announced as small phases, a new one every 20 ms.
LIAR = {
    "name": "liar",
    "phase_bytes": 20_000_000,
    "compute_ms": 0.0,
    "hint": "exact",
    "claim": 0.1,
    "restart_ms": 20.0,
}

# In a virtual machine: 200 Mb/s, and netem for the round trip.
SLOW = {"rate": "200mbit", "delay": "5ms"}
SLOW_JOB = {**JOB, "phase_bytes": 2_000_000}
SLOW_THREE = tuple({**job, "phase_bytes": 2_000_000} for job in THREE)
FAR_JOB = {**JOB, "phase_bytes": 10_000_000, "compute_ms": 600.0}


def _bytes(size: int) -> str:
    return f"{size // 1000}k"


def _small_buffers() -> Iterator[Cell]:
    for size in (30_000, 60_000, 128_000):
        link, text = {**FAST, "limit": size}, f"{size // 1000} kB"
        yield Cell(f"alone-{_bytes(size)}", f"a job alone, {text}", link, (JOB,))
        yield Cell(f"three-{_bytes(size)}", f"three equal jobs, {text}", link, THREE)


def _neighbours() -> Iterator[Cell]:
    for size in (60_000, 500_000):
        link, text = {**FAST, "limit": size}, f"{size // 1000} kB"
        for cc in ("cubic", "reno", "bbr"):
            name, about = f"bulk-{cc}-{_bytes(size)}", f"a job beside a {cc} transfer, {text}"
            yield Cell(name, about, link, (LIGHT,), ({**BULK, "cc": cc},))
        about = f"a job beside a transfer and short flows, {text}"
        yield Cell(f"web-{_bytes(size)}", about, link, (LIGHT,), (BULK, WEB), iterations=60)
        about = f"connects into a full queue of {text}"
        yield Cell(f"born-{_bytes(size)}", about, link, (LATE,), (BULK,))
    link = {**FAST, "limit": 500_000}
    about = "a job beside a transfer, six minutes"
    yield Cell("long-500k", about, link, (LIGHT,), (BULK,), iterations=1650)


def _rate(at_ms: float, rate: str) -> Keys:
    return {"at_ms": at_ms, "rate": rate}


def _changes() -> Iterator[Cell]:
    down, up = {**FAST, "limit": 500_000}, {"rate": "500mbit", "limit": 500_000}
    halves = {**down, "change": [_rate(3000.0, "500mbit")]}
    doubles = {**up, "change": [_rate(3000.0, "1gbit")]}
    rates = [_rate(1500.0 * i, "500mbit" if i % 2 else "1gbit") for i in range(1, 20)]
    yield Cell("rate-halves", "a job alone, the rate halves", halves, (JOB,))
    yield Cell("rate-doubles", "a job alone, the rate doubles", doubles, (JOB,))
    swings = {**down, "change": rates}
    yield Cell("rate-swings", "three jobs, the rate halves and doubles", swings, THREE)


def _liars() -> Iterator[Cell]:
    link = {**FAST, "limit": 500_000}
    for hint, how in (("none", "learns"), ("exact", "announces")):
        honest, about = {**LIGHT, "hint": hint}, f"a job that {how} its phases, beside a liar"
        yield Cell(f"liar-{how}", about, link, (honest, LIAR), judged=str(LIGHT["name"]))


def _guest(name: str, about: str, link: Keys, jobs: tuple[Keys, ...], *flows: Keys) -> Cell:
    return Cell(name, about, link, jobs, flows, kernel=KERNEL)


def _bdps() -> Iterator[Cell]:
    for part in (0.1, 0.3, 1):
        link, text = {**SLOW, "limit_bdp": part}, f"{part} BDP of 10 ms"
        yield _guest(f"alone-bdp-{part}", f"a job alone, {text}", link, (SLOW_JOB,))
        yield _guest(f"three-bdp-{part}", f"three equal jobs, {text}", link, SLOW_THREE)
        about = f"a job beside a transfer, {text}"
        yield _guest(f"bulk-bdp-{part}", about, link, (SLOW_JOB,), BULK)
    far = {**SLOW, "delay": "50ms", "limit_bdp": 1}
    yield _guest("alone-100ms", "a job alone, 1 BDP of 100 ms", far, (FAR_JOB,))


def _policers() -> Iterator[Cell]:
    """Without a queue and with a round trip of 50 us TCP is what its time-outs are: 200 ms each."""
    deep = {**FAST, "queue": "policer", "limit": 1_000_000}
    yield Cell("policer-deep", "a job alone, policed, 1 MB", deep, (JOB,), iterations=12)
    link, text = {**SLOW, "queue": "policer", "limit": 60_000}, "policed, 60 kB, 10 ms"
    yield _guest("policer-alone", f"a job alone, {text}", link, (SLOW_JOB,))
    yield _guest("policer-three", f"three equal jobs, {text}", link, SLOW_THREE)
    yield _guest("policer-bulk", f"a job beside a transfer, {text}", link, (SLOW_JOB,), BULK)


def _wires() -> Iterator[Cell]:
    link = {**SLOW, "limit_bdp": 1}
    for name, text, wire in (
        ("jitter", "jitter of 4 ms", {"jitter": "4ms"}),
        ("reorder", "1 % overtakes", {"reorder": 0.01}),
        ("ack-slots", "ACKs every 5 ms", {"ack_slot": "5ms"}),
    ):
        yield _guest(f"{name}-alone", f"a job alone, {text}", {**link, **wire}, (SLOW_JOB,))
        yield _guest(f"{name}-three", f"three equal jobs, {text}", {**link, **wire}, SLOW_THREE)
    limit = {"rate": "200mbit", "limit_bdp": 1, "rtt": "10ms"}
    for name, first, then in (("longer", "1ms", "5ms"), ("shorter", "5ms", "1ms")):
        path = {**limit, "delay": first, "change": [{"at_ms": 3000.0, "delay": then}]}
        yield _guest(f"path-{name}", f"a job alone, the path gets {name}", path, (SLOW_JOB,))


CELLS = (
    *_small_buffers(),
    *_neighbours(),
    *_changes(),
    *_liars(),
    *_policers(),
    *_bdps(),
    *_wires(),
)
