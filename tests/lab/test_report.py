# SPDX-License-Identifier: GPL-2.0
"""The report, from traces that are small enough to check by hand."""

import unittest
from dataclasses import replace
from typing import Any

from mlcclab import report, scenario, table
from mlcclab.experiment import FlowReference, Measurement, Reference
from mlcclab.runner import FlowTrace, JobTrace, RunResult
from mlcclab.schedule import Request

RAW: dict[str, Any] = {
    "link": {"rate": "1gbit"},
    "job": [{"name": "a", "phase_bytes": 1_000_000, "compute_ms": 90.0}],
    "flow": [
        {"name": "bulk", "kind": "bulk"},
        {"name": "web", "kind": "short", "bytes": 1000, "every_ms": 10.0},
    ],
}
ISOLATED_MS = 100.0


def job_trace(late_ms: float, retransmits: int) -> JobTrace:
    """Four iterations, of which three are settled, the last late; 2 MB."""
    times = [500.0, ISOLATED_MS, ISOLATED_MS, ISOLATED_MS + late_ms]
    calm = [0.0] * 4
    return JobTrace(times, [90.0] * 4, [10.0] * 4, calm, calm, retransmits, 2_000_000, [])


def flow_trace(mbps: float, completion_ms: list[float]) -> FlowTrace:
    """One second, sampled every 100 ms."""
    samples = [(i * 10**8, round(i * mbps * 12_500)) for i in range(11)]
    return FlowTrace(completion_ms, samples, 0)


def run(late_ms: float, retransmits: int, mbps: float, web_ms: float) -> RunResult:
    """One run of the scenario."""
    flows = {"bulk": flow_trace(mbps, []), "web": flow_trace(1.0, [web_ms] * 3)}
    return RunResult(jobs={"a": job_trace(late_ms, retransmits)}, flows=flows, seconds=1.0)


def measured(runs: dict[str, list[RunResult]], name: str = "hand-made") -> Measurement:
    """Some runs; alone the bulk transfer has 100 Mb/s, a request 10 ms."""
    repeat = len(next(iter(runs.values())))
    request = Request(scenario.parse(RAW, name), 4, 7, repeat, False, 30.0)
    measurement = Measurement(request, "bpf", {"a": Reference(ISOLATED_MS)}, runs=runs)
    measurement.isolated_flows = {
        "bulk": FlowReference([], 100.0),
        "web": FlowReference([10.0] * 5, 1.0),
    }
    return measurement


def document(runs: dict[str, list[RunResult]]) -> dict[str, Any]:
    """The report of some runs."""
    return report.document(measured(runs))


class OneRun(unittest.TestCase):
    """Figures without intervals."""

    def setUp(self) -> None:
        self.document = document({"mlcc": [run(30.0, 4, 40.0, 40.0)]})
        self.result = self.document["results"][0]

    def test_no_interval(self) -> None:
        job, (bulk, web) = self.result["jobs"][0], self.result["flows"]
        for figures in (self.result, job, bulk, web):
            intervals = [key for key in figures if key.endswith("_ci95")]
            self.assertGreater(len(intervals), 1)
            self.assertEqual({figures[key] for key in intervals}, {None})
        self.assertNotIn("repeats", self.result)

    def test_slowdown(self) -> None:
        # 100, 100, 130 of 100: mean 1.1; p90 lies 8/10 of the way from the second to the third.
        self.assertEqual(self.result["slowdown_mean"], 1.1)
        self.assertEqual(self.result["slowdown_p90"], 1.24)
        self.assertEqual(self.result["slowdown_p99"], 1.294)
        self.assertEqual(self.result["jobs"][0]["p90_ms"], 124.0)

    def test_measured_noise(self) -> None:
        """The last iteration computes 20 of the 30 ms that it is longer: 100, 100 / 100, 120."""
        late = run(30.0, 4, 40.0, 40.0)
        late.jobs["a"].compute_ms[-1] += 20.0
        for noise, slowdown in ((0.1, 1.1), ("measured", 1.0312)):
            raw = RAW | {"job": [RAW["job"][0] | {"noise": noise}]}
            measurement = measured({"mlcc": [late]})
            request = replace(measurement.request, scenario=scenario.parse(raw, ""))
            said = report.document(replace(measurement, request=request))["results"][0]
            self.assertEqual(said["slowdown_mean"], slowdown)
            self.assertEqual(said["jobs"][0]["isolated_ms"], ISOLATED_MS)

    def test_retransmits(self) -> None:
        self.assertEqual(self.result["retransmits_per_mb"], 2.0)
        self.assertEqual(self.result["jobs"][0]["sent_mb"], 2.0)

    def test_harm(self) -> None:
        bulk, web = self.result["flows"]
        self.assertEqual((bulk["harm"], web["harm"], web["harm_mean"]), (0.6, 0.75, 0.75))
        self.assertIsNone(bulk["beside_cubic"])

    def test_table(self) -> None:
        lines = table.text(self.document).splitlines()
        self.assertRegex(lines[1], r"1\.100 +- ")
        self.assertIn("± -", lines[2])
        self.assertIn("harm 0.60", lines[3])


