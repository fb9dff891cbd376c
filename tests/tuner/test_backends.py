# SPDX-License-Identifier: GPL-2.0
"""The same for every back end: show, set, ranges, read back, restore, follow, kill -9, reset."""

import unittest
from typing import Any

from harness import Machine, vendors, wait_for


class Readable:
    """Of every back end."""

    def test_show(self: Any) -> None:
        device = self.good("show", self.device)[0]
        self.assertEqual(device["scope"], self.vendor.scope)
        self.assertEqual(f"{device['backend']}:{device['device']}", self.device)
        knob = self.knob()
        self.assertEqual(knob["value"], self.vendor.values.default)
        self.assertLessEqual(knob["min"], self.vendor.values.good)
        self.assertGreaterEqual(knob["max"], self.vendor.values.good)
        self.assertNotIn("saved", knob)

    def test_show_knows_all_files_of_the_device(self: Any) -> None:
        """But those that are no knobs; and nothing is written to find out."""
        knobs = self.good("show", self.device)[0]["knobs"]
        files = [p for p in self.vendor.tree if p.startswith(self.vendor.folder or "//")]
        files = [p for p in files if not p.endswith("/apply")]
        if self.vendor.folder:
            self.assertEqual(len(knobs), len(files))
        self.assertGreaterEqual(len(knobs), 5)
        self.assertEqual(self.writes(), [])

    def test_other_names(self: Any) -> None:
        backend, _, device = self.device.partition(":")
        for alias in self.vendor.aliases:
            self.assertEqual(self.good("show", f"{backend}:{alias}")[0]["device"], device)

    def test_absent_device(self: Any) -> None:
        self.refused(3, "show", f"{self.device.partition(':')[0]}:no-such")
        self.refused(3, "set", "no-such", f"{self.vendor.knob}=1")


class ReadOnly(Readable):
    def test_writes_nothing(self: Any) -> None:
        self.refused(1, "set", self.device, f"{self.vendor.knob}={self.vendor.values.good}")
        self.carrier.add(self.JOB, "bert")
        self.refused(1, "follow", self.device, "bert")
        self.assertEqual(self.knob()["value"], self.vendor.values.default)
        self.assertEqual(self.state_files(), [])


class Settable(Readable):
    def set(self: Any, value: int) -> Any:
        return self.good("set", self.device, f"{self.vendor.knob}={value}")

    def test_set_and_restore(self: Any) -> None:
        reply = self.set(self.vendor.values.good)
        self.assertEqual(reply["knobs"][0]["was"], self.vendor.values.default)
        self.assertEqual(self.value(), self.vendor.values.good)
        self.assertEqual(self.knob()["saved"], self.vendor.values.default)
        restored = self.good("restore", self.device)
        self.assertEqual(restored["knobs"][0]["result"], "restored")
        self.assertEqual(self.value(), self.vendor.values.default)
        self.assertEqual(self.state_files(), [])

    def test_second_set_keeps_the_first_value(self: Any) -> None:
        self.set(self.vendor.values.good)
        self.set(self.vendor.values.good - 1)
        self.good("restore")
        self.assertEqual(self.value(), self.vendor.values.default)
        self.set(self.vendor.values.good)
        self.set(self.vendor.values.default)
        self.assertEqual(self.state_files(), [])

    def test_range(self: Any) -> None:
        reply = self.refused(2, "set", self.device, f"{self.vendor.knob}={self.vendor.values.bad}")
        self.assertIn("from", reply["error"])
        self.assertEqual(self.writes(), [])
        self.assertEqual(self.value(), self.vendor.values.default)

    def test_dry_run(self: Any) -> None:
        word = f"{self.vendor.knob}={self.vendor.values.good}"
        reply = self.good("--dry-run", "set", self.device, word)
        self.assertTrue(reply["dry_run"])
        self.assertEqual(self.writes(), [])
        self.assertFalse((self.root / "run/mlcc").exists())
        self.set(self.vendor.values.good)
        self.good("--dry-run", "restore")
        self.assertEqual(self.value(), self.vendor.values.good)
        self.assertNotEqual(self.state_files(), [])

    def test_read_back_differs(self: Any) -> None:
        self.make_stuck()
        reply = self.refused(1, "set", self.device, f"{self.vendor.knob}={self.vendor.values.good}")
        self.assertEqual(reply["code"], "EREMOTEIO")
        self.assertEqual(self.value(), self.vendor.values.default)
        self.assertEqual(self.state_files(), [])

    def test_restore_leaves_what_others_have_set(self: Any) -> None:
        self.set(self.vendor.values.good)
        other = self.vendor.values.good + 2
        self.set_value(other)
        self.assertEqual(self.good("restore")["knobs"][0]["result"], "left")
        self.assertEqual(self.value(), other)
        self.set_value(self.vendor.values.default)
        self.set(self.vendor.values.good)
        self.set_value(other)
        self.good("restore", "--force", self.device)
        self.assertEqual(self.value(), self.vendor.values.default)

    def test_restore_while_it_is_away(self: Any) -> None:
        self.set(self.vendor.values.good)
        self.take_away()
        status, reply, _ = self.tool("restore", self.device)
        self.assertNotEqual(status, 0)
        self.assertFalse(reply["ok"])
        self.give_back(reset=False)
        self.good("restore")
        self.assertEqual(self.value(), self.vendor.values.default)


