# SPDX-License-Identifier: GPL-2.0
"""What mlcc-ctl doctor tells of RDMA devices."""

import errno
import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

from harness import ROOT, Machine, vendors, wait_for
from vendors import PCI, Vendor

CTL = Path(os.environ.get("MLCC_CTL", ROOT / "build/userspace/mlcc-ctl/mlcc-ctl"))
RXE_COUNTERS = "/class/infiniband/rxe0/ports/1/hw_counters"

Line = dict[str, str]


def mlx5() -> Vendor:
    vendor = vendors.mlx5()
    vendor.tree[f"/{PCI}/driver"] = "->../bus/pci/drivers/mlx5_core"
    counters = "/class/infiniband/mlx5_0/ports/1/hw_counters"
    vendor.tree[f"{counters}/np_cnp_sent"] = "12\n"
    vendor.tree[f"{counters}/rp_cnp_handled"] = "3\n"
    return vendor


def rxe() -> Vendor:
    vendor = vendors.rxe()
    vendor.tree["/class/infiniband/rxe0/node_type"] = "1: CA\n"
    vendor.tree[f"{RXE_COUNTERS}/rp_cnp_handled"] = "3\n"
    vendor.tree["/kernel/debug/rxe/rxe0/jobs"] = ""
    return vendor


def rxe_stock() -> Vendor:
    """The kernel's own driver: no files of ours."""
    vendor = rxe()
    vendor.tree = {
        "/class/infiniband/rxe0/node_type": "1: CA\n",
        "/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts": "5\n",
        "/class/infiniband/rxe0/ports/2/state": "4: ACTIVE\n",
    }
    return vendor


def unknown() -> Vendor:
    """A NIC that no back end knows, and one that speaks iWARP."""
    vendor = rxe()
    vendor.tree = {
        f"/{PCI}/driver": "->../bus/pci/drivers/mlx4_core",
        "/class/infiniband/mlx4_0/device": f"->../../../{PCI}",
        "/class/infiniband/siw0/node_type": "4: RNIC\n",
    }
    return vendor


def irdma() -> Vendor:
    vendor = vendors.irdma()
    vendor.tree[f"/{PCI}/driver"] = "->../bus/pci/drivers/ice"
    vendor.tree["/class/infiniband/rocep3s0/device"] = f"->../../../{PCI}"
    vendor.tree["/module/irdma/version"] = "1\n"
    return vendor


@unittest.skipUnless(CTL.exists(), "mlcc-ctl is not built: make userspace")
class Doctor(Machine):
    vendor_of = staticmethod(mlx5)

    def lines(self, *about: str) -> list[Line]:
        """Those about RDMA; nothing of them may be taken for a failure."""
        words = [CTL, "-j", "--socket", "/nonexistent", "doctor", "--sysroot", self.root]
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=60)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        checks = json.loads(done.stdout)
        rdma = [c for c in checks if c["check"] in (about or ("rdma", "follow", "roce"))]
        self.assertFalse([c for c in rdma if c["state"] == "FAIL"], rdma)
        self.assertEqual(self.writes(), [])
        return rdma

    def line(self, check: str, text: str) -> Line:
        lines = self.lines(check)
        found = [c for c in lines if c["check"] == check and text in c["text"]]
        self.assertEqual(len(found), 1, lines)
        return found[0]


