# SPDX-License-Identifier: GPL-2.0
"""What does not depend on the back end, tried with one or two of them."""

import errno
import json
import os
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path
from typing import Any

from fake_sys import Knob
from harness import PROGRAM, Machine, vendors, wait_for
from vendors import PCI, Vendor

from fake_mlccd import Listener

CC = f"/kernel/debug/mlx5/{PCI}/cc_params"


class Mlx5(Machine):
    vendor_of = staticmethod(vendors.mlx5)

    def lock_down(self, on: bool = True) -> None:
        """Secure Boot: files of debugfs cannot be opened."""
        text = "none [integrity] confidentiality\n" if on else "[none] integrity\n"
        self.sys.do("text", path="/kernel/security/lockdown", text=text)
        self.sys.do("fail", on="open", prefix="/kernel/debug", code=errno.EPERM if on else 0)


class Set(Mlx5):
    def test_all_or_none(self) -> None:
        self.sys.do("fail", on="write", prefix=f"{CC}/rp_hai_rate", code=errno.EINVAL)
        reply = self.refused(1, "set", self.device, "rp_ai_rate=20", "rp_hai_rate=200")
        self.assertIn("rp_hai_rate", reply["error"])
        self.assertEqual(self.value(), 5)
        self.assertEqual(self.writes()[0], (f"{CC}/rp_ai_rate", "20"))
        self.assertEqual(self.state_files(), [])

    def test_all_are_checked_before_the_first_is_written(self) -> None:
        self.refused(2, "set", self.device, "rp_ai_rate=20", "rp_threshold=32")
        self.sys.do("fail", on="read", prefix=f"{CC}/rp_threshold", code=errno.EIO)
        self.refused(1, "set", self.device, "rp_ai_rate=20", "rp_threshold=3")
        self.assertEqual(self.writes(), [])

    def test_words_that_make_no_sense(self) -> None:
        for word in (
            "rp_ai_rate",
            "rp_ai_rate=",
            "rp_ai_rate=abc",
            "rp_ai_rate=-1",
            "rp_ai_rate=5x",
            "rp_ai_rate=4294967296",
            "=5",
            "no_such=5",
        ):
            with self.subTest(word):
                self.refused(2, "set", self.device, word)
        self.refused(2, "set", self.device, "rp_gd=10", "rp_gd=11")
        self.refused(2, "set", self.device)
        self.assertEqual(self.writes(), [])

    def test_a_knob_that_changes_another(self) -> None:
        """mlx5: writing the priority of CNPs takes the mode away."""
        self.good("set", self.device, "np_cnp_prio=3")
        self.assertEqual(self.sys.read(f"{CC}/np_cnp_prio_mode"), 0)
        self.good("restore")
        self.assertEqual(self.sys.read(f"{CC}/np_cnp_prio"), 6)
        self.assertEqual(self.sys.read(f"{CC}/np_cnp_prio_mode"), 1)

    def test_rounding_is_told(self) -> None:
        self.set_value(8)
        self.sys.do("round", path=self.vendor.path, step=8)
        reply = self.refused(1, "set", self.device, "rp_ai_rate=20")
        self.assertIn("wrote 20, and it reads 16", reply["error"])
        self.assertEqual(self.value(), 8)

    def test_lockdown(self) -> None:
        self.lock_down()
        reply = self.refused(1, "set", self.device, "rp_ai_rate=20")
        self.assertEqual(reply["code"], "EPERM")
        self.assertIn("lockdown", reply["error"])
        self.assertIn("lockdown", self.tool("show", self.device)[1][0]["error"])
        self.lock_down(False)
        self.assertEqual(self.writes(), [])
        self.assertEqual(self.state_files(), [])

    def test_it_says_whose_traffic_that_is(self) -> None:
        errors = self.tool("set", self.device, "rp_ai_rate=20")[2]
        self.assertIn("EVERY flow of the port", errors)

    def test_no_place_for_the_state_no_write(self) -> None:
        (self.root / "run/mlcc").write_text("a file, not a folder")
        self.assertEqual(self.tool("set", self.device, "rp_ai_rate=20")[0], 1)
        self.assertEqual(self.writes(), [])

    def test_a_state_that_others_may_write_is_not_believed(self) -> None:
        self.good("set", self.device, "rp_ai_rate=20")
        (self.root / "run/mlcc/dcqcn").chmod(0o777)
        self.assertEqual(self.tool("set", self.device, "rp_ai_rate=30")[0], 1)
        self.assertEqual(self.value(), 20)

    def test_broken_state(self) -> None:
        self.good("set", self.device, "rp_ai_rate=20")
        state = self.root / "run/mlcc/dcqcn" / self.state_files()[0]
        good = json.loads(state.read_text())
        for text in (
            "",
            "{",
            "[]",
            '{"version": 9, "knobs": {}}',
            '{"version": 1, "knobs": {"no_such": {"value": 1, "low": 1, "high": 1}}}',
            '{"version": 1, "knobs": {"rp_ai_rate": {"value": -1, "low": 1, "high": 1}}}',
            '{"version": 1, "knobs": {"rp_ai_rate": {"value": 1}}}',
        ):
            with self.subTest(text):
                state.write_text(text)
                for words in (("restore",), ("set", self.device, "rp_ai_rate=30")):
                    status, reply, _ = self.tool(*words)
                    self.assertEqual((status, reply["code"]), (1, "EBADMSG"))
        self.assertEqual(self.value(), 20)
        state.write_text(json.dumps(good))
        self.good("restore")
        self.assertEqual(self.value(), 5)