class NotDriven(Settable):
    def test_follow_has_nothing_to_drive(self: Any) -> None:
        self.carrier.add(self.JOB, "bert")
        reply = self.refused(1, "follow", self.device, "bert")
        self.assertEqual(reply["code"], "EOPNOTSUPP")
        self.assertEqual(self.state_files(), [])


class Driven(Settable):
    def test_follow_and_end(self: Any) -> None:
        following, sending = self.follow_to_the_top()
        sending.progress = 0.0
        wait_for(lambda: self.value() == self.vendor.values.default, "the start of a phase")
        sending.progress = 1.0
        wait_for(lambda: self.value() == self.vendor.values.most, "the end of a phase")
        sending.silent = True
        wait_for(lambda: self.value() == self.vendor.values.default, "silence")
        sending.silent = False
        wait_for(lambda: self.value() == self.vendor.values.most, "the next phase")
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), self.vendor.values.default)
        self.assertEqual(self.state_files(), [])
        low, high = sorted((self.vendor.values.default, self.vendor.values.most))
        for _, text in self.writes():
            number = text.split()[-1] if text else ""
            if number and "apply" not in _:
                self.assertTrue(low <= int(number, 0) <= high, text)

    def test_restore_after_kill(self: Any) -> None:
        self.kill_at_the_top()
        self.good("restore")
        self.assertEqual(self.value(), self.vendor.values.default)
        self.assertEqual(self.state_files(), [])

    def test_follow_after_kill(self: Any) -> None:
        self.kill_at_the_top()
        following = self.follow()
        following.wait_event("start")
        start = next(one for one in following.events if one["event"] == "start")
        self.assertEqual(start["base"], self.vendor.values.default)
        following.end()
        self.assertEqual(self.value(), self.vendor.values.default)
        self.assertEqual(self.state_files(), [])

    def test_follow_gives_back_what_set_has_set(self: Any) -> None:
        """And restore what was before that."""
        self.set(self.vendor.values.good)
        self.send(1.0)
        following = self.follow()
        wait_for(lambda: self.value() != self.vendor.values.good, "a move")
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), self.vendor.values.good)
        self.good("restore")
        self.assertEqual(self.value(), self.vendor.values.default)

    def test_reset(self: Any) -> None:
        """After it the device has its defaults: they are the base, whatever was set before."""
        self.set_value(self.vendor.values.good)
        sending = self.send(1.0)
        following = self.follow()
        wait_for(lambda: self.value() != self.vendor.values.good, "a move")
        self.take_away()
        following.wait_event("away")
        self.give_back(reset=True)
        following.wait_event("rebased")
        wait_for(lambda: self.value() == self.vendor.values.most, "the top of the new base")
        sending.progress = 0.0
        wait_for(lambda: self.value() == self.vendor.values.default, "the new base")
        self.assertEqual(following.end(), 0)
        self.assertEqual(self.value(), self.vendor.values.default)
        self.assertEqual(self.state_files(), [])

    def test_driver_loaded_again(self: Any) -> None:
        """The device was not reset: it still has what follow wrote, and the base still holds."""
        following, _ = self.follow_to_the_top()
        self.take_away()
        following.wait_event("away")
        self.give_back(reset=False)
        following.wait_event("back")
        self.assertEqual(following.end(), 0)
        self.assertFalse(following.seen("rebased"))
        self.assertEqual(self.value(), self.vendor.values.default)

    def test_removal(self: Any) -> None:
        following, _ = self.follow_to_the_top()
        self.take_away()
        following.wait_event("away")
        self.assertEqual(following.end(), 0)
        # it comes back as new: nothing of ours is in it
        self.set_value(self.vendor.values.good * 3)
        self.give_back(reset=False)
        self.assertEqual(self.good("restore")["knobs"][0]["result"], "left")
        self.assertEqual(self.value(), self.vendor.values.good * 3)
        self.assertEqual(self.state_files(), [])

    def test_two_tuners(self: Any) -> None:
        self.follow_to_the_top()
        word = f"{self.vendor.knob}={self.vendor.values.good}"
        reply = self.refused(1, "set", self.device, word)
        self.assertEqual(reply["code"], "EBUSY")
        self.assertNotEqual(self.tool("restore", self.device)[0], 0)
        status, reply, _ = self.tool("follow", self.device, "bert", "--drive", self.vendor.drive)
        self.assertEqual((status, reply["code"]), (1, "EBUSY"))


def case(name: str, kind: type, vendor_of: Any) -> None:
    """A class for each back end, which unittest finds by its name."""
    body = {"vendor_of": staticmethod(vendor_of), "__doc__": None}
    globals()[name] = type(name, (kind, Machine), body)


case("Mlx5", Driven, vendors.mlx5)
case("Rxe", Driven, vendors.rxe)
case("Ofed", Driven, vendors.ofed)
case("OfedParams", Settable, vendors.ofed_params)
case("Hns", Driven, vendors.hns)
case("Bnxt", NotDriven, vendors.bnxt)
case("BnxtConfigfs", Driven, vendors.bnxt_configfs)
case("BnxtConfigfsOld", Driven, vendors.bnxt_configfs_old)
case("Ionic", Driven, vendors.ionic)
case("Irdma", ReadOnly, vendors.irdma)
case("MlxConfig", ReadOnly, vendors.mlxconfig)
if __name__ == "__main__":
    unittest.main()
