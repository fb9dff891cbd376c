# SPDX-License-Identifier: GPL-2.0
"""vm checkpatch: the newest kernel's checkpatch.pl over the kernel code and shared headers."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from . import source
from .cache import SUITES, Kernel, cache_dir
from .util import locked, need_tool, output, say

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


def _fetch(target: Path, allow_stale: bool) -> None:
    def choose(path: str) -> str | None:
        name = path.removeprefix("scripts/")
        return name if name in _FILES and name != path else None

    newest = Kernel(list(SUITES)[-1])
    source.fetch(newest, target, choose, allow_stale, enough=len(_FILES))


def checkpatch(tree: Path, files: Sequence[str], allow_stale: bool) -> int:
    perl = need_tool("perl", "perl")
    target = cache_dir() / "checkpatch"
    with locked(cache_dir() / ".checkpatch.lock"):
        if not target.exists():
            _fetch(target, allow_stale)
    if not files:
        files = output(["git", "-C", tree, "ls-files", "--", *_CHECKED]).splitlines()
    if not files:
        say("no kernel code in this tree yet")
        return 0
    argv = [perl, str(target / "checkpatch.pl"), "--no-tree", "--strict", "--show-types", "--quiet"]
    status = 0
    for own in (True, False):
        some = [name for name in files if (name == _PRIMITIVES) == own]
        ignore = ["--ignore", _PRIMITIVES_MAY] if own else []
        if some:
            run = subprocess.run([*argv, *ignore, "-f", *some], cwd=tree, check=False)
            status = status or run.returncode
    return status
