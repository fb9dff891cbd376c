# SPDX-License-Identifier: GPL-2.0
"""Runs the same command line inside a virtual machine with another kernel.

The machine sees this repository at the same path and may write to it: the
report comes back through a folder here. Its clock counts instructions, so that
the figures do not depend on what else this machine does.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import shell
from .carrier import LOADER, MLCCD, REPOSITORY
from .errors import LabError, SkipError

VM = REPOSITORY / "tests" / "vm" / "vm"
# Emulated CPUs: everything that waits for processes to start takes longer. And where the clock
# counts instructions it runs ahead while the guest waits for a file of its host.
SLOW = "20"
TIMEOUT_S = "7200"


def _step(kernel: str, *command: str | Path) -> None:
    """One of the steps that make a kernel usable; says why if it cannot."""
    step = " ".join(map(str, command))
    print(f"mlcc-lab: {step}", file=sys.stderr, flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        error = SkipError if done.returncode == SkipError.status else LabError
        raise error(f"--vm {kernel}: {step}: {said[-1] if said else done.returncode}")


def _prepare(kernel: str, trees: Sequence[Path]) -> None:
    """Fetch the kernel, build the carriers: nothing to do when it was done before."""
    if not VM.exists():
        raise SkipError(f"--vm: {VM.relative_to(REPOSITORY)} is not there")
    _step(kernel, VM, "fetch", kernel)
    _step(kernel, VM, "build", kernel)
    for tree in trees:
        _step(kernel, "make", "-s", "-C", tree / "userspace" / "mlcc-bpf")


@contextmanager
def _shared_folder() -> Iterator[Path]:
    """One that the guest may write to."""
    with tempfile.TemporaryDirectory(prefix=".out-", dir=REPOSITORY / "tests" / "lab") as folder:
        yield Path(folder)


def _execute(
    kernel: str, command: Sequence[str], folder: Path, stdout: int | None = None
) -> tuple[int, str | None]:
    """Run mlcc-lab there; its exit status, and the report if it made one."""
    report = folder / "report.json"
    inside = ["env", f"MLCC_LAB_SLOW={SLOW}", *command, "--json", str(report)]
    outside = [str(VM), "run", "--counted", "--timeout", TIMEOUT_S, kernel, "--"]
    status = shell.attend([*outside, *inside], stdout)
    text = report.read_text(encoding="utf-8") if report.exists() else None
    return os.EX_SOFTWARE if status < 0 else status, text


def run(kernel: str, command: Sequence[str]) -> tuple[int, str | None]:
    """A run, with this tree's carriers."""
    _prepare(kernel, [REPOSITORY])
    with _shared_folder() as folder:
        return _execute(kernel, command, folder)


def compare(kernel: str, command: Sequence[str], builds: Sequence[Path]) -> tuple[int, str | None]:
    """A comparison, with the carriers of the builds: the guest gets them as two small trees.

    It prints nothing: its folders mean nothing here.
    """
    _prepare(kernel, builds)
    with _shared_folder() as folder:
        trees = [folder / str(index) for index in range(len(builds))]
        for build, tree in zip(builds, trees, strict=True):
            _copy(build, tree)
        words = [*command, "--builds", ",".join(map(str, trees))]
        return _execute(kernel, words, folder, subprocess.DEVNULL)


def _copy(build: Path, tree: Path) -> None:
    """What a comparison needs of a build, where it looks for it."""
    for name in (LOADER, MLCCD):
        if (build / name).exists():  # mlccd: not every scenario needs it
            (tree / name).parent.mkdir(parents=True)
            shutil.copy(build / name, tree / name)
