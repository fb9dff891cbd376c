# SPDX-License-Identifier: GPL-2.0
"""vm bpf: the BPF carrier for a kernel, made on this machine."""

from pathlib import Path

from .cache import Kernel
from .util import CannotRun, locked, need_tool, run, say


def _output(kernel: Kernel, tree: Path) -> Path:
    return tree / "build" / f"bpf-{kernel.name}"


def loader(kernel: Kernel, tree: Path) -> Path | None:
    """Loader and programs in one, if they have been built; guests find it in MLCC_BPF."""
    path = _output(kernel, tree) / "mlcc-bpf"
    return path if path.exists() else None


def build(kernel: Kernel, tree: Path) -> None:
    kernel.need()
    program = tree / "userspace" / "mlcc-bpf"
    if not (program / "Makefile").exists():
        raise CannotRun(f"{tree} has no userspace/mlcc-bpf/Makefile")
    for tool, package in (("make", "make"), ("clang", "clang"), ("bpftool", "bpftool")):
        need_tool(tool, package)
    target = _output(kernel, tree)
    target.mkdir(parents=True, exist_ok=True)
    words = [f"BUILD={target}", f"SKELETONS={target}"]
    # Two suites of one kernel build it at the same time, and make writes where make reads.
    with locked(kernel.lock):
        run(["make", "-C", program, *words], f"make of the BPF carrier for {kernel.name}")
    say(f"{kernel.name}: {target / 'mlcc-bpf'}")
