# SPDX-License-Identifier: GPL-2.0
"""Which kernels there are, and where their files lie in the cache.

$MLCC_CACHE/
    6.12/root/        Debian root file system: image, modules, headers, compiler
    6.12/VERSION      suite and release; its presence says "complete"
    6.12/build/       per source tree: TREE-build/ (sources and objects), TREE-sparse/, and
                      TREE-modules/ (the kernel's modules and the tree's, for modprobe)
    6.12-kasan/, 6.12-kcsan/  likewise, of kernels that are built here (debug.py): root/ has but
                      image and modules, objects/ what make made, build.log what it said last
    linux-6.12/       the source that they are built of
    virtme-ng-1.42/   a virtual environment
    checkpatch/       checkpatch.pl and its word lists
    run/              one directory per running guest
"""

import os
from dataclasses import dataclass
from pathlib import Path

from .util import EXIT_USAGE, CannotRun, VmError

# Debian's suites, oldest first: one kernel each, with the compiler that built it.
SUITES = {"6.1": "bookworm", "6.12": "trixie", "7.2": "sid"}
# Built here from the source of Debian's kernel, with debugging: debug.py.
DEBUG = {"6.12-kasan": "trixie", "6.12-kcsan": "trixie"}
KERNELS = SUITES | DEBUG


def cache_dir() -> Path:
    """The cache directory, created when it is not there."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(os.environ.get("MLCC_CACHE") or Path(base) / "mlcc").absolute()
    path.mkdir(parents=True, exist_ok=True)
    return path


def repository() -> Path:
    """The tree that this program is part of."""
    return Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Kernel:
    name: str

    @property
    def suite(self) -> str:
        return KERNELS[self.name]

    @property
    def debug(self) -> bool:
        return self.name in DEBUG

    @property
    def dir(self) -> Path:
        return cache_dir() / self.name

    @property
    def root(self) -> Path:
        return self.dir / "root"

    @property
    def version_file(self) -> Path:
        return self.dir / "VERSION"

    def layer(self, key: str) -> Path:
        """What a guest has as /lib/modules/VERSION for one source tree."""
        return self.dir / "build" / f"{key}-modules" / "lib/modules" / self.release

    @property
    def lock(self) -> Path:
        return cache_dir() / f".{self.name}.lock"

    @property
    def release(self) -> str:
        """What `uname -r` says under this kernel."""
        for line in self.version_file.read_text().splitlines():
            key, _, value = line.partition("=")
            if key == "release":
                return value
        raise VmError(f"{self.version_file} names no release: fetch again with --force")

    @property
    def image(self) -> Path:
        return self.root / "boot" / f"vmlinuz-{self.release}"

    @property
    def objects(self) -> Path:
        """Of a kernel that was built here: what its modules are built against."""
        return self.dir / "objects"

    def fetched(self) -> bool:
        return self.version_file.exists()

    def need(self) -> None:
        if not self.fetched():
            raise CannotRun(f"kernel {self.name} is not in {cache_dir()}: vm fetch {self.name}")


def find(name: str) -> Kernel:
    if name not in KERNELS:
        raise VmError(f"no kernel {name}: known are {', '.join(KERNELS)}", EXIT_USAGE)
    return Kernel(name)
