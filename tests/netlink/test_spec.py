# SPDX-License-Identifier: GPL-2.0
"""What C and Python know of the netlink family is what its specification says."""

import re
import sys
import unittest
from pathlib import Path
from typing import Any

try:
    import yaml
except ImportError:
    yaml = None

sys.path.insert(0, str(Path(__file__).resolve().parent))

import family  # noqa: E402  (needs the path above)

ROOT = Path(__file__).resolve().parents[2]
HEADER = family.HEADER.read_text(encoding="ascii")
RULE = (ROOT / "include/mlcc/rule.h").read_text(encoding="utf-8")
POLICY = (ROOT / "tcp_mlcc/netlink.c").read_text(encoding="utf-8")


def upper(name: str) -> str:
    return name.upper().replace("-", "_")


def policy_of(enumerator: str) -> set[str]:
    """In whichever commands that take it, with its range."""
    return set(re.findall(rf"\[{enumerator}\] = (.*),\n", POLICY))


@unittest.skipIf(yaml is None, "no PyYAML here: make deps")
class Specification(unittest.TestCase):
    def setUp(self) -> None:
        text = (ROOT / "Documentation/netlink/mlcc.yaml").read_text(encoding="utf-8")
        self.spec: dict[str, Any] = yaml.safe_load(text)
        self.sets = self.spec["attribute-sets"]

    def limit(self, value: int | str) -> str:
        if isinstance(value, int):
            return str(value)
        return upper(value if value.startswith("mlcc-") else f"mlcc-{value}")

    def test_names_and_numbers(self) -> None:
        for one in (self.spec["operations"], *self.sets):
            names = [upper(member["name"]) for member in one.get("list") or one["attributes"]]
            numbers = family.numbers(one["enum-name"].replace("-", "_"))
            self.assertEqual(list(numbers), ["UNSPEC", *names])
        for one in self.spec["definitions"]:
            if "header" in one:
                self.assertIn(f"#define {self.limit(one['name'])}\t", RULE)
            else:
                pattern = rf"#define {self.limit(one['name'])}\t+{one['value']}\n"
                self.assertRegex(HEADER, pattern)

    def test_types_and_limits(self) -> None:
        kinds: dict[str, set[str]] = {"string": set(), "u64": set()}
        for one in self.sets:
            for attribute in one["attributes"]:
                kind, checks = attribute["type"], attribute.get("checks", {})
                kinds.setdefault(kind, set()).add(upper(attribute["name"]))
                wanted = f"{{ .type = NLA_{upper(kind)} }}"
                if kind == "string":
                    length = self.limit(checks["max-len"])
                    wanted = f"MLCC_TEXT({length})"
                elif kind == "nest":
                    continue
                elif checks:
                    low, high = (self.limit(checks.get(end, 0)) for end in ("min", "max"))
                    wanted = f"MLCC_RANGE(NLA_{upper(kind)}, {low}, {high})"
                found = policy_of(upper(one["name-prefix"] + attribute["name"]))
                # what no command takes only the kernel says
                if found or checks:
                    self.assertEqual(found, {wanted}, attribute["name"])
        self.assertEqual(family.TEXT, kinds["string"])
        self.assertEqual(family.WIDE, kinds["u64"])

    def test_what_is_about_jobs_or_changes_something_needs_permission(self) -> None:
        for one in self.spec["operations"]["list"]:
            if "do" in one:
                free = one["name"] == "profile-get"
                self.assertEqual(one.get("flags"), None if free else ["uns-admin-perm"])
                flags = "0" if free else "GENL_UNS_ADMIN_PERM"
                self.assertIn(f"MLCC_COMMAND({upper(one['name'])}, {flags}, ", POLICY)
        for group in self.spec["mcast-groups"]["list"]:
            self.assertEqual(group.get("flags"), ["uns-admin-perm"])
        self.assertIn(".flags\t= GENL_MCAST_CAP_NET_ADMIN", POLICY)