class Follow(Mlx5):
    def test_few_levels(self) -> None:
        """A base of 5 Mb/s has six of them, and that is said."""
        self.carrier.add(self.JOB, "bert")
        words = ("--dry-run", "follow", self.device, "bert")
        status, plan, errors = self.tool(*words, "--drive", "ai")
        self.assertEqual((status, plan["levels"]), (0, 6))
        self.assertIn("6 whole values", errors)
        self.assertIn("--base", errors)
        self.assertIn("--drive time", errors)
        _, plan, errors = self.tool(*words)
        self.assertEqual((plan["low"], plan["high"]), (150, 300))
        self.assertEqual(errors, "")

    def test_options_of_the_range(self) -> None:
        self.carrier.add(self.JOB, "bert")
        for words, low, high in (
            (("--base", "40"), 40, 80),
            (("--base", "40", "--cap", "1.5"), 40, 60),
            (("--base", "40", "--cap", "4"), 40, 80),
            (("--base", "40", "--cap", "4", "--profile", "interleave"), 40, 160),
            (("--base", "40", "--profile", "mltcp"), 10, 80),
            (("--base", "400", "--drive", "time", "--cap", "4", "--profile", "mltcp"), 200, 1600),
        ):
            with self.subTest(words):
                words = words if "time" in words else (*words, "--drive", "ai")
                plan = self.good("--dry-run", "follow", self.device, "bert", *words)
                self.assertEqual((plan["low"], plan["high"]), (low, high))

    def test_bad_options(self) -> None:
        self.carrier.add(self.JOB, "bert")
        for words in (
            ("--cap", "0.5"),
            ("--cap", "nan"),
            ("--cadence", "0.5ms"),
            ("--cadence", "2s"),
            ("--budget", "0"),
            ("--profile", "none"),
            ("--weight", "max"),
            ("--weight", "min", "--alone"),
            ("--phase-bytes", "1M"),
            ("--progress", "switch"),
            ("--progress", "port", "--weight", "min"),
            ("--base", "0"),
            ("--hysteresis", "2"),
        ):
            with self.subTest(words):
                self.refused(2, "follow", self.device, "bert", *words)
        self.refused(2, "follow", self.device)
        self.refused(2, "follow", self.device, "--progress", "port")
        self.refused(1, "follow", self.device, "bert", "--drive", "rp_hai_rate")
        self.assertEqual(self.writes(), [])

    def test_progress_in_between(self) -> None:
        """From a base that is set, and the old value is given back."""
        sending = self.send(0.0)
        following = self.follow("--base", "100", "--hysteresis", "0")
        for progress, value in ((0.25, 125), (0.5, 150), (0.75, 175), (1.0, 200), (0.0, 100)):
            sending.progress = progress
            wait_for(lambda value=value: self.value() == value, f"{value} Mb/s")
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), 5)

    def test_neutral_job_has_no_gain(self) -> None:
        sending = self.send(1.0)
        self.follow()
        wait_for(lambda: self.value() == 10, "the top")
        sending.silent = True
        sending.carrier.neutral(self.JOB)
        wait_for(lambda: self.value() == 5, "the base")

    def test_refuses_a_shared_port(self) -> None:
        self.carrier.add(self.JOB, "bert")
        self.carrier.add(8, "vgg")
        reply = self.refused(1, "follow", self.device, "bert")
        self.assertEqual(reply["code"], "EBUSY")
        self.assertIn("whole port", reply["error"])
        self.good("--dry-run", "follow", self.device, "bert", "--alone")
        self.good("--dry-run", "follow", self.device, "bert", "--weight", "min")
        self.assertEqual(self.writes(), [])

    def test_steps_aside_while_there_are_others(self) -> None:
        following, _ = self.follow_to_the_top()
        self.carrier.add(8, "vgg")
        following.wait_event("shared")
        wait_for(lambda: self.value() == 5, "the base")
        self.carrier.remove(8)
        wait_for(lambda: self.value() == 10, "the top again")
        self.assertTrue(following.seen("alone"))

    def weigh(self, how: str, value: int) -> None:
        sending = self.send(1.0)
        self.carrier.add(8, "vgg")
        other = type(sending)(self.carrier, 8)
        other.progress = 0.5
        other.start()
        self.addCleanup(other.join)
        self.addCleanup(other.over.set)
        self.follow("--base", "100", "--weight", how)
        wait_for(lambda: self.value() == value, f"{value} with two")
        # who does not send is not weighed
        other.silent = True
        wait_for(lambda: self.value() == 200, "the other alone")

    def test_weight_min(self) -> None:
        self.weigh("min", 150)

    def test_weight_mean(self) -> None:
        self.weigh("mean", 175)

    def test_job_comes_and_goes(self) -> None:
        following, sending = self.follow_to_the_top()
        sending.silent = True
        self.carrier.remove(self.JOB)
        following.wait_event("gone")
        wait_for(lambda: self.value() == 5, "the base")
        self.carrier.add(self.JOB, "bert")
        sending.silent = False
        wait_for(lambda: self.value() == 10, "the top again")

    def test_no_such_job(self) -> None:
        self.assertEqual(self.refused(1, "follow", self.device, "bert")["code"], "ENOENT")
        self.carrier.add(self.JOB, "bert")
        self.good("--dry-run", "follow", self.device, str(self.JOB))

    def test_waits_for_a_job(self) -> None:
        following = self.follow("--wait")
        following.wait_event("gone")
        self.send(1.0)
        wait_for(lambda: self.value() == 10, "the top")
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), 5)

    def test_no_carrier(self) -> None:
        self.env["MLCC_FAKE_GONE"] = "/"
        self.assertIn("carrier", self.refused(1, "follow", self.device, "bert")["error"])

    def test_somebody_else_sets_it(self) -> None:
        """That is the base from then on, and what is given back."""
        following, sending = self.follow_to_the_top()
        with following.between_looks():
            self.set_value(50)
        sending.progress = 0.0
        following.wait_event("rebased")
        wait_for(lambda: self.value() == 50, "the new base")
        sending.progress = 1.0
        wait_for(lambda: self.value() == 100, "its top")
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), 50)

    def test_somebody_else_sets_it_just_before_the_end(self) -> None:
        following, _ = self.follow_to_the_top()
        with following.between_looks():
            self.set_value(50)
            following.process.send_signal(signal.SIGTERM)
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), 50)
        self.assertEqual(self.state_files(), [])

    def test_lockdown_in_the_middle(self) -> None:
        """It ends, says so, and the state is there for when it is over."""
        following, sending = self.follow_to_the_top()
        self.lock_down()
        sending.progress = 0.0
        self.assertEqual(following.process.wait(30), 1)
        self.assertNotEqual(self.state_files(), [])
        self.lock_down(False)
        self.good("restore")
        self.assertEqual(self.value(), 5)

    def test_refused_values_end_it(self) -> None:
        """The device answers, but takes nothing: that is no reset."""
        following, sending = self.follow_to_the_top()
        self.sys.do("fail", on="write", prefix=CC, code=errno.EINVAL)
        sending.progress = 0.0
        self.assertEqual(following.process.wait(30), 1)
        self.assertFalse(following.seen("away"))
        self.sys.do("fail", on="write", prefix=CC, code=0)
        self.good("restore")
        self.assertEqual(self.value(), 5)

    def test_every_error_of_a_reset_is_one(self) -> None:
        following, sending = self.follow_to_the_top()
        for code in (errno.EINVAL, errno.ENODEV, errno.EIO, errno.ENOENT, errno.ETIMEDOUT):
            with self.subTest(errno.errorcode[code]):
                count = len(following.events)
                self.sys.do("fail", on="read", prefix=CC, code=code)
                sending.progress = 1.0 - sending.progress
                wait_for(lambda n=count: len(following.events) > n, "away")
                self.assertEqual(following.events[-1]["event"], "away")
                self.sys.do("fail", on="read", prefix=CC, code=0)
                value = 10 if sending.progress else 5
                wait_for(lambda value=value: self.value() == value, "going on")

    def test_kill_while_it_is_away(self) -> None:
        following, _ = self.follow_to_the_top()
        self.take_away()
        following.wait_event("away")
        following.end(signal.SIGKILL)
        self.give_back(reset=True)
        self.good("restore")
        self.assertEqual(self.value(), 5)
        self.assertEqual(self.state_files(), [])

    def test_nobody_reads_its_events(self) -> None:
        self.send(1.0)
        read_end, write_end = os.pipe()
        words = self.words("follow", self.device, "bert", "--cadence", "2ms", "--drive", "ai")
        following = subprocess.Popen(words, env=self.env, stdout=write_end, stderr=write_end)
        self.addCleanup(following.wait)
        self.addCleanup(following.kill)
        os.close(write_end)
        os.close(read_end)
        wait_for(lambda: self.value() == 10, "the top")
        following.terminate()
        self.assertEqual(following.wait(30), 0)
        self.assertEqual(self.value(), 5)


