# SPDX-License-Identifier: GPL-2.0
"""Cross traffic: what mlcc-burst draws, what a scenario asks for, completion times by size."""

import json
import socket
import subprocess
import unittest
from pathlib import Path
from statistics import fmean
from typing import Any

from mlcclab import report, scenario, sizes, table
from mlcclab.experiment import FlowReference, Measurement, Reference
from mlcclab.runner import FlowTrace, JobTrace, RunResult
from mlcclab.schedule import Request

HERE = Path(__file__).resolve().parent
BURST = HERE / "mlcc-burst"
CROSS = scenario.load(HERE / "scenarios" / "cross.toml")


def listens(there: str) -> bool:
    """Whether somebody does."""
    host, port = there.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


class Sizes(unittest.TestCase):
    """As published."""

    def test_mean(self) -> None:
        self.assertEqual(sizes.mean_bytes([[0, 0], [1000, 50], [3000, 100]]), 1250)
        for name, mean in (("websearch", 1.7e6), ("storage", 41e3), ("hadoop", 122e3)):
            found = sizes.mean_bytes(sizes.SIZES[name])
            self.assertAlmostEqual(found / mean, 1, delta=0.05, msg=name)

    def test_a_scenario_has_the_load(self) -> None:
        (flow,) = CROSS.flows
        self.assertAlmostEqual(flow.bytes * 8e3 / flow.every_ms / CROSS.link.rate, 0.8, places=3)
        # a slower link has as many flows, which are smaller
        (slow,) = CROSS.scaled(0.2).flows
        self.assertEqual((slow.every_ms, slow.bytes), (flow.every_ms, round(flow.bytes / 5)))
        scaled = sizes.scaled(sizes.SIZES[slow.sizes], slow.bytes)
        self.assertAlmostEqual(sizes.mean_bytes(scaled), slow.bytes)


