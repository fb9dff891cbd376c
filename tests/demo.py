# SPDX-License-Identifier: GPL-2.0
"""make demo: three jobs under CUBIC, then under mlcc; a table, a picture, one sentence."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "tests" / "lab" / "mlcc-lab"
SCENARIO = "three-equal-98"
ITERATIONS = "60"
NOTICEABLE = 0.01


def cost(document: dict, cc: str) -> float:
    """What sharing the link adds to an iteration, as a part of its time alone."""
    return next(r["slowdown_mean"] for r in document["results"] if r["cc"] == cc) - 1


def sentence(document: dict) -> str:
    """The result in plain words, whatever it is."""
    cubic, mlcc = cost(document, "cubic"), cost(document, "mlcc")
    carrier = {"module": "the kernel module", "bpf": "the BPF program"}[document["carrier"]]
    start = (
        f"Sharing one link made an iteration of the three jobs {cubic:.1%} longer under CUBIC and "
        f"{mlcc:.1%} longer under mlcc ({carrier}, Linux {document['kernel']})"
    )
    if cubic - mlcc > NOTICEABLE:
        return f"{start}: mlcc took away {1 - max(mlcc, 0) / cubic:.0%} of what sharing costs."
    return f"{start}: no gain in this run; is the machine busy with something else?"


def main(iterations: str = ITERATIONS) -> int:
    figures, picture = ROOT / "build" / "demo.json", ROOT / "build" / "demo.png"
    figures.parent.mkdir(exist_ok=True)
    figures.unlink(missing_ok=True)
    command = [sys.executable, LAB, "run", SCENARIO, "--cc", "cubic,mlcc", "--quick"]
    command += ["--iterations", iterations, "--json", figures, "--plot", picture]
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
