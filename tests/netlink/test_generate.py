# SPDX-License-Identifier: GPL-2.0
"""What is generated of the netlink family is what its specification says."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

try:
    import yaml
except ImportError:
    yaml = None

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("Documentation") / "netlink"
SPEC = FOLDER / "mlcc.yaml"
RULE = ROOT / "include" / "mlcc" / "rule.h"
FILES = (
    "include/mlcc/uapi/mlcc_netlink.h",
    "tcp_mlcc/netlink_gen.c",
    "tcp_mlcc/netlink_gen.h",
    "tests/netlink/family.py",
    "userspace/libmlcc/netlink_gen.c",
)


def generate(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", ROOT / FOLDER / "generate", *options]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@unittest.skipIf(yaml is None, "no PyYAML here: make deps")
class Generate(unittest.TestCase):
    """In a tree of its own, with what the specification says changed."""

    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in (*FILES, str(SPEC)):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)

    def change(self, what: str, to: str) -> None:
        path = self.root / SPEC
        text = path.read_text(encoding="utf-8")
        self.assertIn(what, text)
        path.write_text(text.replace(what, to, 1), encoding="utf-8")

    def refused(self, why: str) -> None:
        before = {name: (self.root / name).read_bytes() for name in FILES}
        done = generate("--root", self.root)
        self.assertEqual(done.returncode, 1)
        self.assertIn(why, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(before, {name: (self.root / name).read_bytes() for name in FILES})

    def test_the_tree_is_what_the_specification_says(self) -> None:
        done = generate("--check")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_what_was_edited_by_hand_is_found_and_made_again(self) -> None:
        for name in FILES:
            path = self.root / name
            good = path.read_text(encoding="utf-8")
            path.write_text(good + "\n", encoding="utf-8")
            done = generate("--check", "--root", self.root)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(name, done.stdout)
            self.assertEqual(generate("--root", self.root).returncode, 0)
            self.assertEqual(path.read_text(encoding="utf-8"), good)

    def test_what_makes_no_sense_is_refused(self) -> None:
        for what, to, why in (
            ("max: job-id-max", "max: job-id-most", "job-id-most: no such definition"),
            ("type: u32", "type: u128", "type u128 is none of"),
            ("max-len: word-max", "max: word-max", "not for type string"),
            ("name: job-del-request", "name: job-rm-request", "there is no set job-del-request"),
            ("attributes: [job]", "attributes: [job, profile]", "a request is of one nest"),
            ("{name: id}, {name: phase-bytes}", "{name: bytes-of}", "job has no bytes-of"),
            ("enum-name: mlcc-job-attr", "doc: no enum", "enum-name"),
        ):
            with self.subTest(why):
                shutil.copy(ROOT / SPEC, self.root / SPEC)
                self.change(what, to)
                self.refused(why)

    def test_numbers_are_in_one_place(self) -> None:
        """Of what the rule's header defines the specification says the name."""
        spec: dict[str, Any] = yaml.safe_load((ROOT / SPEC).read_text(encoding="utf-8"))
        rule = RULE.read_text(encoding="utf-8")
        for one in spec["definitions"]:
            with self.subTest(one["name"]):
                self.assertNotEqual("header" in one, "value" in one)
                if "header" in one:
                    self.assertIn(f"#define {one['name'].upper().replace('-', '_')}\t", rule)

    def test_what_is_about_jobs_or_changes_something_needs_permission(self) -> None:
        spec: dict[str, Any] = yaml.safe_load((ROOT / SPEC).read_text(encoding="utf-8"))
        for one in spec["operations"]["list"]:
            if "do" in one:
                with self.subTest(one["name"]):
                    free = one["name"] == "profile-get"
                    self.assertEqual(one.get("flags"), None if free else ["uns-admin-perm"])
        for group in spec["mcast-groups"]["list"]:
            with self.subTest(group["name"]):
                self.assertEqual(group.get("flags"), ["uns-admin-perm"])
