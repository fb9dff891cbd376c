# SPDX-License-Identifier: GPL-2.0
"""Runs mlcc-lab, and keeps each report so that a second run measures only what is missing."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from mlcclab import scenario, shell
from mlcclab.errors import LabError
from mlcclab.schedule import Contender, Request, Schedule

from .cells import Json
from .page import Kept
from .tables import ROOT, SEEDS, Measurement

LAB = ROOT / "tests" / "lab" / "mlcc-lab"
KEPT = ROOT / "build" / "results"

# Of a run: loading a carrier, starting the hosts' processes, iterations that are not isolated.
SETUP_S = 1.5
# A second of a guest that is emulated takes some four, and it has to boot.
GUEST_PACE = 4.0
GUEST_BOOT_S = 60.0

Lab = Callable[[Measurement, Path], None]


def path_of(folder: Path, commit: str, wanted: Measurement) -> Path:
    """Where the report of a measurement is kept."""
    return folder / commit / wanted.place.name / f"{wanted.scenario}.json"


def read(folder: Path, commit: str, wanted: Measurement) -> Kept | None:
    """What was kept, if it is whole and of the same protocol."""
    try:
        kept = Kept(**json.loads(path_of(folder, commit, wanted).read_text(encoding="utf-8")))
        return kept if kept.commit == commit and _asked(kept.report) == _asks(wanted) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _asked(report: Json) -> Json:
    asked = {key: report[key] for key in ("scenario", "seed", "repeat", "iterations")}
    return {**asked, "ccs": [result["cc"] for result in report["results"]]}


def _asks(wanted: Measurement) -> Json:
    return {
        "scenario": wanted.scenario,
        "seed": SEEDS.start,
        "repeat": len(SEEDS),
        "iterations": wanted.place.iterations,
        "ccs": list(wanted.ccs),
    }


def measure(folder: Path, commit: str, wanted: Measurement, lab: Lab) -> Kept:
    """Run the lab, and keep what it found: whole or not at all."""
    path = path_of(folder, commit, wanted)
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = path.with_suffix(".lab")
    began = time.monotonic()
    try:
        lab(wanted, raw)
        report = json.loads(raw.read_text(encoding="utf-8"))
    finally:
        raw.unlink(missing_ok=True)
    took = round(time.monotonic() - began, 1)
    date = time.strftime("%Y-%m-%d", time.gmtime())
    kept = Kept(commit, date, _cpus(wanted), took, report)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="utf-8")
    new.replace(path)
    return kept


def command(wanted: Measurement, report: Path) -> list[str]:
    """What measures it, by hand as well."""
    place = wanted.place
    words = [str(LAB), "run", str(wanted.file), "--quick", "--cc", ",".join(wanted.ccs)]
    words += ["--seeds", f"{SEEDS[0]}-{SEEDS[-1]}", "--iterations", str(place.iterations)]
    if place.kernel:
        words += ["--vm", place.kernel, "--scale", f"{place.scale:g}"]
    return [*words, "--json", str(report)]


def run_lab(wanted: Measurement, report: Path) -> None:
    """One run; an interrupt waits until the lab has taken down what it set up."""
    status = shell.attend(command(wanted, report), subprocess.DEVNULL)
    if status:
        raise LabError(f"mlcc-lab: status {status}")


def build() -> None:
    """Native runs use what lies in the tree, so it has to be what the sources say."""
    words = ["make", "--no-print-directory", "-C", str(ROOT), "all"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"make all: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")


def expected_seconds(wanted: Measurement) -> float:
    """How long a measurement takes: what the lab expects, and what is around each run."""
    place = wanted.place
    loaded = scenario.load(wanted.file)
    request = Request(loaded, place.iterations, SEEDS.start, len(SEEDS), False, 0.0)
    schedule = Schedule(request, [Contender(cc, cc, None) for cc in wanted.ccs])
    seconds = schedule.seconds() + SETUP_S * request.repeat * len(wanted.ccs)
    return seconds * GUEST_PACE + GUEST_BOOT_S if place.kernel else seconds


def _cpus(wanted: Measurement) -> str:
    """What the figures were measured with."""
    if wanted.place.kernel:
        return "one emulated CPU whose clock counts instructions"
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return f"{os.cpu_count()} CPUs ({model[1] if model else os.uname().machine})"
