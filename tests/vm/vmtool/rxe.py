# SPDX-License-Identifier: GPL-2.0
"""vm rxe: soft-RoCE (rdma_rxe) with DCQCN: Debian's source of the driver, the patches of rdma/rxe,
the shared headers included where they lie."""

import argparse
import shutil
import tempfile
from pathlib import Path

from . import build, source
from .cache import Kernel, find, repository
from .util import VmError, locked, need_root, need_tool, run, say

ROOT = repository()
RXE = ROOT / "rdma" / "rxe"
DRIVER = "drivers/infiniband/sw/rxe"
SHARED = ("include", "rdma/dcqcn")


def patches(kernel: Kernel, folder: Path) -> tuple[list[Path], int]:
    """And how many lines around a change may be others there. A kernel that needs patches of its
    own, which come first, is one where somebody has looked at where the others go."""
    run([RXE / "series", folder, kernel.name], "series")
    return sorted(folder.glob("*.patch")), 2 if (RXE / "patches" / kernel.name).exists() else 0


def lay_out(driver: Path, copy: Path) -> None:
    """The driver on top, as make wants it; the patches expect it where the kernel has it."""
    shutil.copytree(driver, copy)
    for name in SHARED:
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, copy / "mlcc" / name)


def apply(copy: Path, patch: Path, fuzz: int) -> None:
    depth = len(Path(DRIVER).parts) + 1
    words = ["-s", "-f", f"-F{fuzz}", f"-p{depth}", "-d", copy, "-i", patch]
    run([need_tool("patch", "patch"), *words], patch.name)


def rename(copy: Path) -> None:
    """The driver as Debian has it, under a name and link type of its own: a peer without the
    patches in the same kernel."""
    makefile = copy / "Makefile"
    makefile.write_text(makefile.read_text().replace("rdma_rxe", "rdma_rxe_stock"))
    main = copy / "rxe.c"
    main.write_text(
        main.read_text()
        .replace('.type = "rxe"', '.type = "rxe_stock"')
        .replace('MODULE_ALIAS_RDMA_LINK("rxe")', 'MODULE_ALIAS_RDMA_LINK("rxe_stock")')
    )


def make(kernel: Kernel, copy: Path, words: list[str]) -> None:
    build.make(kernel, copy, ["CONFIG_RDMA_RXE=m", "MLCC=/srv/mlcc/mlcc", *words])


def build_driver(args: argparse.Namespace) -> int:
    kernel = find(args.kernel)
    need_root("tests/vm/rxe")
    kernel.need()
    driver = source.folder(kernel, DRIVER, args.allow_stale)
    with tempfile.TemporaryDirectory(prefix=".rxe.", dir=kernel.dir) as scratch:
        copy = Path(scratch) / "rxe"
        lay_out(driver, copy)
        with locked(kernel.lock):
            if args.stock:
                rename(copy)
            else:
                series, fuzz = patches(kernel, copy.parent / "series")
                for patch in series:
                    apply(copy, patch, fuzz)
                    if args.each:
                        say(f"{kernel.name}: building up to {patch.name}")
                        make(kernel, copy, args.words)
            make(kernel, copy, args.words)
        print(install(copy, args.output or ROOT / "build" / "rxe" / kernel.name))
    return 0


def install(copy: Path, folder: Path) -> Path:
    built = sorted(copy.glob("*.ko"))
    if len(built) != 1:
        raise VmError(f"make made {len(built)} modules, not one")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / built[0].name
    run([need_tool("strip", "binutils"), "--strip-debug", built[0]], "strip")
    shutil.copy2(built[0], target.with_suffix(".part"))
    target.with_suffix(".part").rename(target)
    return target