class Repeats(unittest.TestCase):
    """Means with intervals, percentiles over everything."""

    def setUp(self) -> None:
        runs = {
            "cubic": [run(0.0, 0, 50.0, 80.0), run(0.0, 0, 50.0, 80.0)],
            "mlcc": [run(30.0, 4, 40.0, 40.0), run(60.0, 0, 60.0, 20.0)],
        }
        self.document = document(runs)
        self.cubic, self.mlcc = self.document["results"]

    def test_mean_and_interval(self) -> None:
        # 1.1 and 1.2: the standard error is 0.05, and Student's factor for two values 12.706.
        self.assertEqual(self.mlcc["slowdown_mean"], 1.15)
        low, high = self.mlcc["slowdown_ci95"]
        self.assertAlmostEqual(low, 1.15 - 0.6353, delta=0.0002)
        self.assertAlmostEqual(high, 1.15 + 0.6353, delta=0.0002)
        self.assertEqual(self.mlcc["jobs"][0]["slowdown_ci95"], self.mlcc["slowdown_ci95"])
        self.assertEqual(self.cubic["slowdown_ci95"], [1.0, 1.0])

    def test_percentiles_are_pooled(self) -> None:
        # 100, 100, 100, 100, 130, 160: rank 4.5.
        self.assertEqual(self.mlcc["slowdown_p90"], 1.45)
        self.assertEqual(self.mlcc["jobs"][0]["p90_ms"], 145.0)

    def test_retransmits(self) -> None:
        self.assertEqual(self.mlcc["retransmits_per_mb"], 1.0)
        self.assertIsNotNone(self.mlcc["retransmits_per_mb_ci95"])

    def test_neighbours(self) -> None:
        bulk, web = self.mlcc["flows"]
        self.assertEqual(bulk["harm"], 0.5)  # 0.6 and 0.4
        self.assertEqual(web["harm"], 0.625)  # 0.75 and 0.5
        self.assertEqual(bulk["beside_cubic"], 1.0)  # 40/50 and 60/50
        self.assertEqual(web["beside_cubic"], 0.375)  # 40/80 and 20/80
        self.assertAlmostEqual(bulk["beside_cubic_ci95"][1], 1 + 12.706 * 0.2, delta=0.001)
        self.assertIsNone(self.cubic["flows"][0]["beside_cubic"])

    def test_repeats(self) -> None:
        seven, eight = self.mlcc["repeats"]
        self.assertEqual((seven["seed"], eight["seed"]), (7, 8))
        self.assertEqual((seven["slowdown_mean"], eight["slowdown_mean"]), (1.1, 1.2))
        self.assertIsNone(seven["slowdown_ci95"])
        self.assertEqual(eight["flows"][0]["beside_cubic"], 1.2)

    def test_table(self) -> None:
        text = table.text(self.document)
        self.assertIn("1.150 ± 0.635", text)
        self.assertIn("of cubic's", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)


if __name__ == "__main__":
    unittest.main()