class Hardware(Doctor):
    def told(self) -> list[Path]:
        return list((self.root / "run/mlcc/follow").glob("mlx5:*"))

    def test_driver_back_end_counters(self) -> None:
        self.assertEqual(self.line("label", "mlx5_0 (mlx5_core)")["state"], "ok")
        line = self.line("rdma", "mlx5_0 (mlx5_core)")
        self.assertEqual(line["state"], "ok")
        self.assertIn(f"can set mlx5:{PCI}", line["text"])
        self.assertEqual(self.line("follow", "no job")["todo"], "")
        self.assertIn(
            "np_cnp_sent 12, rp_cnp_handled 3", self.line("roce", "mlx5_0 port 1")["text"]
        )
        self.assertNotIn("np_ecn_marked", self.line("roce", "mlx5_0")["text"])
        self.sys.do("remove", prefix="/class/infiniband/mlx5_0/ports/1/hw_counters")
        self.assertFalse([c for c in self.lines() if c["check"] == "roce"])

    def test_lockdown(self) -> None:
        self.sys.do("text", path="/kernel/security/lockdown", text="none [integrity]\n")
        self.sys.do("fail", on="open", prefix=f"{self.vendor.folder}/", code=errno.EPERM)
        line = self.line("rdma", "cannot set")
        self.assertEqual(line["state"], "note")
        self.assertIn("lockdown", line["text"])
        self.assertEqual([c for c in self.lines() if c["check"] == "follow"], [])

    def test_somebody_follows(self) -> None:
        """It is stopped meanwhile: what is written then doctor has written."""
        following, _ = self.follow_to_the_top()
        wait_for(lambda: bool(self.told()), "its file")
        following.process.send_signal(signal.SIGSTOP)
        self.writes()
        line = self.line("follow", f"mlx5:{PCI}: rp_ai_rate is")
        self.assertEqual(line["state"], "ok")
        self.assertIn("base 5", line["text"])
        self.set_value(1000)
        line = self.line("follow", f"mlx5:{PCI}: rp_ai_rate is 1000")
        self.assertEqual(line["state"], "note")
        self.sys.do("fail", on="open", prefix=f"{self.vendor.folder}/", code=errno.EIO)
        self.assertFalse([c for c in self.lines() if (c["check"], c["state"]) == ("follow", "ok")])

    def test_a_follow_was_killed(self) -> None:
        self.kill_at_the_top()
        for file in self.told():
            told = json.loads(file.read_text())
            told["updated_us"] -= 10_000_000
            file.write_text(json.dumps(told))
        self.writes()
        line = self.line("follow", "was killed")
        self.assertEqual(line["state"], "note")
        self.assertIn("mlcc-dcqcn restore", line["todo"])

    def test_no_device(self) -> None:
        self.sys.do("remove", prefix="/class/infiniband")
        (line,) = self.lines()
        self.assertEqual((line["state"], line["text"]), ("ok", "no RDMA device"))
        self.sys.do("remove", prefix="/class/net")
        self.assertEqual(self.line("rdma", "unknown")["state"], "note")


class SoftRoce(Doctor):
    vendor_of = staticmethod(rxe)

    def turn_on(self, *knobs: str) -> None:
        for knob in knobs:
            self.sys.do("set", path=f"{self.vendor.folder}/{knob}", value=1)

    def test_patched_and_off(self) -> None:
        line = self.line("rdma", "DCQCN is off")
        self.assertIn("with mlcc's patches", line["text"])
        self.assertIn("mlcc-dcqcn set rxe:rxe0 np_enable=1 rp_enable=1", line["todo"])

    def test_patched_and_half_on(self) -> None:
        self.turn_on("rp_enable")
        line = self.line("rdma", "DCQCN is on, but marks are not answered")
        self.assertEqual(line["state"], "note")
        self.assertIn("np_enable=1", line["todo"])

    def test_patched_and_on(self) -> None:
        self.turn_on("rp_enable", "np_enable")
        self.assertEqual(self.line("rdma", "DCQCN is on")["state"], "ok")
        self.assertIn("rdma.md", self.line("rdma", "no rule says")["todo"])
        self.sys.do("text", path="/kernel/debug/rxe/rxe0/jobs", text="tclass 32 7\n")
        lines = self.lines()
        self.assertFalse([c for c in lines if "no rule" in c["text"]])
        # its queue pairs have their jobs' gains without anybody
        self.assertFalse([c for c in lines if c["check"] == "follow"])


class SoftRoceWithoutPatches(Doctor):
    vendor_of = staticmethod(rxe_stock)

    def test_says_so(self) -> None:
        self.assertEqual(self.line("label", "rxe0 (soft-RoCE)")["state"], "ok")
        line = self.line("rdma", "rxe0 (soft-RoCE as the kernel has it)")
        self.assertIn("rdma/rxe", line["todo"])
        self.assertIn("Documentation/rdma.md", line["todo"])
        self.assertEqual(len(self.lines()), 1)


class NoBackEnd(Doctor):
    vendor_of = staticmethod(unknown)

    def test_says_so(self) -> None:
        self.assertEqual(self.line("label", "mlx4_0 (mlx4_core): whether")["state"], "note")
        line = self.line("rdma", "mlx4_0 (mlx4_core)")
        self.assertIn("finds no parameters", line["text"])
        self.assertIn("finds no parameters", self.line("rdma", "siw0")["text"])


class ReadOnly(Doctor):
    vendor_of = staticmethod(irdma)

    def test_says_so(self) -> None:
        self.assertIn("only shows it (irdma)", self.line("rdma", "rocep3s0 (ice)")["text"])
