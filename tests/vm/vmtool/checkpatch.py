# SPDX-License-Identifier: GPL-2.0
"""vm checkpatch: the newest kernel's checkpatch.pl over the kernel code, the shared headers and
soft-RoCE's patches."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import source
from .cache import SUITES, Kernel, cache_dir
from .util import locked, need_tool, output, run

# The headers packages leave checkpatch.pl out; the source package, 150 MB, has it.
_FILES = ("checkpatch.pl", "const_structs.checkpatch", "spelling.txt")
_CHECKED = (
    "tcp_mlcc/*.c",
    "tcp_mlcc/*.h",
    "include/mlcc/*.h",
    "rdma/*.c",
    "rdma/*.h",
)
# The one header that stands in for the kernel's primitives where there is no kernel.
_PRIMITIVES = "include/mlcc/types.h"
_PRIMITIVES_MAY = "VOLATILE,COMPLEX_MACRO,PREFER_DEFINED_ATTRIBUTE_MACRO,CAMELCASE"
# Who sends the patches signs them; MAINTAINERS names the driver's folder.
_PATCHES_MAY = "MISSING_SIGN_OFF,FILE_PATH_CHANGES"


def _patches(tree: Path, argv: Sequence[str]) -> int:
    """Those of rdma/rxe, as they are applied to the newest kernel."""
    with tempfile.TemporaryDirectory() as folder:
        run([tree / "rdma" / "rxe" / "series", folder, list(SUITES)[-1]], "series")
        patches = sorted(Path(folder).glob("*.patch"))
        return subprocess.run([*argv, "--ignore", _PATCHES_MAY, *patches], check=False).returncode


def checkpatch(tree: Path, files: Sequence[str], allow_stale: bool) -> int:
    perl = need_tool("perl", "perl")
    target = cache_dir() / "checkpatch"
    with locked(cache_dir() / ".checkpatch.lock"):
        if not target.exists():
            source.scripts(Kernel(list(SUITES)[-1]), target, _FILES, allow_stale)
    argv = [perl, str(target / "checkpatch.pl"), "--no-tree", "--strict", "--show-types", "--quiet"]
    status = 0
    if not files:
        files = output(["git", "-C", tree, "ls-files", "--", *_CHECKED]).splitlines()
        status = _patches(tree, argv)
    for own in (True, False):
        some = [name for name in files if (name == _PRIMITIVES) == own]
        ignore = ["--ignore", _PRIMITIVES_MAY] if own else []
        if some:
            done = subprocess.run([*argv, *ignore, "-f", *some], cwd=tree, check=False)
            status = status or done.returncode
    return status