class Ranks(Mlx5):
    """Progress from what the job's processes have counted."""

    WORDS = ("--base", "100", "--hysteresis", "0")

    def setUp(self) -> None:
        super().setUp()
        (self.root / "run/mlcc").mkdir()
        self.counts: dict[str, Any] = {"id": self.JOB, "name": "bert"}
        self.mlccd = Listener([self.counts], path=self.root / "run/mlcc/mlccd.sock")
        self.addCleanup(self.mlccd.close)

    def count(self, sent: int, phase: int, d_phase: int = 1000) -> None:
        self.counts |= {
            "ranks": 2,
            "ranks_sent_bytes": sent,
            "ranks_phase_bytes": phase,
            "d_phase_bytes": d_phase,
        }

    def test_rises_with_the_bytes_of_a_phase(self) -> None:
        self.carrier.add(self.JOB, "bert")
        self.count(1, 0)
        following = self.follow(*self.WORDS)
        for sent, value in ((250, 125), (500, 150), (900, 190), (1000, 200), (5000, 200), (0, 100)):
            self.count(10_000 + sent, sent)
            wait_for(lambda value=value: self.value() == value, f"{value} Mb/s")
        self.count(20_000, 500, 0)
        wait_for(lambda: self.value() == 100, "no gain without D_phase")
        self.assertEqual(self.mlccd.requests[0], {"op": "show", "job": self.JOB})
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), 5)

    def test_without_counts_it_is_the_carriers(self) -> None:
        sending = self.send(0.5)
        self.follow(*self.WORDS)
        wait_for(lambda: self.value() == 150, "the carrier's")
        self.count(1, 750)
        wait_for(lambda: self.value() == 175, "the processes'")
        for reply in (b"", b"x", b"[]", b"null", b'{"ok":true}', b'{"jobs":7}', b'{"jobs":[7]}'):
            self.mlccd.reply = reply
            wait_for(lambda: self.value() == 150, f"{reply!r}: the carrier's")
            self.mlccd.reply = None
            wait_for(lambda: self.value() == 175, f"{reply!r}: the processes' again")
        sending.progress = 0.0


