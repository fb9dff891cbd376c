# SPDX-License-Identifier: GPL-2.0
"""compare: its order of runs, its report, and what it asks of a virtual machine."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from mlcclab import cli, comparison, options, scenario, vm
from mlcclab.carrier import LOADER, MLCCD
from mlcclab.errors import LabError, UsageError
from mlcclab.scenario import Scenario
from mlcclab.schedule import Contender, Request, Schedule
from test_report import RAW, measured, run

HERE = Path(__file__).resolve().parent
BUILDS = [Path("/none/old"), Path("/none/new")]


def parsed(name: str = "hand-made", **more: Any) -> Scenario:
    """The scenario of test_report, with another name or more in its job."""
    return scenario.parse(RAW | {"job": [RAW["job"][0] | more]}, name)


def compared(late_ms: Mapping[str, list[tuple[float, float]]]) -> dict[str, Any]:
    """A comparison; by scenario, how late the last iteration is under both, for each seed."""
    measurements = []
    for scenario_name, pairs in late_ms.items():
        runs = {
            name: [run(pair[index], 4 * index, 40.0, 40.0) for pair in pairs]
            for index, name in enumerate(comparison.NAMES)
        }
        measurements.append(measured(runs, scenario_name))
    return comparison.document("mlcc", BUILDS, measurements)


class Report(unittest.TestCase):
    """Rows, and the sentence; who runs when."""

    # three settled iterations: 30 ms more of the last are a slowdown of 0.1
    WORSE = [(30.0, 60.0), (0.0, 31.0), (60.0, 89.0)]
    EQUAL = [(30.0, 33.0), (0.0, 0.0), (60.0, 57.0)]

    def test_rows(self) -> None:
        found = compared({"one": self.WORSE})
        rows = {(row["figure"], row["neighbour"]): row for row in found["rows"]}
        self.assertEqual(len(rows), 5)
        slowdown = rows["slowdown_mean", None]
        self.assertEqual(slowdown["first"], [1.1, 1.0, 1.2])
        self.assertEqual(slowdown["second"], [1.2, 1.1033, 1.2967])
        self.assertEqual((slowdown["difference"], slowdown["verdict"]), (0.1, "worse"))
        self.assertEqual(rows["harm", "bulk"]["verdict"], "cannot tell")
        self.assertEqual([b["folder"] for b in found["builds"]], list(map(str, BUILDS)))
        results = found["scenarios"][0]["results"]
        self.assertEqual(
            [(r["build"], r["cc"]) for r in results], [("first", "mlcc"), ("second", "mlcc")]
        )

    def test_abba(self) -> None:
        contenders = [Contender(name, "mlcc", None) for name in comparison.NAMES]
        schedule = Schedule(Request(parsed(), 4, 7, 4, False, 30.0), contenders)
        runs = [(stage.contender.name, stage.plan.seed) for stage in schedule.together()]
        self.assertEqual([name[0] for name, _ in runs], list("fssffssf"))
        self.assertEqual([seed for _, seed in runs], [7, 7, 8, 8, 9, 9, 10, 10])

    def test_sentence(self) -> None:
        for pairs, words in (
            (self.WORSE, "is worse"),
            ([(b, a) for a, b in self.WORSE], "is better"),
            (self.EQUAL, "Cannot tell"),
        ):
            found = compared({"one": pairs})
            lines = comparison.text(found).splitlines()
            self.assertIn(words, lines[-1])
            self.assertIn(found["verdict"], lines[3])

    def test_all(self) -> None:
        found = compared({"one": self.WORSE, "two": self.EQUAL})
        together = [row for row in found["rows"] if row["scenario"] == "all"]
        self.assertEqual([row["neighbour"] for row in together], [None] * 3)
        self.assertEqual(together[0]["first"], [1.1, 1.0, 1.2])
        self.assertEqual(together[0]["difference"], 0.05)
        self.assertEqual(found["verdict"], together[0]["verdict"])


class Checks(unittest.TestCase):
    """Before anything is measured."""

    def test_builds(self) -> None:
        tree = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for file, target in ((LOADER, "carrier"), (MLCCD, "userspace")):
            with self.assertRaisesRegex(UsageError, f"make -C {tree} {target}"):
                comparison.check_builds([tree], True, True)
            (tree / file).parent.mkdir(parents=True)
            (tree / file).touch()
        comparison.check_builds([tree], True, True)
        with self.assertRaisesRegex(UsageError, "no such folder"):
            comparison.check_builds([tree / "gone"], False, False)

    def test_needs_mlccd(self) -> None:
        plain, exact = parsed(), parsed(hint="exact")
        self.assertFalse(comparison.needs_mlccd("mlcc", [plain]))
        self.assertTrue(comparison.needs_mlccd("mlcc", [plain, exact]))
        self.assertTrue(comparison.needs_mlccd("mlcc+hints", [plain]))
        self.assertFalse(comparison.needs_mlccd("mlcc:neutral", [exact]))

    def test_scenarios(self) -> None:
        with self.assertRaisesRegex(UsageError, "one: named twice"):
            comparison.check_scenarios([parsed("one"), parsed("one")])
        with self.assertRaisesRegex(UsageError, "verbs-two: builds are of carriers of TCP"):
            comparison.check_scenarios([scenario.load(scenario.find("verbs-two"))])

    def test_words(self) -> None:
        for parse, wrong in (
            (options.builds, ("a", "a,b,c", "a,")),
            (options.compared_seeds, ("1-2", "3", "5-1")),
            (options.compared_cc, ("cubic", "mlcc,mlcc:mltcp")),
        ):
            for word in wrong:
                with self.subTest(word), self.assertRaises(options.argparse.ArgumentTypeError):
                    parse(word)


class CommandLine(unittest.TestCase):
    """--vm: the same command there, without what the guest's report does not know."""

    def test_same_command(self) -> None:
        inside = compared({"one": Report.EQUAL}) | {"builds": []}
        words = ["compare", "two-equal", "--builds", f"{HERE},{HERE.parent}", "--vm", "6.12"]
        words += ["--seeds", "4-8", "--iterations", "9", "--scale", "0.2", "--cc", "mlcc:mltcp"]
        words += ["--rate", "none", "--mtu", "9000", "--offloads", "off", "--flows", "4"]
        answer = mock.patch.object(vm, "compare", return_value=(0, json.dumps(inside)))
        with answer as vm_run, contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(cli.main(words), 0)
        kernel, command, builds = vm_run.call_args.args
        self.assertEqual((kernel, builds), ("6.12", [HERE, HERE.parent]))
        found = cli.parser().parse_args([*command[1:], "--builds", "a,b"])
        self.assertEqual(found.scenario, [str(HERE / "scenarios" / "two-equal.toml")])
        self.assertEqual((found.seeds, found.iterations), (range(4, 9), 9))
        said_here = options.overrides(cli.parser().parse_args(words))
        self.assertEqual(options.overrides(found), said_here)
        self.assertEqual((found.scale, found.cc, found.vm), (0.2, "mlcc:mltcp", None))
        self.assertIn(f"second: {HERE.parent} ", said.getvalue())


