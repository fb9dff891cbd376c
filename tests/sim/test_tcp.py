# SPDX-License-Identifier: GPL-2.0
"""TCP hosts: jobs, what NICs do for them, what they recover from; and cells of such hosts."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from common import FRAME, HERE, MSS, PERIOD_S, Table, late, run, slowdown, tcp_pairs
from mlccsim import cells
from mlccsim.engine import Run, simulate

LOOK_S = 500e-6
DELAY_S = 20e-6
PACKET_S = 8 * FRAME / 10e9
OFFLOADS = {"tso": "64KiB", "gro": True, "coalesce": "30us"}


def pair(segments: int, cc: str = "reno", mss: int = MSS, **tcp: object) -> Table:
    """What 10 Gb/s make of one job's messages of so many segments."""
    table = {
        "transport": "tcp",
        "topology": {"kind": "dumbbell", "rate": "10gbit", "delay": "20us"},
        "tcp": {"mss": mss} | tcp,
        "job": [{"name": "job", "bytes": segments * mss, "compute": "5ms"}],
    }
    return run(table, cc, iterations=8)


def took(result: Table) -> float:
    """The communication of the last iteration."""
    last: float = result["jobs"][0]["communication_s"][-1]
    return last


def acks(result: Table) -> float:
    """For a segment that is sent: each passes three links."""
    sent = result["jobs"][0]["delivered"] / MSS
    hops: float = result["network"]["hops"]
    return (hops - 3 * sent) / (3 * sent)


def hosts(table: Table, **tcp: object) -> Table:
    """The same scenario with these hosts."""
    return table | {"tcp": table["tcp"] | tcp}


class Jobs(unittest.TestCase):
    """Alone, and two that need the link for 45 % of their time."""

    def test_a_job_alone_has_the_link(self) -> None:
        """After a first slow start, which may cost a time-out."""
        for cc in ("cubic", "reno", "dctcp", "interleave"):
            for flows in (1, 4):
                table = hosts(tcp_pairs(1, "droptail"), limit=2_000_000)
                table["job"][0]["flows"] = flows
                with self.subTest(cc, flows=flows):
                    result = run(table, cc, iterations=4)
                    self.assertAlmostEqual(slowdown(result), 1, delta=0.02)
                    delivered = result["jobs"][0]["delivered"]
                    self.assertEqual(delivered, 4 * table["job"][0]["bytes"])

    def test_they_come_apart(self) -> None:
        """Where packets are dropped, and where they are marked instead."""
        for queue, base in (("droptail", "cubic"), ("ecn", "dctcp")):
            table = hosts(tcp_pairs(2, queue), **OFFLOADS)
            plain, ours = (run(table, cc, iterations=16) for cc in (base, "interleave"))
            with self.subTest(queue):
                self.assertLess(late(ours), 1.02 * PERIOD_S)
                self.assertLess(slowdown(ours), slowdown(plain) - 0.05)
                for network in (plain["network"], ours["network"]):
                    self.assertEqual(network["marked"] > 0, queue == "ecn")
                    self.assertEqual(network["dropped"] > 0, queue == "droptail")

    def test_a_lost_retransmission_takes_the_least_time_out(self) -> None:
        """Which the route tells: jobs that it holds up are late by that."""
        cell = cells.Cell(25, 10, 1448, 1, (16, 16), 0)
        for rto_min, least, most in (("200ms", 0.2, 0.5), ("10ms", 0.01, 0.1)):
            found = simulate(cells.scenario(cell, 12, rto_min), Run("cubic", 1))
            self.assertGreater(found["network"]["timeouts"], 0)
            longest = max(max(job["iterations_s"]) for job in found["jobs"])
            self.assertTrue(least < longest < most, (rto_min, longest))

    def test_rings_find_their_ways(self) -> None:
        ring = {"name": "r", "workload": "ring", "hosts": 4, "bytes": 400_000, "compute": "5ms"}
        topology = {"kind": "fat-tree", "rate": "1gbit", "k": 4, "delay": "2us"}
        table = {"transport": "tcp", "topology": topology, "job": [ring | {"copies": 2}]}
        result = run(table, "interleave", placement="spread", iterations=5)
        self.assertTrue(result["over"])
        # in six steps of 100 kB, each of which has to be there before the next one
        for job in result["jobs"]:
            self.assertGreater(min(job["iterations_s"][1:]), 5e-3 + 6 * 8e5 / 1e9)
            self.assertLess(max(job["iterations_s"][1:]), 0.05)

    def test_acks_that_wait_behind_data_are_no_queue(self) -> None:
        """Both hosts of a ring send: timestamps tell where the round trip goes."""
        ring = {"workload": "ring", "hosts": 2, "bytes": 1_000_000, "compute": "55ms"}
        table = tcp_pairs(1, "droptail") | {"job": [{"name": "ring", "noise": 0.02} | ring]}
        for seed in (1, 2):
            self.assertLess(slowdown(run(table, "interleave", seed=seed, iterations=16)), 1.09)

    def test_small_shares_are_paced(self) -> None:
        """Less than two segments a flow: at once they are a queue, and four times the marks."""
        cell = cells.scenario(cells.Cell(25, 50, 8948, 0, (32, 32), 0), 16)
        self.assertLess(simulate(cell, Run("interleave", 1))["network"]["marked"], 100_000)


