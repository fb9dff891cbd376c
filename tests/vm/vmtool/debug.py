# SPDX-License-Identifier: GPL-2.0
"""vm fetch of a debug kernel: Debian's source, a small configuration, this machine's compiler."""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from . import source, virtme
from .cache import Kernel, cache_dir
from .util import CannotRun, VmError, locked, need_space, need_tool, output, run, say

_CONFIGS = Path(__file__).resolve().parent.parent / "debug"
_TOOLS = ("gcc", "make", "flex", "bison", "bc", "perl", "depmod")
_HEADERS = {"libelf.h": "libelf-dev"}
_SPACE_GIB = 4.0


def _need_tools() -> None:
    for tool in _TOOLS:
        need_tool(tool, f"{tool} (tests/deps/install.sh debug)")
    for header, package in _HEADERS.items():
        if not (Path("/usr/include") / header).exists():
            raise CannotRun(f"no {header}: install {package} (tests/deps/install.sh debug)")


def _configs(kernel: Kernel) -> str:
    kind = kernel.name.partition("-")[2]
    return "".join((_CONFIGS / f"{name}.config").read_text() for name in ("base", kind))


def _key(config: str, version: str) -> str:
    """What the kernel depends on."""
    compiler = output(["gcc", "--version"]).partition("\n")[0]
    return hashlib.sha256("\0".join((config, version, compiler)).encode()).hexdigest()


def missing(wanted: str, got: str) -> list[str]:
    """Lines of a configuration that have not become so. What is not visible cannot be set."""
    lines = set(got.splitlines())
    off = re.findall(r"^# (CONFIG_\w+) is not set$", wanted, re.MULTILINE)
    on = [line for line in wanted.splitlines() if line.startswith("CONFIG_")]
    return [f"{name}=n" for name in off if f"{name}=y" in lines] + [
        line for line in on if line not in lines
    ]


def _make(kernel: Kernel, tree: Path, words: Sequence[str], what: str) -> None:
    argv = ["make", f"-j{len(os.sched_getaffinity(0))}", "-C", tree, f"O={kernel.objects}", *words]
    run(argv, f"{what} of {kernel.name}", kernel.dir / "build.log")


def _configure(kernel: Kernel, tree: Path, config: str) -> None:
    wanted = kernel.dir / "wanted.config"
    wanted.write_text(config)
    _make(kernel, tree, [f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig"], "configuration")
    lost = missing(config, (kernel.objects / ".config").read_text())
    if lost:
        raise VmError(f"{kernel.name}: what the configuration did not take:\n" + "\n".join(lost))


def _install(kernel: Kernel, tree: Path) -> str:
    """Image and modules, of which there are none, where Debian has them; returns the release."""
    release = (kernel.objects / "include/config/kernel.release").read_text().strip()
    shutil.rmtree(kernel.root, ignore_errors=True)
    (kernel.root / "boot").mkdir(parents=True)
    shutil.copy2(kernel.objects / "arch/x86/boot/bzImage", kernel.root / f"boot/vmlinuz-{release}")
    _make(kernel, tree, [f"INSTALL_MOD_PATH={kernel.root}", "modules_install"], "installation")
    (kernel.root / "lib/modules" / release / "kernel").mkdir(exist_ok=True)
    return release


def _forget(kernel: Kernel, version: str, force: bool) -> None:
    """Objects stay where they can: make knows what has changed, but not of another source, whose
    files may be older than they are."""
    kernel.version_file.unlink(missing_ok=True)
    stamp = kernel.objects / ".source"
    if force or not stamp.exists() or stamp.read_text() != version:
        shutil.rmtree(kernel.objects, ignore_errors=True)
        kernel.objects.mkdir(parents=True)
        stamp.write_text(version)


def _build(kernel: Kernel, tree: Path, version: str, config: str) -> None:
    _configure(kernel, tree, config)
    _make(kernel, tree, ["bzImage", "modules"], "compilation")
    release = _install(kernel, tree)
    key = _key(config, version)
    lines = [f"suite={kernel.suite}", f"release={release}", f"source={version}", f"key={key}"]
    kernel.version_file.write_text("\n".join(lines) + "\n")


def _is_current(kernel: Kernel, key: str) -> bool:
    return kernel.fetched() and f"key={key}" in kernel.version_file.read_text().splitlines()


def fetch(kernel: Kernel, force: bool, allow_stale: bool) -> None:
    """Build the kernel, unless it has been built of the same source, configuration and compiler."""
    virtme.install()
    _need_tools()
    base = Kernel(kernel.name.partition("-")[0])
    with locked(cache_dir() / f".linux-{base.name}.lock"):
        tree, version = source.tree(base, allow_stale)
    config = _configs(kernel)
    with locked(kernel.lock):
        if not force and _is_current(kernel, _key(config, version)):
            say(f"{kernel.name}: {kernel.release} is in {kernel.dir}")
            return
        kernel.dir.mkdir(exist_ok=True)
        need_space(kernel.dir, _SPACE_GIB)
        began = time.monotonic()
        say(f"{kernel.name}: building Linux {version}, which takes minutes")
        _forget(kernel, version, force)
        _build(kernel, tree, version, config)
        took = time.monotonic() - began
        say(f"{kernel.name}: {kernel.release} is in {kernel.dir} after {took:.0f} s")
