# SPDX-License-Identifier: GPL-2.0
"""vm checkpatch: the newest kernel's checkpatch.pl over the kernel code and shared headers."""

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .cache import SUITES, cache_dir
from .fetch import mirror
from .util import (
    CannotRun,
    contained,
    locked,
    need_root,
    need_space,
    need_tool,
    output,
    run,
    say,
)

# The headers packages leave checkpatch.pl out; the source package, 150 MB, has it.
_FILES = ("checkpatch.pl", "const_structs.checkpatch", "spelling.txt")
_CHECKED = (
    "tcp_mlcc/*.c",
    "tcp_mlcc/*.h",
    "include/mlcc/*.h",
    "rdma/*.c",
    "rdma/*.h",
    ":!rdma/tuner",
)
# The one header that stands in for the kernel's primitives where there is no kernel.
_PRIMITIVES = "include/mlcc/types.h"
_PRIMITIVES_MAY = "VOLATILE,COMPLEX_MACRO,PREFER_DEFINED_ATTRIBUTE_MACRO,CAMELCASE"


def _unpack(archive: Path, target: Path) -> None:
    """Read the archive as a stream, and only as far as needed: it is 1.5 GB long."""
    missing = set(_FILES)
    with tarfile.open(archive, "r|xz") as tar:
        for member in tar:
            _, _, name = member.name.partition("/scripts/")
            if name not in missing:
                continue
            content = tar.extractfile(member)
            if content is not None:
                (target / name).write_bytes(content.read())
                missing.remove(name)
            if not missing:
                return
    raise CannotRun(f"{archive.name} has no scripts/{missing.pop()}")


def _fetch(target: Path, allow_stale: bool) -> None:
    need_root("fetching checkpatch.pl")
    need_space(cache_dir(), 1.5)
    version, suite = list(SUITES.items())[-1]
    package = f"linux-source-{version}"
    say(f"fetching {package} for checkpatch.pl, once; about a minute")
    argv = [need_tool("mmdebstrap", "mmdebstrap"), "--variant=extract", f"--include={package}"]
    if allow_stale:
        argv.append('--aptopt=Acquire::Check-Valid-Until "false"')
    with tempfile.TemporaryDirectory(prefix=".checkpatch.", dir=cache_dir()) as scratch:
        root, part = Path(scratch) / "root", Path(scratch) / "part"
        part.mkdir()
        run(contained([*argv, suite, root, mirror()]), "mmdebstrap", Path(scratch) / "log")
        _unpack(root / "usr/src" / f"{package}.tar.xz", part)
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)


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
