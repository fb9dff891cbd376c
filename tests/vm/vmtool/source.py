# SPDX-License-Identifier: GPL-2.0
"""Parts of a kernel's source, from its suite's package; the headers packages leave them out."""

import contextlib
import gzip
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from .cache import Kernel, cache_dir
from .fetch import mirror
from .util import (
    CannotRun,
    contained,
    locked,
    need_root,
    need_space,
    need_tool,
    run,
    say,
)

# For a member's name below the top of the tree: where to put it, or None.
Chooser = Callable[[str], str | None]

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


def _copy(tar: tarfile.TarFile, target: Path, choose: Chooser, enough: int) -> int:
    """Read the archive as a stream, and only as far as needed: it is 1.5 GB long."""
    found = 0
    for member in tar:
        name = choose(member.name.partition("/")[2])
        if name is None and found and not enough:
            return found  # members of one folder follow each other
        if name is None or not member.isfile():
            continue
        content = tar.extractfile(member)
        if content is not None:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(content.read())
            found += 1
        if found == enough:
            return found
    return found


@contextlib.contextmanager
def _package(kernel: Kernel, purpose: str, allow_stale: bool) -> Iterator[tuple[Path, Path]]:
    """The package linux-source, unpacked: the root of its files, and its archive of the source.
    Beside the root there is room for more, on the cache's file system."""
    package = f"linux-source-{kernel.name}"
    need_root(f"fetching {package}")
    need_space(cache_dir(), 1.5)
    say(f"fetching {package} from {kernel.suite} for {purpose}, once; about a minute")
    argv: list[str | Path] = [need_tool("mmdebstrap", "mmdebstrap")]
    argv += ["--variant=extract", f"--include={package}"]
    if allow_stale:
        argv.append('--aptopt=Acquire::Check-Valid-Until "false"')
    with tempfile.TemporaryDirectory(prefix=".source.", dir=cache_dir()) as scratch:
        root = Path(scratch) / "root"
        argv += [kernel.suite, root, mirror()]
        run(contained(argv), "mmdebstrap", Path(scratch) / "log")
        yield root, root / "usr/src" / f"{package}.tar.xz"


def _replace(target: Path, part: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    part.rename(target)


def fetch(
    kernel: Kernel, target: Path, choose: Chooser, allow_stale: bool, enough: int = 0
) -> None:
    """Put what is chosen into the folder target, which comes to be complete or not at all.
    @enough: how many files, 0: one folder's, until the first other one."""
    with _package(kernel, target.name, allow_stale) as (root, packed):
        part = root.parent / "part"
        part.mkdir()
        with tarfile.open(packed, "r|xz") as tar:
            found = _copy(tar, part, choose, enough)
        if not found or found < enough:
            raise CannotRun(f"{packed.name} lacks files for {target.name}")
        _replace(target, part)


def _version(root: Path, package: str) -> str:
    """As the changelog's first line has it: package (VERSION) suite; urgency."""
    with gzip.open(root / "usr/share/doc" / package / "changelog.Debian.gz", "rt") as changelog:
        return changelog.readline().partition("(")[2].partition(")")[0]


def tree(kernel: Kernel, allow_stale: bool) -> tuple[Path, str]:
    """The source without what no kernel for x86 needs, 1 GB, and its version; from the cache, or
    fetched. The caller holds a lock."""
    target = cache_dir() / f"linux-{kernel.name}"
    stamp = target / ".version"
    if not stamp.exists():
        need_space(cache_dir(), 4)
        with _package(kernel, target.name, allow_stale) as (root, packed):
            part = root.parent / "part"
            part.mkdir()
            argv = ["tar", "-C", part, "--strip-components=1", *_LEFT_OUT, "-xJf", packed]
            run(argv, f"tar -x {packed.name}", root.parent / "log")
            version = _version(root, packed.name.removesuffix(".tar.xz"))
            (part / ".version").write_text(version)
            _replace(target, part)
    return target, stamp.read_text()


def folder(kernel: Kernel, name: str, allow_stale: bool) -> Path:
    """A folder of the kernel's source, such as drivers/infiniband/sw/rxe; from the cache, or
    fetched."""
    target = kernel.dir / "source" / name
    with locked(kernel.lock):
        if not target.exists():
            kernel.need()
            prefix = f"{name}/"
            fetch(
                kernel,
                target,
                lambda path: path.removeprefix(prefix) if path.startswith(prefix) else None,
                allow_stale,
            )
    return target
