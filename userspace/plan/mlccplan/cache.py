# SPDX-License-Identifier: BSD-2-Clause
"""Where "make deps" puts OR-tools, which Debian does not have: tests/deps/install.sh."""

import os
import sys
from pathlib import Path


def site_packages() -> list[Path]:
    """The folders of modules for this interpreter; empty where nothing was installed."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("MLCC_CACHE") or Path(base) / "mlcc")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    done = sorted(mark.parent for mark in cache.glob("plan-*/complete"))
    folders = (folder / "lib" / version / "site-packages" for folder in done)
    return [folder for folder in folders if folder.is_dir()]
