# SPDX-License-Identifier: GPL-2.0
"""The figures of real jobs, from hand-made traces, and a short real run where torch is there."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from reallab import report  # noqa: E402
from reallab.experiment import Measurement, Request  # noqa: E402
from reallab.jobs import SETS  # noqa: E402
from reallab.session import CTL, RealRun, Trace  # noqa: E402

from mlcclab import features  # noqa: E402

# half a minute, and what another lab may have the machine for
TIMEOUT_S = 480.0
ZEROS = [0.0, 0.0, 0.0]


def trace(times: list[float], losses: list[float], start_ns: int = 0) -> Trace:
    """A rank's iterations, one right after the other."""
    records = []
    for number, (took, loss) in enumerate(zip(times, losses, strict=True)):
        fields: dict[str, Any] = {"iteration": number, "start_ns": start_ns, "iteration_ms": took}
        fields |= {"comm_ms": took / 2, "real_ms": 1.0, "loss": loss.hex()}
        records.append(fields)
        start_ns += round(took * 1e6)
    return records


def measured(together: list[list[float]], alone: list[float], times: float = 20.0) -> Measurement:
    """A measurement of two jobs: losses of each run together, and of the run alone."""
    result = Measurement(Request(SETS["ddp-2"], ["cubic"], 8, 8, len(together)))
    jobs = result.request.jobs.jobs()

    def run(losses: list[float], took: float) -> RealRun:
        made = RealRun(stolen=took / 1000, seconds=1.0)
        for job in jobs:
            made.add(job.name, [trace([took] * len(losses), losses) for _ in range(2)])
        return made

    result.alone = {job.name: run(alone, 10.0) for job in jobs}
    result.runs["cubic"] = [run(losses, times) for losses in together]
    return result


class Figures(unittest.TestCase):
    """What the report says of traces."""

    def test_an_iteration_ends_with_its_last_rank(self) -> None:
        run = RealRun()
        run.add("a", [trace([10, 10, 10], ZEROS), trace([12, 10, 10], ZEROS, 1_000_000)])
        self.assertEqual(run.jobs["a"].iteration_ms, [13, 10, 10])

    def test_losses(self) -> None:
        curve, bit = [2.5, 2.25, 2.0, 1.75], 2**-40
        self.assertTrue(report.same_losses(measured([curve, curve], curve[:2])))
        for together, alone in (
            ([curve, [*curve[:3], 1.75 + bit]], curve[:2]),
            ([curve, curve], [2.5, 2.25 + bit]),
        ):
            self.assertFalse(report.same_losses(measured(together, alone)))

    def test_the_report(self) -> None:
        document = report.document(measured([[1.0] * 8, [1.0] * 8], [1.0] * 8))
        (result,) = document["results"]
        self.assertEqual([job["isolated_ms"] for job in result["jobs"]], [10.0, 10.0])
        self.assertEqual(result["repeats"][1]["jobs"][0]["p99_ms"], 20.0)
        text = report.text(document)
        for words in ("2.000", "alone 1.0% 1.0%, cubic 2.0% 2.0%", "100.0% under cubic (100.0%, "):
            self.assertIn(words, text)
        json.dumps(document)

    def test_the_sets_communicate_as_much_as_they_say(self) -> None:
        for item in SETS.values():
            shares = [job.comm_ms / (job.compute_ms + job.comm_ms) for job in item.jobs()]
            for share in shares:
                self.assertAlmostEqual(share, item.share, delta=0.02, msg=item.name)
            self.assertLess(sum(shares), 1, "the phases fit beside each other")

    def test_wrong_use_is_refused(self) -> None:
        wrong = (("--modes", "x"), ("--iterations", "1"), ("--repeat", "0"))
        for words in (["nonsense"], *(["ddp-2", *option] for option in wrong)):
            done = subprocess.run([HERE / "mlcc-train", *words], capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), words)


def missing() -> str:
    """Why there is no real run here, or nothing."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return "python3-torch is not installed: make demo-train installs it"
    if os.geteuid():
        return "needs root: it makes network namespaces"
    if "mlcc" in features.available_ccs():
        return "a carrier is loaded already"
    return "" if CTL.exists() else "mlcc-ctl is not built: make userspace"


@unittest.skipIf(missing(), missing())
class WithTorch(unittest.TestCase):
    """Two jobs, eight iterations; never how long they took."""

    def test_losses_do_not_depend_on_the_network(self) -> None:
        with tempfile.TemporaryDirectory(prefix="mlcc-train-test-") as folder:
            file = Path(folder) / "out.json"
            command = [HERE / "mlcc-train", "ddp-2", "--modes", "cubic,mlcc+hints"]
            command += ["--iterations", "8", "--isolated", "8", "--json", file]
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
            )
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertTrue(file.exists(), done.stderr)
            document = json.loads(file.read_text(encoding="utf-8"))
        self.assertTrue(document["same_losses"])
        for curve in document["losses"].values():
            self.assertEqual(len(set(curve)), 8)
        cubic, hinted = (result["runs"][0] for result in document["results"])
        self.assertEqual(set(cubic["connections"]), {"cubic"})
        self.assertEqual({cc.removesuffix("_plain") for cc in hinted["connections"]}, {"mlcc"})
        # four ranks; starts and ends of the iterations but the first two and the last
        self.assertGreaterEqual(hinted["hints"]["ring_records"], 4 * 2 * 5)
        self.assertEqual(hinted["hints"]["ring_records_bad"], 0)
