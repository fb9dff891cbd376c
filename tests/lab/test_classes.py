# SPDX-License-Identifier: GPL-2.0
"""The priority class of a planned job over RDMA: from mlcc-plan's answer to the queue pair."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from mlcclab import burst, rdma, runner, scenario, shell
from mlcclab.planner import Planned

SHIPPED = Path(__file__).parent / "scenarios"
ANSWER = {
    "jobs": [
        {"name": "bert", "ids": [7], "dscp": 0, "traffic_class": 0},
        {"name": "gpt", "ids": [8], "dscp": 32, "traffic_class": 128},
        {"name": "vgg19", "ids": [9]},
    ]
}


def plan_prio() -> runner.Plan:
    """Of three jobs, all in the plan."""
    loaded = scenario.load(SHIPPED / "plan-prio.toml")
    assert loaded.planning
    planned = Planned(loaded, loaded.planning, {job.name: 281.0 for job in loaded.jobs})
    return runner.Plan("mlcc", loaded.jobs, [], 1, 1, planned=planned)


class Device(rdma.Device):
    """One whose rules are a list, as the driver's file shows them."""

    def _write(self, path: Path, text: str) -> None:
        kind, key, job = text.split()
        rules = [line for line in path.read_text().splitlines() if line.split()[1] != key]
        assert job != "0" or len(rules) < len(path.read_text().splitlines()), "no such rule"
        rules += [f"{kind} {key} {job}"] if job != "0" else []
        path.write_text("".join(f"{rule}\n" for rule in rules))


class Classes(unittest.TestCase):
    """What the lab makes of a plan."""

    def test_mlcc_plan_says_which(self) -> None:
        planned = plan_prio().planned
        assert planned
        with mock.patch.object(shell, "run", return_value=json.dumps(ANSWER)):
            self.assertEqual(planned.apply(Path("/x")), {"bert": 0, "gpt": 128})

    def test_queue_pairs_ask_for_it(self) -> None:
        plan, device = plan_prio(), mock.Mock()
        workers = {
            job.name: [SimpleNamespace(mark=7 + i, host=SimpleNamespace(device=device))]
            for i, job in enumerate(plan.jobs)
        }
        one: Any = SimpleNamespace(
            verbs=True,
            cluster=SimpleNamespace(workers=workers),
            announced={mark: (Path("/cgroup"), ["--hint-job", str(mark)]) for mark in (7, 8, 9)},
        )
        runner.Runner._give_classes(one, plan, {"bert": 0, "gpt": 128})
        options = {mark: words for mark, (_, words) in one.announced.items()}
        self.assertEqual(options[7], ["--hint-job", "7", "--traffic-class", "0"])
        self.assertEqual(options[8], ["--hint-job", "8", "--traffic-class", "128"])
        self.assertEqual(options[9], ["--hint-job", "9"])
        self.assertEqual(device.belongs_to.mock_calls, [mock.call(7, 0), mock.call(8, 128)])
        # TCP passes the tagger
        one.verbs, before = False, dict(one.announced)
        runner.Runner._give_classes(one, plan, {"vgg19": 64})
        self.assertEqual(one.announced, before)

    def test_a_device_knows_its_job_by_the_class(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            jobs = Path(folder) / "rxe0" / "jobs"
            jobs.parent.mkdir()
            jobs.touch()
            device = Device("rxe0", "ns")
            with mock.patch.object(rdma, "DEBUGFS", Path(folder)):
                for arguments, rules in (
                    ((7,), "tclass 0 7\n"),
                    ((7, 128), "tclass 128 7\n"),
                    ((8, 64), "tclass 64 8\n"),
                    ((0,), ""),
                    ((0,), ""),
                ):
                    device.belongs_to(*arguments)
                    self.assertEqual(jobs.read_text(), rules, arguments)


class Option(unittest.TestCase):
    """What mlcc-burst takes for one."""

    def run_burst(self, value: str) -> subprocess.CompletedProcess[str]:
        words = ["job", "--traffic-class", value, "--bytes", "1000"]
        command = [str(burst.BINARY), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_ecn_is_the_networks(self) -> None:
        if not burst.BINARY.exists():
            self.skipTest("mlcc-burst is not built: make lab")
        for value in ("1", "2", "131", "253", "256", "-4", "x", ""):
            self.assertIn("--traffic-class", self.run_burst(value).stderr, value)
        for value in ("0", "4", "128", "252"):
            self.assertIn("--peer", self.run_burst(value).stderr, value)
