# SPDX-License-Identifier: GPL-2.0
"""What mlcc-plan is asked for, and that it understands it."""

import json
import subprocess
import unittest
from pathlib import Path

from mlcclab import scenario
from mlcclab.planner import PROGRAM, Planned

SHIPPED = Path(__file__).parent / "scenarios"


def planned(name: str, alone_ms: float) -> Planned:
    """A shipped scenario's, all jobs with one period."""
    loaded = scenario.load(SHIPPED / f"{name}.toml")
    assert loaded.planning
    return Planned(loaded, loaded.planning, {job.name: alone_ms for job in loaded.jobs})


class Asked(unittest.TestCase):
    """The problem and the wishes."""

    def test_a_job_is_an_arc_behind_its_compute_time(self) -> None:
        problem = planned("plan-three", 281.0).problem()
        self.assertEqual(problem["links"][0]["gbps"], 1)
        self.assertEqual([job["name"] for job in problem["jobs"]], ["bert", "gpt", "vgg19"])
        for job in problem["jobs"]:
            (arc,) = job["arcs"]
            self.assertEqual(job["period_ms"], 281.0)
            self.assertAlmostEqual(arc["start_ms"], 195.2)
            self.assertAlmostEqual(arc["length_ms"], 85.8)

    def test_a_job_that_hardly_computes(self) -> None:
        """Measured shorter than its compute time says: still an arc."""
        (arc,) = planned("plan-three", 190.0).problem()["jobs"][0]["arcs"]
        self.assertGreater(arc["length_ms"], 0)
        self.assertLess(arc["start_ms"], 190.0)

    def test_a_trace_is_an_arc_from_its_first_byte_on(self) -> None:
        loaded = scenario.load(SHIPPED / "trace-two.toml")
        alone_ms = {job.name: 281.0 for job in loaded.jobs}
        for job in Planned(loaded, scenario.Planning(), alone_ms).problem()["jobs"]:
            (arc,) = job["arcs"]
            self.assertAlmostEqual(arc["start_ms"] + arc["length_ms"], 281.0)
            # the forward pass, and the backward pass up to the first gradient
            silent_ms = {"llama": 92.0, "gpt": 69.5}[job["name"]]
            self.assertAlmostEqual(arc["start_ms"], silent_ms, places=0)

    def test_each_class_has_a_band(self) -> None:
        words = planned("plan-prio", 281.0)._wishes()
        self.assertEqual(words[words.index("--dscp") + 1], "0,32")
        self.assertIn("--no-shifts", words)
        loaded = scenario.load(SHIPPED / "plan-three.toml")
        guarded = Planned(loaded, scenario.Planning(guard_ms=2.5), {})
        self.assertEqual(guarded._wishes(), ["--guard", "2.5"])

    def test_mlcc_plan_understands(self) -> None:
        text = json.dumps(planned("plan-three", 281.0).problem())
        done = subprocess.run(
            [PROGRAM, "solve", "-j", "--precision", "exact", "--limit", "1", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if "No module named" in done.stderr:
            self.skipTest(done.stderr.strip().splitlines()[-1])
        self.assertIs(json.loads(done.stdout)["compatible"], True, done)