class Offloads(unittest.TestCase):
    """Each by what it adds, or spares."""

    def test_a_host_looks_at_once_after_a_silence(self) -> None:
        """And otherwise not before it is time: neither at data nor, in two windows, at ACKs."""
        first, one_way = took(pair(1, coalesce="500us")), 3 * (DELAY_S + PACKET_S)
        # and what is random
        self.assertGreaterEqual(first, one_way)
        self.assertLess(first, one_way + PACKET_S)
        found = took(pair(10, coalesce="500us"))
        self.assertAlmostEqual(found, first + LOOK_S, delta=PACKET_S)
        self.assertGreater(took(pair(30, coalesce="500us", window=10 * MSS)), 4 * LOOK_S)
        self.assertLess(took(pair(30, window=10 * MSS)), LOOK_S)

    def test_gro_acknowledges_what_comes_at_once(self) -> None:
        """Up to 64 KB: without waiting there is nothing to join, without it nobody who joins."""
        for words, expected in (
            ({}, 0.5),
            ({"gro": True}, 0.5),
            ({"coalesce": "50us"}, 0.5),
            ({"gro": True, "coalesce": "50us"}, 1 / 41),
            ({"gro": True, "coalesce": "500us"}, 1 / 40),
        ):
            with self.subTest(words):
                found = acks(pair(2000, limit="4MiB", **words))
                self.assertAlmostEqual(found, expected, delta=0.01)

    def test_bursts_are_waited_for(self) -> None:
        for tso, least, most in ((0, 1, 1), (65536, 30, 45)):
            found = pair(4000, tso=tso, window=200 * MSS, limit="4MiB")
            handed = 8 * 4000 / found["network"]["bursts"]
            self.assertGreaterEqual(handed, least)
            self.assertLessEqual(handed, most)

    def test_jumbo_frames_carry_more(self) -> None:
        for segments, mss in ((20000, MSS), (3000, 8948)):
            rate = 8 * segments * mss / took(pair(segments, mss=mss))
            self.assertAlmostEqual(rate / 10e9, mss / (mss + FRAME - MSS), delta=0.01)

    def test_a_hosts_own_queue_is_small_and_drops_nothing(self) -> None:
        """TCP small queues: a megabyte of a window of six."""
        for cc, words in (("reno", {"limit": 100_000}), ("dctcp", {"queue": "ecn", "mark": 1})):
            network = pair(20000, cc, tso="64KiB", window="6MiB", **words)["network"]
            self.assertEqual((network["dropped"], network["marked"]), (0, 0))
            self.assertGreater(network["held_bytes"], 2**20)
            self.assertLess(network["held_bytes"], 2**20 + 3 * 65536)


