# SPDX-License-Identifier: GPL-2.0
"""vm build, vm sparse: the module for a kernel, made in that kernel's own root file system."""

import filecmp
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from .cache import Kernel
from .util import CannotRun, VmError, locked, need_root, need_tool, output, run, say

# Where the copy of the sources is seen inside of the root file system.
_SOURCE = "/srv/mlcc"

# Mounts live in a name space of their own: nothing to undo, and no removal of a cache
# can run into a mounted /proc.
_ENTER = f"""
mkdir -p "$1{_SOURCE}"
mount --bind "$2" "$1{_SOURCE}"
mount -t proc proc "$1/proc"
root=$1
shift 2
exec chroot "$root" env -i LC_ALL=C HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""

_DIAGNOSTIC = re.compile(r"^(?P<file>[^\s:]+):\d+(:\d+)?: (?P<kind>(warning|error):)?")


def _source_files(tree: Path) -> list[str]:
    """What git knows or would add, so that outputs in the tree do not reach the copy."""
    if (tree / ".git").exists():
        listed = ["--cached", "--others", "--exclude-standard"]
        names = output(["git", "-C", tree, "ls-files", "-z", *listed]).split("\0")
        return sorted(name for name in names if name and os.path.lexists(tree / name))
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir())


def sync_sources(tree: Path, copy: Path) -> None:
    """Bring the copy up to date; unchanged files keep their time, so that make does little."""
    copy.mkdir(parents=True, exist_ok=True)
    manifest = copy / ".sources"
    before = set(manifest.read_text().split("\0")) if manifest.exists() else set()
    now = _source_files(tree)
    for name in before - set(now) - {""}:
        (copy / name).unlink(missing_ok=True)
    for name in now:
        if not (copy / name).exists() or not filecmp.cmp(tree / name, copy / name):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).unlink(missing_ok=True)
            shutil.copy2(tree / name, copy / name, follow_symlinks=False)
    manifest.write_text("\0".join(now))


def build_key(tree: Path) -> str:
    """One name per tree: two checkouts with the same name do not meet."""
    digest = hashlib.sha256(str(tree.resolve()).encode()).hexdigest()[:8]
    return f"{tree.resolve().name}-{digest}"


def module_dir(kernel: Kernel, tree: Path) -> Path:
    """What the guest is to have as /lib/modules/VERSION: with this tree's modules, or without
    any of ours."""
    layer = kernel.layer(build_key(tree))
    if (layer / ".modinfo").exists():
        return layer
    return kernel.root / "lib/modules" / kernel.release


def _enter(kernel: Kernel, copy: Path, argv: Sequence[str]) -> list[str]:
    unshare = need_tool("unshare", "util-linux")
    shell = [unshare, "--mount", "--propagation", "private", "sh", "-ec", _ENTER, "sh"]
    return [*shell, str(kernel.root), str(copy), *argv]


def _make(kernel: Kernel, copy: Path, make_args: Sequence[str]) -> list[str]:
    make = ["make", f"-j{len(os.sched_getaffinity(0))}"]
    words = ["W=1", *make_args, "modules"]
    if kernel.debug:
        # this machine's compiler has built it, and sanitizers have warnings of their own
        return [*make, "-C", str(kernel.objects), f"M={copy}", *words]
    headers = f"/lib/modules/{kernel.release}/build"
    strict = [*make, "KCFLAGS=-Werror", "-C", headers, f"M={_SOURCE}"]
    return _enter(kernel, copy, [*strict, *words])


def _prepare(kernel: Kernel, tree: Path, kind: str) -> Path:
    need_root(f"vm {kind}")
    kernel.need()
    if not any((tree / name).exists() for name in ("Kbuild", "Makefile")):
        raise CannotRun(f"{tree} has neither Kbuild nor Makefile")
    copy = kernel.dir / "build" / f"{build_key(tree)}-{kind}"
    sync_sources(tree, copy)
    return copy


def _lay_base(kernel: Kernel, layer: Path) -> None:
    """The kernel's own modules, by reference; depmod follows links, and so does modprobe."""
    base = kernel.root / "lib/modules" / kernel.release
    (layer / "updates").mkdir(parents=True)
    (layer / "kernel").symlink_to(os.path.relpath(base / "kernel", layer))
    for listing in [base / "modules.order", *base.glob("modules.builtin*")]:
        shutil.copy2(listing, layer)


