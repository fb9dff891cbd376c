# SPDX-License-Identifier: GPL-2.0
"""make demo-train: real training jobs, alone and together; tables, pictures, what came out."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRAIN = ROOT / "tests" / "lab" / "real" / "mlcc-train"
SETS = ("ddp-2", "mpi-2")
NOTICEABLE = 0.01


def cost(document: dict, mode: str) -> float | None:
    """What sharing the link adds to an iteration, as a part of its time alone."""
    for result in document["results"]:
        if result["cc"] == mode:
            return float(result["slowdown_mean"]) - 1
    return None


def verdict(document: dict) -> str:
    """The result in plain words, whatever it is."""
    cubic = cost(document, "cubic")
    found = [f"{document['about']}:"]
    for mode in ("mlcc", "mlcc+hints"):
        mlcc = cost(document, mode)
        if cubic is None or mlcc is None:
            continue
        if cubic - mlcc > NOTICEABLE:
            found.append(f"{mode} took away {1 - max(mlcc, 0) / cubic:.0%} of what sharing costs;")
        elif mlcc - cubic > NOTICEABLE:
            found.append(f"{mode} made sharing dearer, by {mlcc - cubic:.1%} of an iteration;")
        else:
            found.append(f"{mode} changed nothing;")
    same = "were the same" if document["same_losses"] else "DIFFERED"
    return f"{' '.join(found)} losses {same} in every run."


def measure(name: str) -> dict | None:
    figures, picture = ROOT / "build" / f"{name}.json", ROOT / "build" / f"{name}.png"
    figures.parent.mkdir(exist_ok=True)
    figures.unlink(missing_ok=True)
    print(f"\n{name}: each job alone, then all together", flush=True)
    command = [sys.executable, TRAIN, name, "--json", figures, "--plot", picture]
    subprocess.run(list(map(str, command)), check=False)
    if not figures.exists():
        print(f"demo-train: {name} was not measured; the reason is above", file=sys.stderr)
        return None
    document: dict = json.loads(figures.read_text(encoding="utf-8"))
    return document


def main() -> int:
    documents = [measure(name) for name in SETS]
    print(f"\nPictures and figures: {', '.join(f'build/{name}.png, .json' for name in SETS)}")
    for document in documents:
        if document:
            print(verdict(document))
    return 0 if all(document and document["same_losses"] for document in documents) else 1


if __name__ == "__main__":
    sys.exit(main())
