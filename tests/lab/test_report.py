# SPDX-License-Identifier: GPL-2.0
"""The report, from traces that are small enough to check by hand."""

import json
import unittest
from dataclasses import replace
from typing import Any

from mlcclab import report, scenario, table
from mlcclab.experiment import FlowReference, Measurement
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
    return JobTrace(times, [90.0] * 4, [10.0] * 4, retransmits, 2_000_000, [])


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
    measurement = Measurement(request, "bpf", {"a": ISOLATED_MS}, runs=runs)
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
        self.assertEqual(self.result["jobs"][0]["sent_mb"], 2.0)

    def test_harm(self) -> None:
        bulk, web = self.result["flows"]
        self.assertEqual((bulk["harm"], web["harm"], web["harm_mean"]), (0.6, 0.75, 0.75))
        self.assertIsNone(bulk["beside_cubic"])
        self.assertIn("harm 0.60", table.text(self.document))


class Communication(unittest.TestCase):
    """How long phases take, and against CUBIC's."""

    def runs(self, *phase_ms: float) -> list[RunResult]:
        """A run for each: the last phase takes twice as long, the first does not count."""
        found = [run(0.0, 0, 50.0, 80.0) for _ in phase_ms]
        for each, ms in zip(found, phase_ms, strict=True):
            each.jobs["a"].comm_ms[:] = [500.0, ms, ms, 2 * ms]
        return found

    def test_unshaped(self) -> None:
        """What says nothing without a link's rate is left out, also for eyes."""
        measurement = measured({"bbr": self.runs(9.0)})
        raw = RAW | {"link": {"rate": "none"}, "flow": RAW["flow"][1:]}
        request = replace(measurement.request, scenario=scenario.parse(raw, ""))
        found = report.document(replace(measurement, request=request))
        json.dumps(found, allow_nan=False)
        result = found["results"][0]
        self.assertIsNone(result["link"]["utilisation"])
        self.assertIsNone(result["jobs"][0]["ideal_ms"])
        for key in ("load", "rate_mbps", "goodput_mbps"):
            self.assertIsNone(found[key])
        said = table.text(found)
        for word in ("link", "drops", "warning"):
            self.assertNotIn(word, said)

    def test_over_cubic(self) -> None:
        """The ratio is of each pair: 11/10 and 13/10, not 24/20 of the means alone."""
        found = document({"cubic": self.runs(10.0, 20.0), "bbr": self.runs(11.0, 26.0)})
        cubic, bbr = found["results"]
        self.assertIsNone(cubic["comm_over_cubic"])
        for figures in (bbr, bbr["jobs"][0]):
            self.assertAlmostEqual(figures["comm_over_cubic"], 1.2, delta=0.0002)
            self.assertEqual(figures["comm_p50_over_cubic"], 1.2)
            low, high = figures["comm_over_cubic_ci95"]
            self.assertAlmostEqual(high - low, 2 * 12.706 * 0.1, delta=0.005)
        # 11, 11, 22, 26, 26, 52: of all phases together, as every percentile
        self.assertEqual(bbr["jobs"][0]["comm_p50_ms"], 24.0)
        self.assertRegex(table.text(found), r"1\.200 ± 1\.27. and 1\.200 ± 1\.271 of cubic's")


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
        self.assertEqual(self.mlcc["retransmits_per_mb"], 1.0)
        self.assertIsNotNone(self.mlcc["retransmits_per_mb_ci95"])

    def test_percentiles_are_pooled(self) -> None:
        # 100, 100, 100, 100, 130, 160: rank 4.5.
        self.assertEqual(self.mlcc["slowdown_p90"], 1.45)
        self.assertEqual(self.mlcc["jobs"][0]["p90_ms"], 145.0)

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

    def test_the_median_is_shown(self) -> None:
        runs = [run(late_ms, 0, mbps, 1.0) for late_ms, mbps in ((0, 1.0), (60, 2.0), (30, 3.0))]
        (mlcc,) = document({"mlcc": runs})["results"]
        self.assertEqual(mlcc["repeats"][mlcc["shown"]]["slowdown_mean"], 1.1)
        rates = {series["name"]: series["mbps"] for series in mlcc["shares"]["series"]}
        self.assertEqual(rates["bulk"], [3.0] * 50, "all of a short run")
        self.assertEqual(mlcc["shares"]["from_ms"], 0.0)

    def test_table(self) -> None:
        text = table.text(self.document)
        self.assertIn("1.150 ± 0.635", text)
        self.assertIn("of cubic's", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
