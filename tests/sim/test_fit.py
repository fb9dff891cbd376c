# SPDX-License-Identifier: GPL-2.0
"""Curves of iteration times against cross traffic."""

import importlib.util
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import HERE, Table

FITS = importlib.util.find_spec("scipy") and importlib.util.find_spec("matplotlib")


@unittest.skipUnless(FITS, "needs python3-scipy and python3-matplotlib")
class Curve(unittest.TestCase):
    """t = A exp(B / (C - BW)^n)."""

    BW = (0.0, 5.0, 10.0, 15.0, 20.0)

    def sweep(self, took: list[float]) -> Table:
        """What tests/sim/run writes, but for all that the fit does not read."""

        def report(bw: float, t: float) -> Table:
            jobs = [
                {"mean_ms": t, "isolated_ms": 9.0},
                {"mean_ms": None, "isolated_ms": None, "fct": []},
            ]
            return {"load": bw / 25, "results": [{"cc": "dcqcn", "jobs": jobs}]}

        parts = [report(bw, t) for bw, t in zip(self.BW, took, strict=True)]
        return {"scenario": "made-up", "line_gbps": 25, "sweep": parts}

    def fit(self, sweep: Table, *words: str) -> "subprocess.CompletedProcess[str]":
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(sweep, file)
            file.flush()
            command = [sys.executable, HERE / "fit", file.name, *words]
            return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_it_finds_the_curve(self) -> None:
        """Those of the thesis for BERT-large, and for each n."""
        from mlccsim import fit

        for a, b, n in ((0.564, 3.667, 0.5), (0.618, 9.95, 1), (0.3, 40, 2)):
            with self.subTest(n=n):
                t = [a * math.exp(b / (25 - bw) ** n) for bw in self.BW]
                found = fit.fit(self.BW, t, 25)
                self.assertEqual(found.n, n)
                self.assertAlmostEqual(found.a, a, places=4)
                self.assertAlmostEqual(found.b, b, places=3)
                self.assertAlmostEqual(found.r2, 1)

    def test_the_command(self) -> None:
        took = [9 * math.exp(10 / (25 - bw)) for bw in self.BW]
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "curve.svg"
            done = self.fit(self.sweep(took), "--plot", str(picture))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"dcqcn +9 +10 +25 +1 +1\.000")
            self.assertIn("dcqcn, R² = 1.000", picture.read_text(encoding="utf-8"))

    def test_what_is_wrong_is_one_line(self) -> None:
        few = self.sweep([9, 10, 11, 12, 13])
        few["sweep"] = few["sweep"][:3]
        for sweep, words, expected in (
            ({"results": []}, (), "no JSON of tests/sim/run --load"),
            (few, (), "a fit takes 4 loads or more"),
            (self.sweep([9, 10, 11, 0, 13]), (), "load 0.6: a job has too few iterations"),
            (few, ("--plot", "a.gif"), "does not end in .png"),
        ):
            with self.subTest(expected):
                done = self.fit(sweep, *words)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))
                self.assertIn(expected, done.stderr)
