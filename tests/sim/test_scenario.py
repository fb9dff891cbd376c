# SPDX-License-Identifier: GPL-2.0
"""Scenarios: what is refused, and how."""

import json
import subprocess
import unittest

from common import HERE, dumbbell, front_end, pairs
from mlccsim.cluster import load
from mlccsim.engine import PROGRAM
from mlccsim.scenario import parse, places, settings

SIZE = """bytes = 1000000
compute = "2ms"
"""
GOOD = f"""
iterations = 4
[topology]
kind = "dumbbell"
rate = "10gbit"
[[job]]
name = "a"
copies = 2
{SIZE}"""
TRACE = """workload = "trace"
trace = "gpt-13b-dp"
period_ms = 100.0
duty = 0.3
"""


class FrontEnd(unittest.TestCase):
    """The command."""

    def refused(self, text: str, *expected: str) -> None:
        done = front_end(text)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for words in expected:
            self.assertIn(words, done.stderr)

    def test_what_is_wrong_is_refused(self) -> None:
        traced = GOOD.replace(SIZE, TRACE)
        small = traced.replace("10gbit", "2mbit").replace("100.0", "1.0")
        for text, old, new, expected in (
            (GOOD, SIZE, SIZE + "speed = 3\n", "job[0].speed: unknown key; allowed: name"),
            (GOOD, 'kind = "d', 'k = 4\nkind = "d', "topology.k: unknown key"),
            (GOOD, "10gbit", "10", 'like "1gbit"'),
            (GOOD, "bytes = 1000000", "", "job[0].bytes: missing"),
            (GOOD, "copies = 2", "hosts = 3", "job[0].hosts: unknown key"),
            (GOOD, "[[job]]", "[switch]\nkmin = 2000000\n[[job]]", "not above kmin"),
            (GOOD, "[[job]]", "[rdma]\nqps = 129\n[[job]]", "rdma.qps: 129: a whole number from 1"),
            (GOOD, "[[job]]", "[tcp]\nmss = 1000\n[[job]]", "tcp: unknown key; allowed: about"),
            (GOOD, "iterations", "placement = 'spread'\niterations", "hosts are packed"),
            (GOOD, "iterations", "like = 'none'\niterations", "no scenario 'none': there are fat-"),
            (GOOD, "copies = 2", "load = 0.1", "job[0].load: unknown key"),
            (GOOD, "copies = 2", "workload = 'background'", "job[0].bytes: unknown key"),
            (GOOD, "copies = 2\n" + SIZE, "workload = 'background'", "job[0].load: missing"),
            (GOOD, SIZE, "workload = 'endless'\ntimer = '1us'", "job[0].timer: unknown key"),
            (f"transport = 'tcp'\n{GOOD}", SIZE, "timer = '1us'\n", "job[0].timer: unknown key"),
            (GOOD, SIZE, "flows = 4\n", "job[0].flows: unknown key"),
            (traced, "duty = 0.3", "", "job[0].duty: missing"),
            (traced, "duty = 0.3", "duty = 0.3\nbytes = 9", "job[0].bytes: unknown key"),
            (traced, 'workload = "trace"', "", "job[0].trace: unknown key"),
            (traced, "duty = 0.3", "duty = 0.3\nhosts = 4", "job[0].hosts: unknown key"),
            (small, "0.3", "0.01", "job[0].duty: a message would have less than a byte"),
            # what only mlcc-sim knows
            (GOOD, "[[job]]", '[switch]\nbuffer = "10KiB"\n[[job]]', "headroom"),
        ):
            with self.subTest(new):
                self.refused(text.replace(old, new), expected)

    def test_bad_pods_are_refused(self) -> None:
        good = GOOD.replace('"dumbbell"', '"clos"\naggregation = 1\ncores = 1\npods = [[2, 2]]')
        self.assertEqual(front_end(good, "--seeds", "1-1", "--cc", "dcqcn").returncode, 0)
        for pods in ("[]", "[[]]", "[2, 2]", "[[2], [0]]", "[[2.5]]", "[[1025]]"):
            with self.subTest(pods):
                bad = good.replace("[[2, 2]]", pods)
                self.refused(bad, "topology.pods: not lists, one a pod, of the hosts below each")
        self.refused(good.replace("[[2, 2]]", "[[2, 1]]"), "they want 4 hosts", "has 3")
        self.refused("placement = 'spread'\n" + good, "placement: racks are not alike")

    def test_a_run_that_is_stopped_says_so(self) -> None:
        done = front_end('stop = "9ms"\n' + GOOD, "--cc", "dcqcn", "--seeds", "1-2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("dcqcn: slowdown - (stopped before its jobs were done)", done.stdout)

    def test_results_are_json(self) -> None:
        done = front_end(GOOD, "--cc", "dcqcn", "--seeds", "1-3", "--json", "-")
        found = json.loads(done.stdout)
        job = found["results"][0]["jobs"][1]
        self.assertEqual((done.returncode, job["name"]), (0, "a-2"))
        self.assertEqual([len(times) for times in job["iterations_ms"]], [4, 4, 4])
        self.assertAlmostEqual(job["isolated_ms"], 2.8, delta=0.1)
        self.assertGreater(job["slowdown"]["mean"], 1.0)
        self.assertGreater(job["slowdown"]["half"], -1e-9)


class Parsing(unittest.TestCase):
    """What it makes of a file."""

    def test_shipped_scenarios_are_right(self) -> None:
        shipped = sorted((HERE / "scenarios").glob("*.toml"))
        self.assertGreater(len(shipped), 3)
        for path in shipped:
            with self.subTest(path.stem):
                self.assertTrue(load(path).about)

    def test_no_host_has_two_jobs(self) -> None:
        table = {
            "topology": {"kind": "fat-tree", "rate": "10gbit", "k": 4},
            "job": [{"name": "r", "workload": "ring", "hosts": 4, "copies": 4, "bytes": 1}],
        }
        for placement in ("packed", "spread", "random"):
            with self.subTest(placement):
                found = places(parse("test", table | {"placement": placement}), 7)
                self.assertEqual(sorted(sum(found, [])), list(range(16)))
                self.assertEqual(found[0] == [0, 1, 2, 3], placement == "packed")

    def test_the_program_wants_what_it_knows(self) -> None:
        lines = settings(parse("test", dumbbell(pairs(1, 0.01))), "dcqcn", 1)
        for old, new, expected in (
            ("leaves 0", "stays 1", "leaves: missing"),
            ("pmax 0.2", "pmax few", "pmax: not numbers"),
        ):
            text = lines.replace(old, new)
            done = subprocess.run(
                [PROGRAM], input=text, capture_output=True, text=True, check=False
            )
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))
            self.assertIn(expected, done.stderr)
