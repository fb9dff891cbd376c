# SPDX-License-Identifier: GPL-2.0
"""Runs the same command line inside a virtual machine with another kernel.

The machine sees this repository at the same path and may write to it: the
report comes back through a folder here. Its clock counts instructions, so that
the figures do not depend on what else this machine does.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .carrier import REPOSITORY
from .errors import LabError, SkipError

VM = REPOSITORY / "tests" / "vm" / "vm"
# Emulated CPUs: everything that waits for processes to start takes longer. And where the clock
# counts instructions it runs ahead while the guest waits for a file of its host.
SLOW = "20"
TIMEOUT_S = "7200"


def _prepare(step: str, kernel: str) -> None:
    """Fetch the kernel, build the carriers: nothing to do when it was done before."""
    print(f"mlcc-lab: tests/vm/vm {step} {kernel}", file=sys.stderr, flush=True)
    done = subprocess.run([str(VM), step, kernel], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        error = SkipError if done.returncode == SkipError.status else LabError
        raise error(f"--vm {kernel}: vm {step}: {said[-1] if said else done.returncode}")


def run(kernel: str, command: Sequence[str]) -> tuple[int, str | None]:
    """Run mlcc-lab there; its exit status, and the report if it made one."""
    if not VM.exists():
        raise SkipError(f"--vm: {VM.relative_to(REPOSITORY)} is not there")
    for step in ("fetch", "build", "bpf"):
        _prepare(step, kernel)
    with tempfile.TemporaryDirectory(prefix=".out-", dir=REPOSITORY / "tests" / "lab") as folder:
        report = Path(folder) / "report.json"
        inside = ["env", f"MLCC_LAB_SLOW={SLOW}", *command, "--json", str(report)]
        outside = [str(VM), "run", "--counted", "--timeout", TIMEOUT_S, kernel, "--"]
        status = subprocess.run([*outside, *inside], check=False).returncode
        text = report.read_text(encoding="utf-8") if report.exists() else None
    return os.EX_SOFTWARE if status < 0 else status, text
