# SPDX-License-Identifier: GPL-2.0
"""Which suites there are, what each may skip and why, and how one case is run again."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
MINUTE = 60

# Which selftests run under which kernel, in a guest. `make check` runs under each what depends on
# it, and what does not, but needs a guest, under one: the module's messages, systemd. A test that
# compares times wants a clock that counts instructions, which leaves a guest one processor; all
# others want two, for their locks.
KERNELS = ("6.1", "6.12", "7.2")

# Only the oldest kernel has no links of struct_ops to pin: all others are as the running one.
PLAIN = {
    "6.1": ("module", "module_tagger", "bpf_load", "bpf_half"),
    "6.12": ("bpf_load", "module_netlink", "systemd"),
    "7.2": ("module", "bpf_load"),
}
# soft-RoCE: 6.1 is too old for the patches, and only the newest driver knows of namespaces, which
# two hosts in one guest need.
COUNTED = {
    "6.1": ("module_interleave",),
    "6.12": ("module_neutral", "rxe_local"),
    "7.2": ("bpf_interleave", "rxe"),
}

ALL_PLAIN = (
    "module",
    "module_tagger",
    "bpf_load",
    "bpf_pins",
    "bpf_half",
    "bpf_upgrade",
    "bpf_slots",
    "module_netlink",
    "systemd",
    "slurm",
)
ALL_COUNTED = ("module_interleave", "bpf_interleave", "module_neutral")

# Kernels with debugging (tests/vm/debug), for `make check-debug`: what goes wrong there they say.
DEBUG = ("6.12-kasan", "6.12-kcsan")
DEBUG_TESTS = ("module_churn", "module", "module_netlink")

# What a machine may be unable to do. Patterns of whole cases; an empty one is the suite itself.
NATIVE = {
    "module.*": "the running kernel has no headers here, or loads no modules",
}
SANITIZED = {"events within a phase make no system call": "the sanitizer makes some of its own"}
NO_THREADS = {r"test_machine\.Packets\..*": "a PID namespace hides the kernel's threads"}
OLD_HEADERS = {"headers compile: .*": "this compiler has no headers for that target"}
# Debian's 7.2 keeps socket storage without locks, which takes cmpxchg16b; QEMU's is switched off
NO_STORAGE = {"(module|bpf)_tagger": "socket storage needs a cmpxchg16b that QEMU does right"}
NO_LINKS = {"bpf_half: what cannot be unloaded is said": "before Linux 6.4 nobody can hold a link"}
NO_KUBECTL = {
    ".*kubectl_builds.*": "no kubectl here, or one that knows no components (before 1.21)"
}
TORCHS = {
    "test_passes.*fsdp.": "Debian 12's torch shards on GPUs only",
    "test_module.*belongs_to_the_backward_pass": "Debian 12's torch says not which pass runs",
    "test_step.*what_stays_on_the_host": "a kernel may have no IPv6",
}
NO_NS3 = {"": "ns-3 comes as a wheel for x86_64, from PyPI"}
NO_UBUNTU = {"": "apt on this machine knows no Ubuntu archive"}


class Lane(Enum):
    """What a suite has for itself; beside it may run one of each other lane.

    MACHINE: all of it, to measure. KERNEL: the running kernel's carrier, mounts, control groups.
    COUNTED: no more than the others leave, in a guest whose clock does not notice.
    """

    MACHINE = "machine"
    KERNEL = "kernel"
    PROCESSOR = "processor"
    COUNTED = "counted"


def _whole(suite: "Suite", case: str) -> str:
    return " ".join(map(str, suite.command))


def _python(suite: "Suite", case: str) -> str:
    """Cases are the ids of Python's tests."""
    return f"{_whole(suite, case)} -k {case}" if "." in case else _whole(suite, case)


def _selftest(suite: "Suite", case: str) -> str:
    """Cases begin with the name of their script."""
    script = re.match(r"(\w+)(:|$)", case)
    if not script or script[1].startswith("guest"):
        return _whole(suite, case)
    kind, kernel = suite.command[1:3] if suite.command[1] == "vm" else ("tests", "")
    return f"tests/selftests/run {kind} {kernel} {script[1]}.sh".replace("  ", " ")