class Port(Mlx5):
    """Progress from the port's own counter."""

    COUNTER = "/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"
    # four looks are a silence: 80 ms, as the sender of a busy machine may come late
    WORDS = ("--progress", "port", "--alone", "--base", "100", "--cadence", "20ms")

    def setUp(self) -> None:
        super().setUp()
        self.count, self.over, self.silent = 0, threading.Event(), False
        self.phase: int | None = None
        self.step = 20_000
        self.sender = threading.Thread(target=self.count_up, daemon=True)
        self.sender.start()
        self.addCleanup(self.sender.join)
        self.addCleanup(self.over.set)

    def count_up(self) -> None:
        """The counter has units of four octets; phases end if they have one."""
        sent = 0
        while not self.over.wait(0.003):
            if self.silent:
                continue
            if self.phase and sent >= self.phase:
                sent = 0
                self.over.wait(0.1)
            sent += self.step
            self.count += self.step // 4
            self.sys.do("text", path=self.COUNTER, text=f"{self.count}\n")

    def at_the_base(self) -> bool:
        """For so long that several phases would have shown."""
        values = set()
        for _ in range(100):
            values.add(self.value())
            time.sleep(0.01)
        return values == {100}

    def test_rises_with_the_bytes_of_a_phase(self) -> None:
        self.phase = 1_900_000
        following = self.follow(*self.WORDS, "--hysteresis", "0", "--phase-bytes", "2M")
        wait_for(lambda: self.value() > 150, "more than half a phase")
        # phases that are far longer than was said: the announcement is wrong, so no gain
        self.phase = None
        wait_for(self.at_the_base, "neutral")
        self.silent = True
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), 5)

    def test_needs_the_counter(self) -> None:
        self.sys.do("remove", prefix="/class/infiniband")
        reply = self.refused(3, "follow", self.device, "--progress", "port", "--alone")
        self.assertEqual(reply["code"], "ENODEV")


