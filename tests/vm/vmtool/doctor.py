# SPDX-License-Identifier: GPL-2.0
"""vm doctor: what this machine lacks, and what to do about it."""

import importlib.util
import os
import shutil
from collections.abc import Iterator

from . import virtme
from .cache import SUITES, Kernel, cache_dir
from .fetch import mirror
from .util import EXIT_SKIP, VmError

# tool, package, what for
_TOOLS = (
    ("mmdebstrap", "mmdebstrap", "vm fetch"),
    ("unshare", "util-linux", "vm build"),
    ("git", "git", "vm build"),
    ("qemu-system-x86_64", "qemu-system-x86", "vm run"),
    ("modprobe", "kmod", "vm run"),
    ("busybox", "busybox-static", "vm run"),
    ("ip", "iproute2", "tests in the guest"),
    ("tc", "iproute2", "tests in the guest"),
    ("bpftool", "bpftool", "BPF tests"),
    ("perl", "perl", "vm checkpatch"),
)
_SPACE_GIB = 4.0

Finding = tuple[bool, str]


def _tools() -> Iterator[Finding]:
    for tool, package, purpose in _TOOLS:
        path = shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin")
        if path:
            yield True, f"{tool}: {path}"
        else:
            yield False, f"{tool} ({purpose}): apt-get install {package}"


def _python() -> Iterator[Finding]:
    if virtme.binary().exists():
        yield True, f"virtme-ng {virtme.VERSION}: {virtme.venv()}"
    elif importlib.util.find_spec("ensurepip"):
        yield True, f"virtme-ng {virtme.VERSION}: will be installed by vm fetch"
    else:
        yield False, "python's venv (vm fetch): apt-get install python3-venv"


def _machine() -> Iterator[Finding]:
    if os.geteuid() == 0:
        yield True, "root: yes"
    else:
        yield False, "root (vm fetch, vm build): run as root"
    free = shutil.disk_usage(cache_dir()).free / 2**30
    enough = free >= _SPACE_GIB
    yield enough, f"disk: {free:.0f} GiB free in {cache_dir()}, {_SPACE_GIB:.0f} needed"
    try:
        mirror()
        yield True, "apt: knows a Debian archive"
    except VmError as error:
        yield False, f"apt: {error}"


def _kernels() -> Iterator[Finding]:
    for name in SUITES:
        kernel = Kernel(name)
        if kernel.fetched():
            yield True, f"kernel {name}: {kernel.release}"
        else:
            yield False, f"kernel {name}: vm fetch {name}"


def doctor() -> int:
    status = 0
    for check in (_tools, _python, _machine, _kernels):
        for good, text in check():
            print(f"{'ok     ' if good else 'MISSING'} {text}")
            if not good:
                status = EXIT_SKIP
    return status
