# SPDX-License-Identifier: GPL-2.0
"""make demo: three jobs under CUBIC and under mlcc, in turns; a table, a picture, one sentence."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "tests" / "lab" / "mlcc-lab"
SCENARIO = "three-equal-98"
FLOWS = "8"  # connections of a job to a peer: what NCCL opens on most clusters
RUNS = "5"  # one run of a lottery is no demonstration
ITERATIONS = "24"
CCS = ("cubic", "mlcc")
NOTICEABLE = 0.01


def costs(document: dict, cc: str) -> list[float]:
    """What sharing the link adds to an iteration, as a part of its time alone: of each run."""
    result = next(r for r in document["results"] if r["cc"] == cc)
    return [run["slowdown_mean"] - 1 for run in result["repeats"]]


def words(cc: str, each: Sequence[float]) -> str:
    """The mean, and what it is the mean of."""
    listed = ", ".join(f"{100 * cost:.1f}" for cost in each)
    return f"{fmean(each):.1%} longer under {cc} ({listed})"


def sentence(document: dict) -> str:
    """The result in plain words, whatever it is."""
    each = {cc: costs(document, cc) for cc in CCS}
    cubic, mlcc = fmean(each["cubic"]), fmean(each["mlcc"])
    carrier = {"module": "the kernel module", "bpf": "the BPF program"}[document["carrier"]]
    start = (
        f"Sharing one link made an iteration of the three jobs {words('CUBIC', each['cubic'])} and "
        f"{words('mlcc', each['mlcc'])} in {RUNS} runs of each ({carrier}, Linux "
        f"{document['kernel']})"
    )
    if min(each["cubic"]) - max(each["mlcc"]) > NOTICEABLE:
        return f"{start}: mlcc took away {1 - max(mlcc, 0) / cubic:.0%} of what sharing costs."
    return f"{start}: the runs do not tell them apart; is the machine busy with something else?"


def main(iterations: str = ITERATIONS) -> int:
    figures, picture = ROOT / "build" / "demo.json", ROOT / "build" / "demo.png"
    figures.parent.mkdir(exist_ok=True)
    figures.unlink(missing_ok=True)
    command = [sys.executable, LAB, "run", SCENARIO, "--cc", ",".join(CCS), "--quick"]
    command += ["--flows", FLOWS, "--seeds", f"1-{RUNS}", "--iterations", iterations]
    command += ["--json", figures, "--plot", picture]
    status = subprocess.run(list(map(str, command)), check=False).returncode
    if status:
        print(f"demo: the lab ended with status {status}; the reason is above", file=sys.stderr)
        print(
            f"demo: on another kernel: tests/lab/mlcc-lab run {SCENARIO} --vm 6.12",
            file=sys.stderr,
        )
        return status
    document = json.loads(figures.read_text(encoding="utf-8"))
    print(f"\nThe picture is {picture.relative_to(ROOT)}, the figures are in {figures.name}.")
    print(sentence(document))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