class Told(Mlx5):
    """What a running follow tells mlccd."""

    @property
    def file(self) -> Path:
        return self.root / "run/mlcc/follow" / f"mlx5:{PCI}"

    def told(self) -> dict[str, Any]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def wait_told(self, **wanted: Any) -> dict[str, Any]:
        wait_for(lambda: wanted.items() <= self.told().items(), f"{wanted}")
        return self.told()

    def test_job_and_knob(self) -> None:
        following, sending = self.follow_to_the_top()
        told = self.wait_told(job=self.JOB, state="runs", value=10, gain=2)
        self.assertEqual(
            (told["backend"], told["device"], told["rdma"], told["scope"]),
            ("mlx5", PCI, "mlx5_0", "port"),
        )
        self.assertEqual(
            (told["knob"], told["unit"], told["base"], told["low"], told["high"]),
            ("rp_ai_rate", "Mb/s", 5, 5, 10),
        )
        sending.silent = True
        self.wait_told(state="idle", value=5, gain=1)
        before = self.told()["updated_us"]
        wait_for(lambda: self.told().get("updated_us", 0) > before, "the next time")
        self.assertEqual(following.end(), 0)
        self.assertFalse(self.file.exists())

    def test_nobody_is_told_where_there_is_no_place(self) -> None:
        (self.root / "run/mlcc").mkdir()
        (self.root / "run/mlcc/follow").write_text("a file, not a folder")
        following, _ = self.follow_to_the_top()
        self.assertEqual(following.end(), 0)
        self.assertIn("mlccd will not show", following.errors())
        self.assertEqual(self.value(), 5)


