# SPDX-License-Identifier: GPL-2.0
"""vm fetch: a Debian root file system per kernel, with image, headers and compiler."""

import os
import tempfile
import time
from pathlib import Path

from . import virtme
from .cache import Kernel, cache_dir
from .util import (
    CannotRun,
    VmError,
    contained,
    locked,
    need_root,
    need_space,
    need_tool,
    output,
    remove,
    run,
    say,
)

PACKAGES = (
    "linux-image-amd64",
    "linux-headers-amd64",
    "dwarves",
    "gcc",
    "kmod",
    "libc6-dev",
    "make",
    "perl",
    "sparse",
)
# A chroot for compilers has no readers for these; they are a tenth of its size.
_UNREAD = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*", "/usr/share/info/*")
_SPACE_GIB = 3.0


def mirror() -> str:
    """The Debian mirror of this machine's own apt configuration; never a name of our choice."""
    chosen = os.environ.get("MLCC_MIRROR")
    if chosen:
        return chosen
    apt_get = need_tool("apt-get", "apt")
    lines = output([apt_get, "indextargets", "--format", "$(LABEL)|$(REPO_URI)"]).splitlines()
    for line in sorted(set(lines)):
        label, _, uri = line.partition("|")
        if label == "Debian":
            return uri
    raise CannotRun("apt knows no Debian archive: run apt-get update, or set MLCC_MIRROR")


def mmdebstrap(suite: str, root: Path, archive: str, stale: bool, *options: str) -> None:
    """A root file system of a suite; what is said goes to a log beside it."""
    argv = [need_tool("mmdebstrap", "mmdebstrap"), *options]
    if stale:
        argv.append('--aptopt=Acquire::Check-Valid-Until "false"')
    log = root.with_suffix(".log")
    try:
        run(contained([*argv, suite, root, archive]), f"mmdebstrap {suite}", log)
    except VmError as error:
        if "is expired" in log.read_text(errors="replace"):
            raise VmError(
                f"the mirror's index of {suite} is past its date: the mirror is frozen or being "
                "replayed. --allow-stale takes it nevertheless (signatures stay checked)"
            ) from error
        raise


def _fetch(kernel: Kernel, root: Path, allow_stale: bool) -> None:
    unread = [f"--dpkgopt=path-exclude={pattern}" for pattern in _UNREAD]
    # QEMU gets a small initramfs of its own; Debian's would cost a minute and 30 MB.
    os.environ["INITRD"] = "No"
    packages = "--include=" + ",".join(PACKAGES)
    mmdebstrap(kernel.suite, root, mirror(), allow_stale, "--variant=minbase", packages, *unread)


def _release_of(root: Path) -> str:
    (release,) = (root / "lib/modules").iterdir()
    return release.name


def fetch(kernel: Kernel, force: bool = False, allow_stale: bool = False) -> None:
    virtme.install()
    with locked(kernel.lock):
        if kernel.fetched() and not force:
            say(f"{kernel.name}: {kernel.release} is in {kernel.dir}")
            return
        need_root("vm fetch")
        need_space(cache_dir(), _SPACE_GIB)
        for left_over in cache_dir().glob(f".{kernel.name}.*/"):
            remove(left_over)
        started = time.monotonic()
        say(f"{kernel.name}: fetching from {kernel.suite}, about half a minute")
        target = Path(tempfile.mkdtemp(prefix=f".{kernel.name}.", dir=cache_dir()))
        try:
            target.chmod(0o755)
            _fetch(kernel, target / "root", allow_stale)
            # last: it says that all is there
            version = f"suite={kernel.suite}\nrelease={_release_of(target / 'root')}\n"
            (target / "VERSION").write_text(version)
            remove(kernel.dir)
            target.rename(kernel.dir)
        finally:
            if target.exists():
                remove(target)
        took = time.monotonic() - started
        say(f"{kernel.name}: {kernel.release} is in {kernel.dir} after {took:.0f} s")
