# SPDX-License-Identifier: GPL-2.0
"""The YAML specification of the netlink family and its C header say the same."""

import re
import unittest
from typing import Any

import header

try:
    import yaml
except ImportError:
    yaml = None

SPEC = header.ROOT / "Documentation" / "netlink" / "mlcc.yaml"
RULE = header.ROOT / "include" / "mlcc" / "rule.h"
SETS = {"mlcc": "mlcc_genl_attr", "job": "mlcc_job_attr", "profile": "mlcc_profile_attr"}


def c_name(prefix: str, name: str) -> str:
    return (prefix + name).upper().replace("-", "_")


@unittest.skipIf(yaml is None, "no PyYAML here: make deps")
class Spec(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.spec: dict[str, Any] = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
        cls.enums = header.enums()
        cls.defines = header.defines()

    def attributes(self, name: str) -> dict[str, dict[str, Any]]:
        (found,) = (one for one in self.spec["attribute-sets"] if one["name"] == name)
        return {one["name"]: one for one in found["attributes"]}

    def test_the_header_is_read(self) -> None:
        self.assertEqual(set(self.enums), {"mlcc_genl_cmd", *SETS.values()})
        self.assertGreater(len(self.enums["mlcc_job_attr"]), 10)

    def test_family(self) -> None:
        self.assertEqual(self.spec["name"], self.defines["MLCC_GENL_NAME"])
        self.assertEqual(self.defines["MLCC_GENL_VERSION"], 1, "YNL takes 1 for granted")
        groups = [group["name"] for group in self.spec["mcast-groups"]["list"]]
        self.assertEqual(groups, [self.defines["MLCC_GENL_MCGRP_EVENTS"]])
        self.assertTrue((header.ROOT / "include" / self.spec["uapi-header"]).is_file())

    def test_commands(self) -> None:
        operations = self.spec["operations"]
        names = [c_name(operations["name-prefix"], one["name"]) for one in operations["list"]]
        expected = dict(self.enums["mlcc_genl_cmd"])
        self.assertEqual(expected.pop("MLCC_CMD_UNSPEC"), 0)
        self.assertEqual({name: number for number, name in enumerate(names, 1)}, expected)

    def test_attributes(self) -> None:
        self.assertEqual([one["name"] for one in self.spec["attribute-sets"]], list(SETS))
        for one in self.spec["attribute-sets"]:
            with self.subTest(one["name"]):
                names = [c_name(one["name-prefix"], a["name"]) for a in one["attributes"]]
                expected = list(self.enums[SETS[one["name"]]])
                self.assertTrue(expected[0].endswith("UNSPEC"))
                self.assertEqual(names, expected[1:])

    def test_types_are_those_of_the_comments(self) -> None:
        """Each enumerator's comment begins with its type."""
        text = header.HEADER.read_text(encoding="utf-8")
        for name in ("job", "profile"):
            (prefix,) = (
                one["name-prefix"] for one in self.spec["attribute-sets"] if one["name"] == name
            )
            for attribute in self.attributes(name).values():
                if attribute["type"] == "pad":
                    continue
                said = re.search(rf"{c_name(prefix, attribute['name'])},\s*/\* (\w+)", text)
                with self.subTest(attribute["name"]):
                    self.assertIsNotNone(said)
                    self.assertEqual(said.group(1), attribute["type"])

    def test_limits(self) -> None:
        for one in self.spec["definitions"]:
            with self.subTest(one["name"]):
                self.assertEqual(one["value"], self.defines[c_name("mlcc-", one["name"])])
        job = self.attributes("job")
        self.assertEqual(job["id"]["checks"]["max"], self.defines["MLCC_JOB_ID_MAX"])
        self.assertEqual(job["name"]["checks"]["max-len"], self.defines["MLCC_JOB_NAME_MAX"])

    def test_limits_of_the_rule(self) -> None:
        text = RULE.read_text(encoding="utf-8")
        one = 65536
        for words in ("(MLCC_ONE / 16)", "(64 * MLCC_ONE)", "(MLCC_ONE - MLCC_ONE / 64)"):
            self.assertIn(words, text, "the limits of rule.h are others now")
        self.assertIn("MLCC_PHASE_BYTES_MAX\t((1ULL << 48) - 1)", text)
        checks = {name: one.get("checks") for name, one in self.attributes("profile").items()}
        self.assertEqual(checks["floor"], {"min": one // 16, "max": 32 * one})
        self.assertEqual(checks["slope"], {"max": 32 * one})
        self.assertEqual(checks["hold"], {"max": one - one // 64})
        bytes_of_a_phase = self.attributes("job")["phase-bytes"]["checks"]
        self.assertEqual(bytes_of_a_phase, {"max": (1 << 48) - 1})

    def test_what_changes_something_needs_permission(self) -> None:
        for one in self.spec["operations"]["list"]:
            if "do" in one:
                with self.subTest(one["name"]):
                    free = one["name"].endswith("-get")
                    self.assertEqual(one.get("flags"), None if free else ["uns-admin-perm"])


if __name__ == "__main__":
    unittest.main()