class TwoDrivers(Machine):
    """One NIC with the kernel's debugfs files and OFED's of sysfs."""

    @staticmethod
    def vendor_of() -> Vendor:
        vendor = vendors.mlx5()
        vendor.tree |= vendors.ofed().tree
        return vendor

    def test_a_name_that_is_not_enough(self) -> None:
        reply = self.refused(2, "set", "mlx5_0", "rp_ai_rate=20")
        self.assertIn("mlx5:", reply["error"])
        self.assertIn("ofed:eth0", reply["error"])

    def test_one_lock_for_the_hardware(self) -> None:
        self.follow_to_the_top()
        reply = self.refused(1, "set", "ofed:eth0", "rpg_ai_rate=20")
        self.assertEqual(reply["code"], "EBUSY")
        self.assertIn("process", reply["error"])


class Rails(Machine):
    """A job that sends by two devices."""

    OTHER = "/kernel/debug/rxe/rxe0/cc_params/rp_ai_rate"

    @staticmethod
    def vendor_of() -> Vendor:
        vendor = vendors.mlx5()
        vendor.tree |= vendors.rxe().tree
        return vendor

    def setUp(self) -> None:
        super().setUp()
        self.device = "mlx5_0,rxe0"

    def test_both_rise_and_are_put_back(self) -> None:
        following, _ = self.follow_to_the_top()
        wait_for(lambda: self.sys.read(self.OTHER) == 2, "the other one's top")
        shown = self.root / "run/mlcc/follow"
        wait_for(lambda: len(list(shown.iterdir())) == 2, "a file of each")
        self.assertEqual(following.end(), 0)
        self.assertEqual((self.value(), self.sys.read(self.OTHER)), (5, 1))
        ends = [one["device"] for one in following.events if one["event"] == "end"]
        self.assertEqual(len(ends), 2)

    def test_one_that_is_away_does_not_hold_up_the_other(self) -> None:
        following, sending = self.follow_to_the_top()
        self.take_away()
        following.wait_event("away")
        sending.progress = 0.0
        wait_for(lambda: self.sys.read(self.OTHER) == 1, "the other one's base")
        self.give_back(reset=True)
        following.wait_event("back")
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), 5)

    def test_what_is_wrong_with_one_changes_none(self) -> None:
        self.carrier.add(self.JOB, "bert")
        for devices in ("mlx5_0,none", "mlx5_0,", "mlx5_0,mlx5_0"):
            with self.subTest(devices):
                self.assertNotEqual(self.tool("follow", devices, "bert")[0], 0)
        self.refused(2, "follow", self.device, "--progress", "port", "--alone")
        self.assertEqual(self.writes(), [])
        self.assertEqual(self.state_files(), [])

    def test_killed_both_are_restored(self) -> None:
        self.kill_at_the_top()
        self.good("restore", self.device)
        self.assertEqual((self.value(), self.sys.read(self.OTHER)), (5, 1))


class NoKnobs(Machine):
    """A firmware that allows neither query nor change."""

    @staticmethod
    def vendor_of() -> Vendor:
        vendor = vendors.mlx5()
        vendor.tree = {f"/kernel/debug/mlx5/{PCI}/pages_per_cmd": Knob("mlx5", 1)}
        return vendor

    def test_why(self) -> None:
        status, devices, _ = self.tool("show")
        self.assertEqual(status, 3)
        self.assertIn("firmware", devices[0]["error"])
        self.assertIn("firmware", self.refused(3, "set", PCI, "rp_ai_rate=20")["error"])


class Tools(Machine):
    vendor_of = staticmethod(vendors.ionic)

    def test_a_program_that_others_may_write_is_not_run(self) -> None:
        nicctl = self.root / "usr/sbin/nicctl"
        nicctl.write_text(f"#!/bin/sh\ntouch {self.root}/run-by-root\n")
        nicctl.chmod(0o777)
        self.assertEqual(self.tool("show", self.device)[0], 3)
        self.assertFalse((self.root / "run-by-root").exists())

    def test_a_tool_that_fails_says_why(self) -> None:
        self.take_away()
        device = self.tool("show", "ionic")[1][0]
        self.assertIn("NIC not found", device["error"])

    def test_environment_does_not_reach_it(self) -> None:
        nicctl = self.root / "usr/sbin/nicctl"
        nicctl.write_text(f"#!/bin/sh\nenv >{self.root}/environment\n")
        self.env |= {"LD_PRELOAD_X": "bad", "HOME": "/bad"}
        self.tool("show")
        seen = (self.root / "environment").read_text()
        self.assertNotIn("bad", seen)


