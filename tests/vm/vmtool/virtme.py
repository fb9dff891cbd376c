# SPDX-License-Identifier: GPL-2.0
"""The pinned virtme-ng, in a virtual environment of its own in the cache."""

import shutil
import tempfile
from pathlib import Path

from .cache import cache_dir
from .util import CannotRun, locked, output, run, say

VERSION = "1.42"


def venv() -> Path:
    return cache_dir() / f"virtme-ng-{VERSION}"


def binary() -> Path:
    return venv() / "bin/virtme-run"


def install() -> None:
    """Idempotent. A virtual environment cannot be renamed, so a stamp says that it is complete."""
    stamp = venv() / "complete"
    if stamp.exists():
        return
    with locked(cache_dir() / ".virtme.lock"):
        if stamp.exists():
            return
        python = shutil.which("python3", path="/usr/bin") or shutil.which("python3")
        if python is None:
            raise CannotRun("no python3 on this machine: install the package python3")
        say(f"installing virtme-ng {VERSION}")
        shutil.rmtree(venv(), ignore_errors=True)
        with tempfile.TemporaryDirectory() as scratch:
            log = Path(scratch) / "log"
            run([python, "-m", "venv", venv()], "python3 -m venv (package python3-venv)", log)
            pip = venv() / "bin/pip"
            run([pip, "install", "--quiet", f"virtme-ng=={VERSION}"], "pip install", log)
        stamp.write_text(output([venv() / "bin/pip", "freeze"]))