# In place of tests/vm/vm: says what it was asked for, builds, and runs the lab's part.
FAKE = """#!/bin/bash
echo "$@" >>"$0.asked"
case $1 in
run)
	while [ "$1" != --builds ]; do shift; done
	builds=$2
	while [ "$1" != --json ]; do shift; done
	for tree in ${builds/,/ }; do (cd "$tree" && find . -type f -exec cat {} +); done >"$2"
	;;
esac
"""


class VirtualMachine(unittest.TestCase):
    """The steps, and the builds as the guest finds them."""

    def test_steps(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        machine = folder / "vm"
        machine.write_text(FAKE)
        machine.chmod(0o755)
        builds = _, new = [folder / name for name in ("old", "new")]
        for build in builds:
            (build / "userspace/mlcc-bpf").mkdir(parents=True)
            (build / LOADER).parent.mkdir(parents=True)
            made = f"all:\n\t@echo loader of {build} >../../{LOADER}\n"
            (build / "userspace/mlcc-bpf/Makefile").write_text(made)
        (new / MLCCD).parent.mkdir(parents=True)
        (new / MLCCD).write_text("daemon of new\n")
        self.enterContext(mock.patch.object(vm, "VM", machine))
        status, text = vm.compare("6.12", ["mlcc-lab", "compare", "two-equal"], builds)
        loaders = [f"loader of {tree}" for tree in builds]
        self.assertEqual((status, set((text or "").splitlines())), (0, {*loaders, "daemon of new"}))
        asked = (folder / "vm.asked").read_text().splitlines()
        self.assertEqual(asked[0:2], ["fetch 6.12", "build 6.12"])
        inside = asked[2].partition(" 6.12 -- ")[2]
        self.assertRegex(inside, r"^env MLCC_LAB_SLOW=\d+ mlcc-lab compare two-equal --builds ")
        trees = inside.split("--builds ")[1].split(" --json ")[0].split(",")
        # what the guest may write to, and sees under its own name
        self.assertTrue(all(Path(tree).is_relative_to(vm.REPOSITORY) for tree in trees))
        self.assertFalse(any(map(os.path.exists, trees)))
        (new / "userspace/mlcc-bpf/Makefile").unlink()
        with self.assertRaisesRegex(LabError, "(?i)no makefile"):
            vm.compare("6.12", ["mlcc-lab"], builds)