@dataclass(frozen=True)
class Suite:
    """A command that prints TAP, or whose exit status says it: 0 passed, 4 skipped."""

    name: str
    command: Sequence[str | Path]
    lane: Lane = Lane.PROCESSOR
    timeout_s: float = 10 * MINUTE
    may_skip: Mapping[str, str] = field(default_factory=dict)
    repeat: Callable[["Suite", str], str] = _whole

    def again(self, case: str) -> str:
        """The command that runs a case again, from the top of the tree."""
        return self.repeat(self, case)


def unit_suites() -> Iterator[Suite]:
    """Every unit test, once for each compiler that built it."""
    for path in sorted((BUILD / "unit").glob("*/test_*")):
        name = f"unit/{path.parent.name}/{path.name.removeprefix('test_')}"
        words = [BUILD / "unit" / "parity.bpf.o"] if path.name == "test_parity" else []
        yield Suite(name, [path.relative_to(ROOT), *words])
    yield Suite("unit/headers", ["tests/unit/headers.sh"], may_skip=OLD_HEADERS)


def nccl_suites(everything: bool) -> Iterator[Suite]:
    """The NCCL plugins' tests, once for each build of it; the thread sanitizer takes minutes."""
    for path in sorted(BUILD.glob("nccl*/*/test_*")):
        folder, variant, test = path.parts[-3:]
        if variant == "thread" and not everything:
            continue
        name = f"{folder}/{variant}/{test.removeprefix('test_')}"
        skips = SANITIZED if variant in ("address", "thread") else {}
        yield Suite(name, ["tests/nccl/run", folder, variant, test], may_skip=skips)
    yield Suite("nccl/mlccd", ["tests/python", "nccl"], repeat=_python)


def _in_guest(kernel: str, tests: Iterable[str]) -> list[str | Path]:
    return ["tests/selftests/run", "vm", kernel, *(f"{test}.sh" for test in tests)]


def guest_suites(kernels: Sequence[str], everything: bool) -> Iterator[Suite]:
    """Two guests of each kernel: the second one's clock takes no notice of what runs beside it."""
    for kernel in kernels:
        command = _in_guest(kernel, ALL_PLAIN if everything else PLAIN[kernel])
        skips = {"6.1": NO_LINKS, "7.2": NO_STORAGE}.get(kernel, {})
        name, time = f"selftests/{kernel}", 60 * MINUTE
        yield Suite(name, command, Lane.PROCESSOR, time, skips, _selftest)
        common = ALL_COUNTED if everything else ()
        command = _in_guest(kernel, dict.fromkeys((*common, *COUNTED[kernel])))
        yield Suite(f"counted/{kernel}", command, Lane.COUNTED, time, repeat=_selftest)


def machine_suites() -> Iterator[Suite]:
    """Times: what else runs is in them."""
    measured = ["tests/selftests/run", "measured"]
    yield Suite("selftests/measured", measured, Lane.MACHINE, 10 * MINUTE, NATIVE, _selftest)
    lab = ["tests/python", "lab", "lab/real"]
    yield Suite("python/lab", lab, Lane.MACHINE, may_skip=NO_THREADS, repeat=_python)


def kernel_suites() -> Iterator[Suite]:
    """Carriers in the running kernel, links between namespaces, file systems that boot."""
    native: list[str | Path] = ["tests/selftests/run", "native"]
    yield Suite("selftests/native", native, Lane.KERNEL, 20 * MINUTE, NATIVE, _selftest)
    yield Suite("pages", ["tests/pages"], Lane.KERNEL)
    yield Suite("torch", ["tests/python", "torch"], Lane.KERNEL, may_skip=TORCHS, repeat=_python)
    yield Suite("tuner", ["tests/tuner/run"], Lane.KERNEL, repeat=_python)
    yield Suite("selftests/launchers", ["tests/selftests/launchers.sh"], Lane.KERNEL)


