# SPDX-License-Identifier: GPL-2.0
"""Parts of a kernel's source, from its suite's package; the headers packages leave them out."""

import gzip
import shutil
import tempfile
from pathlib import Path

from .cache import Kernel, cache_dir
from .fetch import mirror, mmdebstrap
from .util import locked, need_root, need_space, run, say

# Of the whole source. Makefiles and Kconfig refer to most other folders.
_LEFT_OUT = [
    f"--exclude=linux-source-*/{name}/*"
    for name in (
        # where all but x86 and um are large; Kconfig reads files of others
        "arch/[!xu]*/boot",
        "arch/[!xu]*/include",
        "Documentation/devicetree",
        "Documentation/translations",
        "drivers/gpu/drm/amd/include",
        "tools/perf",
        "tools/testing",
    )
]


def _version(root: Path, package: str) -> str:
    """As the changelog's first line has it: package (VERSION) suite; urgency."""
    with gzip.open(root / "usr/share/doc" / package / "changelog.Debian.gz", "rt") as changelog:
        return changelog.readline().partition("(")[2].partition(")")[0]


def _fetch(kernel: Kernel, target: Path, allow_stale: bool, words: list[str], gib: float) -> None:
    """Put what these words of tar choose into the folder target, which comes to be complete or not
    at all, with the version."""
    package = f"linux-source-{kernel.name}"
    need_root(f"fetching {package}")
    need_space(cache_dir(), gib)
    say(f"fetching {package} from {kernel.suite} for {target.name}, once; about a minute")
    options = ("--variant=extract", f"--include={package}")
    with tempfile.TemporaryDirectory(prefix=".source.", dir=cache_dir()) as scratch:
        root, part, log = (Path(scratch) / name for name in ("root", "part", "log"))
        mmdebstrap(kernel.suite, root, mirror(), allow_stale, *options)
        part.mkdir()
        packed = root / "usr/src" / f"{package}.tar.xz"
        run(["tar", "-C", part, "-xJf", packed, *words], f"tar -x {packed.name}", log)
        (part / ".version").write_text(_version(root, package))
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        part.rename(target)


def scripts(kernel: Kernel, target: Path, names: tuple[str, ...], allow_stale: bool) -> None:
    """Files of the folder scripts."""
    members = [f"linux-source-{kernel.name}/scripts/{name}" for name in names]
    words = ["--strip-components=2", "--occurrence=1", *members]
    _fetch(kernel, target, allow_stale, words, gib=1.5)


def tree(kernel: Kernel, allow_stale: bool) -> tuple[Path, str]:
    """The source without what no kernel for x86 needs, 1 GB, and its version; from the cache, or
    fetched. The caller holds a lock."""
    target = cache_dir() / f"linux-{kernel.name}"
    stamp = target / ".version"
    if not stamp.exists():
        _fetch(kernel, target, allow_stale, ["--strip-components=1", *_LEFT_OUT], gib=4)
    return target, stamp.read_text()


def folder(kernel: Kernel, name: str, allow_stale: bool) -> Path:
    """A folder of the kernel's source, such as drivers/infiniband/sw/rxe; from the cache, or
    fetched."""
    target = kernel.dir / "source" / name
    with locked(kernel.lock):
        if not target.exists():
            kernel.need()
            depth = f"--strip-components={len(Path(name).parts) + 1}"
            member = f"linux-source-{kernel.name}/{name}"
            _fetch(kernel, target, allow_stale, [depth, member], gib=1.5)
    return target