def _install(kernel: Kernel, tree: Path, copy: Path) -> list[Path]:
    """Put the modules where modprobe finds them, in a directory that no other tree shares.
    A guest that starts meanwhile sees whole files."""
    built = sorted(copy.rglob("*.ko"))
    if not built:
        raise VmError(f"make succeeded, but there is no module below {copy}")
    layer = kernel.layer(build_key(tree))
    if not (layer / "updates").exists():
        _lay_base(kernel, layer)
    installed = [layer / "updates" / module.name for module in built]
    for old in set((layer / "updates").glob("*.ko")) - set(installed):
        old.unlink()
    for module, target in zip(built, installed, strict=True):
        part = target.with_suffix(".part")
        shutil.copy2(module, part)
        part.rename(target)
    # depmod reads thousands of compressed modules: 8 s on 7.2. Of ours it knows no more than this.
    stamp, about = layer / ".modinfo", output([need_tool("modinfo", "kmod"), *installed])
    if not stamp.exists() or stamp.read_text() != about:
        run([need_tool("depmod", "kmod"), "-b", layer.parents[2], kernel.release], "depmod")
        stamp.write_text(about)
    return installed


def make(kernel: Kernel, copy: Path, make_args: Sequence[str]) -> None:
    """The modules of a folder that is nobody's source tree; the caller holds the kernel's lock.
    There the folder is /srv/mlcc."""
    run(_make(kernel, copy, make_args), f"make for {kernel.release}", copy / ".log")


def build(kernel: Kernel, tree: Path, make_args: Sequence[str]) -> None:
    with locked(kernel.lock):
        copy = _prepare(kernel, tree, "build")
        run(_make(kernel, copy, make_args), f"make for {kernel.release}")
        for module in _install(kernel, tree, copy):
            say(f"{kernel.name}: {module}")


def _about_us(log: str, copy: Path) -> Iterator[tuple[str, bool]]:
    """Diagnostics about our files, and whether a complaint starts there. The headers of a
    released kernel have complaints of their own, which are not ours to repair."""
    for line in log.splitlines():
        match = _DIAGNOSTIC.match(line)
        if match and (copy / match["file"].removeprefix(_SOURCE).lstrip("/")).is_file():
            yield line, match["kind"] is not None


def sparse(kernel: Kernel, tree: Path, make_args: Sequence[str]) -> int:
    """C=2 checks every file, built or not. Warnings count: make itself ignores them."""
    # Debian's 7.2 headers lack the script that tests sparse, whereupon make skips the checks
    # in silence: hence the second variable, and the count of checked files below.
    check = ["C=2", "KBUILD_CHECKSRC=2"]
    with locked(kernel.lock):
        copy = _prepare(kernel, tree, "sparse")
        done = subprocess.run(
            _make(kernel, copy, [*check, *make_args]),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    if done.returncode != 0:
        sys.stdout.write(done.stdout)
        raise VmError(f"make with sparse for {kernel.release} failed")
    checked = len(re.findall(r"^\s+CHECK ", done.stdout, re.MULTILINE))
    if checked == 0:
        raise VmError(f"sparse was not run for {kernel.release}")
    complaints = 0
    for line, starts in _about_us(done.stdout, copy):
        print(line)
        complaints += starts
    say(f"{kernel.name}: {checked} files checked with sparse, {complaints} complaints")
    return 1 if complaints else 0
