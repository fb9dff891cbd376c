# SPDX-License-Identifier: GPL-2.0
"""Flows that are jobs of a class: which requests they make, and where they are known as jobs."""

import unittest
from pathlib import Path
from statistics import fmean, median
from types import SimpleNamespace
from typing import Any

from mlcclab import cluster, conversation, runner, scenario

SHIPPED = Path(__file__).parent / "scenarios"


class Requests(unittest.TestCase):
    """As the trace has them."""

    def test_means_and_percentiles(self) -> None:
        made = conversation.requests(300_000, 50.0)
        gaps, sizes = [gap for gap, _ in made], [nbytes for _, nbytes in made]
        self.assertAlmostEqual(fmean(gaps), 50.0)
        self.assertAlmostEqual(fmean(sizes) / 300_000, 1.0, places=3)
        self.assertAlmostEqual(median(sizes) / fmean(sizes), 0.59, delta=0.04)
        self.assertGreater(max(sizes), 7 * fmean(sizes))
        self.assertEqual(made, conversation.requests(300_000, 50.0))

    def test_small_ones_have_a_header(self) -> None:
        self.assertGreaterEqual(min(nbytes for _, nbytes in conversation.requests(100, 1.0)), 100)


class Senders(unittest.TestCase):
    """What mlcc-burst is told of them."""

    def sender(self, name: str, is_job: bool) -> cluster.Command:
        loaded = scenario.load(SHIPPED / "classes.toml")
        flow = next(flow for flow in loaded.flows if flow.name == name)
        host: Any = SimpleNamespace(namespace="h", addresses=["10.0.0.1"])
        one: Any = SimpleNamespace(traffic={name: cluster.Worker(host, 7, 5007, host)})
        return cluster.Cluster.flow_sender(one, flow, [], is_job)

    def test_requests(self) -> None:
        command = self.sender("kv", True)
        self.assertEqual(command.arguments[0], "short")
        self.assertEqual(command.arguments.count("--request"), conversation.COUNT)
        self.assertNotIn("--every-ms", command.arguments)

    def test_the_mark_is_a_jobs(self) -> None:
        self.assertEqual(self.sender("checkpoint", True).mark, 7)
        self.assertEqual(self.sender("checkpoint", False).mark, 0)

    def test_only_carriers_know_jobs(self) -> None:
        kv = scenario.load(SHIPPED / "classes.toml").flows[0]
        plain = scenario.load(SHIPPED / "beside-tcp.toml").flows[0]
        for cc, known in (("mlcc", True), ("mlcc+hints", True), ("mlcc:neutral", False)):
            self.assertEqual(runner.is_job(cc, kv), known, cc)
        self.assertFalse(runner.is_job("cubic", kv))
        self.assertFalse(runner.is_job("mlcc", plain))