@unittest.skipUnless(BURST.exists(), "mlcc-burst is not built: run make")
class Arrivals(unittest.TestCase):
    """What mlcc-burst makes of a distribution."""

    def flows(self, *words: str) -> list[dict[str, Any]]:
        """In a second."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            there = f"127.0.0.1:{free.getsockname()[1]}"
        with subprocess.Popen([BURST, "recv", "--listen", there], stderr=subprocess.DEVNULL) as far:
            while not listens(there):
                pass
            short = [BURST, "short", "--peer", there, "--seconds", "1", *words]
            said = subprocess.run(short, capture_output=True, text=True, check=True).stdout
            far.terminate()
        records = [json.loads(line) for line in said.splitlines()]
        self.assertEqual(records[-1]["requests"], len(records) - 1)
        return sorted(records[:-1], key=lambda record: record["request"])

    SIZES = ("--size", "0:1000", "--size", "50:2000", "--size", "100:4000")

    def test_sizes_and_times(self) -> None:
        found = self.flows(*self.SIZES, "--every-ms", "0.5", "--seed", "4")
        self.assertAlmostEqual(len(found) / 2000, 1, delta=0.1)
        small = [flow["bytes"] for flow in found if flow["bytes"] <= 2000]
        self.assertAlmostEqual(len(small) / len(found), 0.5, delta=0.05)
        self.assertAlmostEqual(fmean(flow["bytes"] for flow in found), 2250, delta=80)
        self.assertGreaterEqual(min(small), 1000)
        due = [flow["start_ns"] / 1e6 for flow in found]
        gaps = [after - before for before, after in zip(due, due[1:], strict=False)]
        # exponential: 1 - 1/e of them are shorter than the mean
        self.assertAlmostEqual(sum(gap < 0.5 for gap in gaps) / len(gaps), 0.632, delta=0.05)

    def test_the_seed_says_which(self) -> None:
        def drawn(seed: str) -> list[int]:
            found = self.flows(*self.SIZES, "--every-ms", "5", "--seed", seed)
            return [flow["bytes"] for flow in found][:100]

        self.assertEqual(drawn("4"), drawn("4"))
        self.assertNotEqual(drawn("4"), drawn("5"))

    def test_none_waits_for_another(self) -> None:
        """Of one that nobody takes, the others know nothing; it has taken the time so far."""
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(64)
            words = ["--peer", f"127.0.0.1:{deaf.getsockname()[1]}", "--every-ms", "50"]
            words += ["--size", "0:9000000", "--size", "100:9000001", "--seconds", "1"]
            done = subprocess.run([BURST, "short", *words], capture_output=True, check=True)
        *flows, totals = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(flows), totals["requests"])
        self.assertGreater(len(flows), 5)
        ends = [flow["start_ns"] / 1e6 + flow["completion_ms"] for flow in flows]
        self.assertLess(max(ends) - min(ends), 20)

    def test_what_is_wrong_is_one_line(self) -> None:
        every = ("--every-ms", "1")
        for words, expected in (
            ((*self.SIZES,), "needs --every-ms"),
            ((*self.SIZES, *every, "--bytes", "9000"), "nor --bytes"),
            (("--size", "0:1", "--size", "90:2", *every), "from 0 to 100 %"),
            (("--size", "0:9", "--size", "100:2", *every), "more than the one before"),
            (("--size", "101:9", *every), "a number from 0 to 100 is wanted"),
            (("--size", "9", *every), "is not PERCENT:BYTES"),
        ):
            with self.subTest(words):
                short = [BURST, "short", "--peer", "127.0.0.1:9", *words]
                done = subprocess.run(short, capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
                self.assertIn(expected, done.stderr)


class Report(unittest.TestCase):
    """By size, and against the first congestion control."""

    def run_of(self, took_ms: float, seconds: float) -> RunResult:
        """A flow of 1 MB, and one of 100 bytes, every second."""
        flows = [
            (round((second + 0.5) * 1e9), took_ms * factor, nbytes)
            for second in range(int(seconds))
            for nbytes, factor in ((1_000_000, 1), (100, 0.5))
        ]
        calm = [0.0] * 4
        job_trace = JobTrace([200.0] * 4, [75.0] * 4, [125.0] * 4, calm, calm, 0, 1, [])
        cross = FlowTrace([took for _, took, _ in flows], [], 0, flows)
        jobs = dict.fromkeys((job.name for job in CROSS.jobs), job_trace)
        return RunResult(jobs=jobs, flows={"cross": cross}, seconds=seconds)

    def document(self, repeat: int) -> dict[str, Any]:
        request = Request(CROSS, 4, 1, repeat, False, 30.0)
        runs = {
            "cubic": [self.run_of(20.0, 20.5)] * repeat,
            "mlcc": [self.run_of(40.0, 40.5)] * repeat,
        }
        alone = {job.name: Reference(100.0) for job in CROSS.jobs}
        measured = Measurement(request, "bpf", alone, runs=runs)
        measured.isolated_flows = {"cross": FlowReference([1.0], 1.0)}
        return report.document(measured)

    def test_by_size(self) -> None:
        for repeat in (1, 3):
            with self.subTest(repeat):
                document = self.document(repeat)
                cubic, mlcc = (result["flows"][0]["fct"] for result in document["results"])
                # the time that both had: from 5.1 to 18.45 s
                self.assertEqual([b["flows"] for b in cubic], [13 * repeat, 0, 13 * repeat, 0])
                self.assertEqual([b["flows"] for b in mlcc], [13 * repeat, 0, 13 * repeat, 0])
                # 16.73 ms on the wire, 0.1 for the round trip
                self.assertAlmostEqual(cubic[2]["p50"]["mean"], 20 / 16.829, places=3)
                self.assertAlmostEqual(mlcc[2]["p99_against_first"]["mean"], 2)
                self.assertNotIn("p99_against_first", cubic[2])
                self.assertIsNone(mlcc[1]["p99"])
                text = table.text(document)
                self.assertRegex(text, r"mlcc +cross +<= 1000 kB +\d+ .* 2\.000")

    def test_seeds_have_their_own(self) -> None:
        (first, *_) = self.document(3)["results"][1]["repeats"]
        self.assertEqual(first["flows"][0]["fct"][2]["flows"], 13)