class Recovery(unittest.TestCase):
    """What Linux finds without waiting for a time-out."""

    def test_each_loss_is_sent_again_once(self) -> None:
        """Retransmissions are lost, too, where the queue is small: RACK tells."""
        for words, most in (({}, 3), (OFFLOADS, 3), ({"limit": 10_000}, 8)):
            with self.subTest(words):
                network = run(hosts(tcp_pairs(2, "droptail"), **words), "reno")["network"]
                self.assertGreater(network["dropped"], 100)
                self.assertLess(abs(network["again"] - network["dropped"]), 20)
                self.assertLess(network["timeouts"], most)

    def test_a_full_queue_shuts_nobody_out(self) -> None:
        """Not even beside a sender at the link's rate."""
        table = hosts(tcp_pairs(3, "droptail", 0.03), limit=150_000)
        table["topology"] |= {"rate": "1gbit", "bottleneck": "1gbit", "delay": "67us"}
        table["job"][0] |= {"bytes": 5_000_000, "flows": 4}
        network = run(table, "reno", iterations=16)["network"]
        self.assertGreater(network["dropped"], 1000)
        self.assertLess(network["timeouts"], 8)

    def test_a_probe_finds_what_is_lost_at_the_end(self) -> None:
        """Ten segments leave at once, and the queue has room for six: nothing comes behind them."""
        table = hosts(tcp_pairs(1, "droptail"), limit=10_000)
        table["topology"]["rate"] = "10gbit"
        table["job"][0] |= {"bytes": 10 * MSS, "compute": "10ms"}
        result = run(table, "reno", iterations=4)
        self.assertGreater(result["network"]["dropped"], 0)
        self.assertEqual(result["network"]["timeouts"], 0)
        # a time-out takes 200 ms, an ACK that is delayed 40
        self.assertLess(max(result["jobs"][0]["iterations_s"]), 0.1)

    def test_a_single_segment_waits_for_the_time_out(self) -> None:
        """What a probe cannot tell: the same in Linux, in 200 ms and a round trip."""
        table = hosts(tcp_pairs(12, "droptail"), limit=10_000)
        table["job"][0] |= {"bytes": MSS, "compute": "10ms", "noise": 0, "stagger": "0s"}
        result = run(table, "reno", iterations=4)
        took = [took for job in result["jobs"] for took in job["communication_s"] if took > 0.1]
        self.assertGreater(min(took), 0.2)
        self.assertLess(max(took), 0.209)
        # a tick of 8 ms, each host's another one
        self.assertGreater(max(took) - min(took), 2e-3)

    def test_a_time_out_meets_others_phases_not_for_ever(self) -> None:
        """Three iterations of theirs take as long as one: 200 ms."""
        cell = cells.scenario(cells.Cell(25, 50, 8948, 3, (8, 8, 8), 0), 24)
        self.assertTrue(simulate(cell, Run("cubic", 1))["over"])

    def test_a_probe_spares_what_is_there(self) -> None:
        """A segment that was counted twice left a flow without a window, for ever."""
        cell = cells.scenario(cells.Cell(25, 50, 8948, 16, (64, 64, 64), 64), 24)
        self.assertTrue(simulate(cell, Run("interleave", 3))["over"])


class Cells(unittest.TestCase):
    """The command, and what it draws."""

    def test_a_draw_is_the_seeds(self) -> None:
        self.assertEqual(cells.drawn(7), cells.drawn(7))
        self.assertNotEqual(cells.drawn(7)[:8], cells.drawn(8)[:8])
        self.assertEqual(len(set(cells.drawn(7))), 960)

    def test_a_table_and_json(self) -> None:
        """Where the queue marks, which the second one does, dctcp is the base."""
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            words = ["--draw", "127", "--count", "2", "--cc", "interleave", "--iterations", "4"]
            command = [HERE / "cells", *words, "--seeds", "1-1", "--json", file.name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(Path(file.name).read_text(encoding="utf-8"))
        for cell in found:
            base, ours = cell["results"]
            self.assertEqual(base["cc"], "cubic" if cell["queue"] else "dctcp")
            self.assertGreater(ours["slowdown"], 0.95)
            self.assertIn(cell["label"], done.stdout)
        self.assertIn("interleave: slowdown", done.stdout)