class Sysroot(Mlx5):
    def test_others_may_not_write_it(self) -> None:
        self.root.chmod(0o777)
        self.assertIn("nobody else", self.refused(1, "show")["error"])
        self.root.chmod(0o700)
        self.good("show")

    def test_links_do_not_lead_out(self) -> None:
        outside = Path(f"{self.root}-outside")
        outside.write_text("77\n")
        self.addCleanup(outside.unlink)
        up = "../" * 20
        for target in (f"->{up}{outside}", f"->{outside}"):
            self.sys.do("text", path=self.vendor.path, text=target)
            status, _, _ = self.tool("set", self.device, "rp_ai_rate=20")
            self.assertNotEqual(status, 0)
        self.assertEqual(outside.read_text(), "77\n")


class Text(Mlx5):
    """What people read: it is there, and nothing breaks."""

    def plain(self, *words: str) -> str:
        full = [str(PROGRAM), "--sysroot", str(self.root), *words]
        done = subprocess.run(full, env=self.env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_verbs(self) -> None:
        self.carrier.add(self.JOB, "bert")
        self.assertIn("rp_ai_rate", self.plain("show"))
        self.assertIn("5 -> 20 Mb/s", self.plain("set", "mlx5_0", "rp_ai_rate=20"))
        self.assertIn("restored", self.plain("restore"))
        self.assertIn("nothing", self.plain("restore"))
        self.assertIn("would follow", self.plain("--dry-run", "follow", "mlx5_0", "bert"))

    def test_help(self) -> None:
        for verb in ("show", "set", "follow", "restore"):
            self.assertIn("usage:", self.plain(verb, "--help"))
            self.assertIn("usage:", self.plain("help", verb))
        self.assertIn("usage:", self.plain("--help"))
        self.assertIn("mlcc-dcqcn", self.plain("--version"))
        self.assertIn("ionic", self.plain("show", "--backends"))


class Completion(Mlx5):
    """What bash offers, from what the program finds."""

    def offers(self, *words: str) -> set[str]:
        program = self.root / "usr/mlcc-dcqcn"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec {PROGRAM} --sysroot {self.root} "$@"\n')
        program.chmod(0o700)
        script = Path(__file__).resolve().parents[2] / "userspace/completion.bash"
        line = [f"'{word}'" for word in ("mlcc-dcqcn", *words)]
        code = (
            f"PATH={program.parent}:$PATH; . {script}; COMP_WORDS=({' '.join(line)}); "
            f"COMP_CWORD={len(words)}; _mlcc {line[0]} {line[-1]} {line[-2]}; "
            "printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        done = subprocess.run(["bash", "-c", code], env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return set(done.stdout.split())

    def test_verbs_devices_knobs(self) -> None:
        self.assertEqual(self.offers("re"), {"restore"})
        self.assertEqual(self.offers("set", "mlx"), {"mlx5_0"})
        self.assertIn("mlx5", self.offers("show", "ml"))
        self.assertEqual(self.offers("set", "mlx5_0", "rp_ai"), {"rp_ai_rate="})
        self.assertEqual(self.offers("show", "mlx5_0", "rp_time"), {"rp_time_reset"})
        self.assertEqual(self.offers("follow", "mlx5_0", "bert", "--drive", ""), {"ai", "time"})
        self.assertIn("--weight", self.offers("follow", "mlx5_0", "--w"))


class Unprivileged(Mlx5):
    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_root_is_needed(self) -> None:
        self.root.chmod(0o755)
        self.sys.do("fail", on="open", prefix="/kernel/debug", code=errno.EACCES)
        status, reply, _ = self.tool("set", self.device, "rp_ai_rate=20")
        self.assertEqual(status, 1)
        self.assertIn("root", reply["error"])