def bare_suites(everything: bool) -> Iterator[Suite]:
    """What a newcomer has."""
    if not everything:
        words = ["tests/bare", "bookworm", "--packages", "--short"]
        yield Suite("bare/bookworm", words, Lane.KERNEL, 20 * MINUTE)
        return
    for name in ("bookworm", "trixie"):
        words = ["tests/bare", name, "--packages", "--image"]
        yield Suite(f"bare/{name}", words, Lane.KERNEL, 60 * MINUTE)
    yield Suite("bare/noble", ["tests/bare", "noble"], Lane.KERNEL, 30 * MINUTE, NO_UBUNTU)
    yield Suite("packages/rpm", ["tests/packages/rpm.sh"], Lane.KERNEL)


def host_suites(everything: bool) -> Iterator[Suite]:
    """What wants no more than a processor."""
    yield from unit_suites()
    yield from nccl_suites(everything)
    others = ["bench", "netlink", "vm", "../userspace/launchers/kubernetes", "runner", "prometheus"]
    yield Suite("python/others", ["tests/python", *others], repeat=_python)
    yield Suite("pcc", ["tests/python", "pcc"], repeat=_python)
    yield Suite("lint", ["tests/lint"])
    yield Suite("hosts", ["tests/hosts.sh"])
    yield Suite("plan", ["tests/python", "plan"], repeat=_python)
    yield Suite("sim", ["tests/sim/check"], may_skip=NO_NS3, repeat=_python)
    seconds = "60" if everything else "5"
    fuzz = ["env", f"FUZZ_SECONDS={seconds}", "tests/fuzz/run"]
    yield Suite("fuzz", fuzz, timeout_s=60 * MINUTE)
    yield Suite("manifests", ["tests/python", "manifests"], may_skip=NO_KUBECTL, repeat=_python)
    yield Suite("selftests/lib", ["tests/selftests/lib/selftest.sh"])


def first_suites() -> Iterator[Suite]:
    """What the others need."""
    yield Suite("deps", ["tests/deps/install.sh", "--check", "all"], Lane.MACHINE)
    make: list[str | Path] = ["make", "--no-print-directory", "-j2", "WERROR=-Werror", "all"]
    yield Suite("build", make, Lane.MACHINE, 20 * MINUTE)


def debug_suites() -> Iterator[Suite]:
    """The module under kernels with debugging, which are built first: `make check-debug`."""
    groups = ("demo", "build", "guests", "debug")
    yield Suite("deps", ["tests/deps/install.sh", "--check", *groups], Lane.MACHINE)
    yield Suite("build", ["make", "--no-print-directory", "lab", "userspace"], Lane.MACHINE)
    for kernel in DEBUG:
        fetch: list[str | Path] = ["tests/vm/vm", "fetch", kernel]
        yield Suite(f"kernel/{kernel}", fetch, Lane.MACHINE, 120 * MINUTE)
        command = _in_guest(kernel, DEBUG_TESTS)
        yield Suite(f"debug/{kernel}", command, Lane.MACHINE, 90 * MINUTE, repeat=_selftest)


def later_suites(kernels: Sequence[str], everything: bool) -> Iterator[Suite]:
    """After the build: which unit tests there are is looked up now."""
    yield from machine_suites()
    yield from guest_suites(kernels, everything)
    if kernels:
        yield from bare_suites(everything)
    yield from kernel_suites()
    yield from host_suites(everything)
    if everything:
        yield Suite("checkpatch", ["tests/vm/vm", "checkpatch"])


def is_due(suite: Suite, only: Sequence[str]) -> bool:
    """Whether it runs if just these are asked for: what is built, too, or old programs pass."""
    return not only or suite.name == "build" or suite.name.startswith(tuple(only))


def unknown(only: Sequence[str], names: Sequence[str]) -> list[str]:
    """Those of "only" with which no suite's name begins."""
    return [word for word in only if not any(name.startswith(word) for name in names)]
