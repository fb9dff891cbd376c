# SPDX-License-Identifier: GPL-2.0
"""What the running kernel can do, found by trying it in a scratch namespace."""

import functools
import os
import secrets
from pathlib import Path

from . import burst, rdma, shell, wire
from .errors import LabError, SkipError
from .scenario import Scenario

PROBES = {
    "netem": "netem delay 1ms",
    "red": "red limit 100000 min 30000 max 30000 avpkt 1000 burst 31 probability 1 ecn",
    "fq_codel": "fq_codel",
    "prio": "htb",
}


def check_machine() -> None:
    """The lab makes network namespaces: that takes root and iproute2."""
    if os.geteuid() != 0:
        raise LabError("needs root: it makes network namespaces")


def check_scenario(scenario: Scenario) -> None:
    """Refuse a scenario without its programs, skip what this kernel cannot emulate."""
    if not burst.BINARY.exists():
        raise LabError("mlcc-burst is not built: run make -C tests/lab")
    missing = [need for need in scenario.needs if not _can(need)]
    for need in {"policer", "coalesce"} & set(missing):
        raise SkipError(f"{scenario.name}: {need} needs wire.bpf.o (clang) and bpftool")
    if missing:
        raise SkipError(
            f"{scenario.name}: this kernel lacks {', '.join(missing)}; "
            "run it with --vm KERNEL (for example --vm 6.12)"
        )


def _can(need: str) -> bool:
    """By a qdisc, or by BPF in its stead."""
    if need == "loss":
        return has_qdisc("netem") or wire.buildable()
    if need in ("policer", "coalesce"):
        return wire.buildable()
    return has_qdisc(need) or (need == "red" and wire.buildable())


@functools.cache
def has_qdisc(need: str) -> bool:
    """Whether the running kernel has one of PROBES."""
    namespace = f"mlcc-probe-{secrets.token_hex(4)}"
    shell.run(["ip", "netns", "add", namespace])
    try:
        qdisc = PROBES[need].split()
        command = ["tc", "-n", namespace, "qdisc", "add", "dev", "lo", "root", *qdisc]
        return shell.attempt(command).returncode == 0
    finally:
        shell.run(["ip", "netns", "del", namespace])


def available_ccs() -> list[str]:
    """Congestion controls that are registered right now."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def check_cc(name: str) -> None:
    """A kernel may have it as a module that is not loaded yet."""
    if name not in available_ccs():
        shell.attempt(["modprobe", "-q", f"tcp_{name}"])
    if name not in available_ccs():
        raise SkipError(
            f"--cc {name}: this kernel has {', '.join(available_ccs())}; mlcc comes from a carrier"
        )


def check_verbs(ccs: set[str]) -> None:
    """Over verbs there is DCQCN, and there is mlcc."""
    for cc in sorted(ccs - {rdma.DCQCN}):
        raise LabError(f"--cc {cc}: with transport = verbs there are {rdma.DCQCN} and mlcc")
    if not burst.VERBS.exists():
        raise SkipError(f"{burst.VERBS.name}: not built; needs libibverbs-dev: make -C tests/lab")
