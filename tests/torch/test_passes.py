# SPDX-License-Identifier: GPL-2.0
"""Models over Gloo on the loopback: their phases, and the bytes of each.

Each of two ranks plays a host: it has a job of its own, and announces it.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import common  # noqa: F401  (finds the package)
from fake_mlccd import END, START, Listener

TIMEOUT_S = 240.0
# Debian 13 builds PyTorch without libuv, and PyTorch asks for it all the same
GLOO = {"USE_LIBUV": "0", "GLOO_SOCKET_IFNAME": "lo"}
FOLDER = Path(__file__).parent
NOWHERE = Path("/nonexistent")


def missing(least: str) -> str:
    def number(version: str) -> tuple[int, ...]:
        return tuple(map(int, version.split(".")[:2]))

    return f"needs torch {least}" if number(torch.__version__) < number(least) else ""


class Rank:
    """One process of a job, and what it says: an object of JSON a line, and its warnings."""

    def __init__(
        self, words: list[str], environment: dict[str, str], inside: Sequence[str] = ()
    ) -> None:
        self.process = subprocess.Popen(
            [*inside, sys.executable, "-B", *words],
            env=os.environ | GLOO | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self) -> None:
        """At its end take what it said; some Gloos say more."""
        out, self.errors = self.process.communicate(timeout=TIMEOUT_S)
        assert self.process.returncode == 0, self.errors
        self.said = [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    @property
    def losses(self) -> list[str]:
        return [line["loss"] for line in self.said if "loss" in line]

    def warnings(self) -> list[str]:
        """What the package said; torch says more."""
        return [line for line in self.errors.splitlines() if "phases" in line or "mlccd" in line]

    @property
    def gradients(self) -> int:
        return next(line["gradients"] for line in self.said if "gradients" in line)

    def announced(self) -> list[dict[str, Any]]:
        """The passes that ought to be, "bytes" being what the same pass sent before."""
        before, found = defaultdict(list), []
        for line in self.said:
            if "pass" not in line:
                continue
            same = before[line["pass"]]
            if len(same) >= 2 and same[-1]:
                found.append(line | {"bytes": same[-1]})
            same.append(line["sent"])
        return found


class Pair(unittest.TestCase):
    """Two ranks, jobs of their own, and what takes their hints."""

    def listen(self) -> Listener:
        listener = Listener([{"id": 5 + n, "name": f"rank{n}", "cgroup": "x"} for n in range(2)])
        self.addCleanup(listener.close)
        return listener

    def run_ranks(self, worker: str, *words: str, socket: Path = NOWHERE) -> list[Rank]:
        """Both to their end: worker WORDS... FILE RANK RANKS."""
        with tempfile.TemporaryDirectory(prefix="mlcc-torch-") as folder:
            ranks = []
            for rank in range(2):
                own = {"MLCC_SOCKET": str(socket), "MLCC_JOB": f"rank{rank}"}
                where = (f"{folder}/meet", str(rank), "2")
                ranks.append(Rank([str(FOLDER / worker), *words, *where], own))
                self.addCleanup(ranks[-1].process.kill)
            for rank in ranks:
                rank.finish()
        return ranks


class Passes(Pair):
    def check_model(self, model: str, *kinds: str) -> None:
        listener = self.listen()
        ours = self.run_ranks("pass_worker.py", model, "ours", socket=listener.path)
        plain = self.run_ranks("pass_worker.py", model, "plain")
        self.assertEqual([rank.losses for rank in ours], [rank.losses for rank in plain])
        self.assertEqual(len(set(ours[0].losses)), len(ours[0].losses))
        self.assertEqual([rank.warnings() for rank in ours], [[], []])
        self.assertEqual(len(listener.rings), 2)
        for ring in listener.rings:
            passes = ours[ring.records()[0].job - 5].announced()
            wanted = [line for line in passes if line["pass"].startswith(kinds)]
            self.assertGreaterEqual(len(wanted), 3 * len(kinds))
            self.check_records(ring.records(), wanted)

    def check_records(self, records: list[Any], wanted: list[dict[str, Any]]) -> None:
        self.assertEqual([r.kind for r in records], [START, END] * len(wanted))
        for start, end, line in zip(records[::2], records[1::2], wanted, strict=True):
            self.assertLess(abs(start.bytes - line["bytes"]), 0.02 * line["bytes"], line)
            times = [line["begin"], start.time_ns, end.time_ns, line["end"]]
            self.assertEqual(times, sorted(times), line)

    def test_ddp(self) -> None:
        """Without what DDP's forward passes send, and a pass that reduces nothing."""
        self.check_model("ddp", "backward 1")

    def test_by_hand(self) -> None:
        self.check_model("hand", "forward", "backward", "evaluation")

    @unittest.skipIf(missing("2.6"), missing("2.6"))
    def test_fsdp1(self) -> None:
        self.check_model("fsdp1", "forward", "backward", "evaluation")

    @unittest.skipIf(missing("2.8"), missing("2.8"))
    def test_fsdp2(self) -> None:
        self.check_model("fsdp2", "forward", "backward", "evaluation")

    def test_without_mlccd(self) -> None:
        for model in ("ddp", "hand"):
            ours, plain = (
                self.run_ranks("pass_worker.py", model, how) for how in ("ours", "plain")
            )
            self.assertEqual([rank.losses for rank in ours], [rank.losses for rank in plain])
            self.assertEqual([len(rank.warnings()) for rank in ours], [1, 1])
