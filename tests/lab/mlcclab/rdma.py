# SPDX-License-Identifier: GPL-2.0
"""Soft-RoCE for `transport = "verbs"`: a device on each host's link, and DCQCN's parameters.

The driver is rdma_rxe with the patches (rdma/rxe), for whose QPs "dcqcn" is plain DCQCN, and "mlcc"
the same as flows of jobs. A host sends for one job only, so a rule for its device is enough to say
whose its QPs are.
"""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from . import shell
from .errors import LabError, SkipError

REPOSITORY = Path(__file__).resolve().parents[3]
DEBUGFS = Path("/sys/kernel/debug/rxe")
DCQCN = "dcqcn"
NEEDS = ("ib_uverbs", "udp_tunnel", "ip6_udp_tunnel")


@dataclass(frozen=True)
class Device:
    """A soft-RoCE device and the namespace that its link is in."""

    name: str
    namespace: str

    def knob(self, name: str, value: int) -> None:
        """Set a parameter of the congestion control."""
        self._write(DEBUGFS / self.name / "cc_params" / name, str(value))

    def belongs_to(self, job: int) -> None:
        """All its QPs are flows of this job; 0: of none."""
        jobs = DEBUGFS / self.name / "jobs"
        for rule in jobs.read_text().splitlines():
            kind, key, _ = rule.split()
            self._write(jobs, f"{kind} {key} 0")
        if job:
            self._write(jobs, f"tclass 0 {job}")

    def _write(self, path: Path, text: str) -> None:
        try:
            path.write_text(f"{text}\n")
        except OSError as error:
            raise LabError(f"{path}: {text}: {error.strerror}") from None


def _driver() -> Path:
    """The driver for the running kernel; tests/vm/rxe makes it for one of tests/vm's."""
    chosen = os.environ.get("MLCC_RXE")
    version = ".".join(re.findall(r"\d+", platform.release())[:2])
    path = Path(chosen) if chosen else REPOSITORY / "build" / "rxe" / version / "rdma_rxe.ko"
    if not path.exists():
        raise SkipError(f"verbs: no {path}: tests/vm/rxe {version}, or set MLCC_RXE")
    return path


class Driver:
    """The driver, loaded for the length of a `with` block, and its devices."""

    def __init__(self, tag: str, rate: float) -> None:
        """rate: of the bottleneck, in bit/s; nobody starts faster."""
        self.tag = tag
        self.max_mbps = max(2, round(rate / 1e6))
        self.devices: list[Device] = []

    def __enter__(self) -> "Driver":
        if Path("/sys/module/rdma_rxe").exists():
            raise LabError("rdma_rxe is already loaded; unload it first, the lab brings its own")
        self._load()
        return self

    def _load(self) -> None:
        driver = _driver()
        shell.run(["modprobe", "-a", *NEEDS])
        shell.run(["insmod", str(driver)])

    def __exit__(self, *_: object) -> None:
        # one after the other: deletions that meet are a race in the driver
        for device in reversed(self.devices):
            link = ["rdma", "link", "del", device.name]
            shell.attempt(["ip", "netns", "exec", device.namespace, *link])
        shell.attempt(["rmmod", "rdma_rxe"])

    def add(self, namespace: str, link: str) -> Device:
        """A device on a link that has its address."""
        device = Device(f"rxe{self.tag}{len(self.devices)}", namespace)
        add = ["rdma", "link", "add", device.name, "type", "rxe", "netdev", link]
        shell.run(["ip", "netns", "exec", namespace, *add])
        self.devices.append(device)
        self._configure(device)
        return device

    def in_namespace(self, namespace: str) -> str:
        """The name of the device there; "": there is none."""
        return next((each.name for each in self.devices if each.namespace == namespace), "")

    def _configure(self, device: Device) -> None:
        # the link is slower than the net device says
        device.knob("rp_max_rate", self.max_mbps)
        device.knob("np_enable", 1)
        device.knob("rp_enable", 1)


class OwnDriver(Driver):
    """The kernel's own driver, which has no congestion control."""

    def _load(self) -> None:
        if shell.attempt(["modprobe", "-q", "rdma_rxe"]).returncode:
            raise SkipError("net-verbs: this kernel has no rdma_rxe")

    def _configure(self, device: Device) -> None:
        pass
