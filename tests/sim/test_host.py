# SPDX-License-Identifier: GPL-2.0
"""TCP hosts with what NICs do for them, and cells of such hosts."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from statistics import fmean

from common import FRAME, HERE, MSS, Table, run, slowdown, tcp_pairs
from mlccsim import cells
from mlccsim.engine import Run, simulate

LOOK_S = 500e-6
DELAY_S = 20e-6
PACKET_S = 8 * FRAME / 10e9


def pair(segments: int, cc: str = "reno", mss: int = MSS, **tcp: object) -> Table:
    """What 10 Gb/s make of one job's messages of so many segments."""
    table = {
        "transport": "tcp",
        "topology": {"kind": "dumbbell", "rate": "10gbit", "delay": "20us"},
        "tcp": {"stack": "host", "mss": mss} | tcp,
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


def host(table: Table, **tcp: object) -> Table:
    """The same scenario with these hosts."""
    return table | {"tcp": table["tcp"] | {"stack": "host"} | tcp}


class Offloads(unittest.TestCase):
    """Each by what it adds, or spares."""

    def test_a_host_looks_at_once_after_a_silence(self) -> None:
        one_way = 3 * (DELAY_S + PACKET_S)
        for looks in ("0us", "500us"):
            with self.subTest(looks):
                found = took(pair(1, coalesce=looks))
                # and what is random
                self.assertGreaterEqual(found, one_way)
                self.assertLess(found, one_way + PACKET_S)

    def test_and_otherwise_not_before_it_is_time(self) -> None:
        first = took(pair(1))
        for segments in (2, 10):
            found = took(pair(segments, coalesce="500us"))
            self.assertAlmostEqual(found, first + LOOK_S, delta=PACKET_S)

    def test_so_does_a_sender_with_acks(self) -> None:
        """Two windows: the second half of the ACKs is seen late, and so is what they let go."""
        apart = took(pair(30, coalesce="500us", window=10 * MSS))
        self.assertGreater(apart, 4 * LOOK_S)
        self.assertLess(took(pair(30, window=10 * MSS)), LOOK_S)

    def test_gro_acknowledges_what_comes_at_once(self) -> None:
        alone = {"limit": "4MiB"}
        self.assertAlmostEqual(acks(pair(2000, **alone)), 0.5, delta=0.02)
        # nothing to join, and nobody who joins
        self.assertAlmostEqual(acks(pair(2000, gro=True, **alone)), 0.5, delta=0.02)
        self.assertAlmostEqual(acks(pair(2000, coalesce="50us", **alone)), 0.5, delta=0.02)
        # 41 packets in 50 us
        joined = acks(pair(2000, gro=True, coalesce="50us", **alone))
        self.assertAlmostEqual(joined, 1 / 41, delta=0.01)

    def test_a_super_packet_has_64_kb(self) -> None:
        joined = acks(pair(2000, gro=True, coalesce="500us", limit="4MiB"))
        self.assertGreater(joined, 1 / 45)
        self.assertLess(joined, 1 / 35)

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

    def test_several_flows_carry_a_job(self) -> None:
        for stack in ("ns3", "host"):
            table = tcp_pairs(1, "droptail", 0.01)
            table["tcp"] |= {"stack": stack, "limit": 2_000_000}
            table["job"][0]["flows"] = 4
            result = run(table, "reno", iterations=4)
            self.assertEqual(result["jobs"][0]["delivered"], 4 * table["job"][0]["bytes"])
            self.assertAlmostEqual(slowdown(result), 1, delta=0.02)

    def test_each_flow_has_a_window(self) -> None:
        """Ten segments of each at first, so that forty of one take another round trip."""
        table = host(tcp_pairs(1, "droptail"), limit=200_000)
        table["topology"]["delay"] = "2ms"
        first = []
        for flows in (1, 4):
            table["job"][0] |= {"bytes": 40 * MSS, "flows": flows}
            job = run(table, "reno", iterations=4)["jobs"][0]
            first.append(job["communication_s"][0])
        self.assertGreater(first[0], first[1] + 0.01)


class Recovery(unittest.TestCase):
    """As of ns-3's hosts, which know the same of it."""

    def test_each_loss_is_sent_again_once(self) -> None:
        for words in ({}, {"tso": "64KiB", "gro": True, "coalesce": "100us"}):
            with self.subTest(words):
                network = run(host(tcp_pairs(2, "droptail"), **words), "reno")["network"]
                self.assertGreater(network["dropped"], 100)
                self.assertLess(abs(network["again"] - network["dropped"]), 20)
                self.assertLess(network["timeouts"], 3)

    def test_a_full_queue_shuts_nobody_out(self) -> None:
        """Not even beside a sender at the link's rate."""
        table = host(tcp_pairs(3, "droptail", 0.03), limit=150_000)
        table["topology"] |= {"rate": "1gbit", "bottleneck": "1gbit", "delay": "67us"}
        table["job"][0] |= {"bytes": 5_000_000, "flows": 4}
        for seed in (1, 2):
            network = run(table, "reno", seed=seed, iterations=16)["network"]
            self.assertGreater(network["dropped"], 1000)
            self.assertLess(network["timeouts"], 8)

    def test_what_is_lost_again_is_found(self) -> None:
        """Retransmissions are lost, too: RACK tells, where nothing else did before a time-out."""
        table = host(tcp_pairs(2, "droptail"), limit=10_000)
        network = run(table, "reno", iterations=12)["network"]
        self.assertGreater(network["dropped"], 1000)
        self.assertLess(network["timeouts"], 4)

    def test_a_probe_finds_what_is_lost_at_the_end(self) -> None:
        """Ten segments leave at once, and the queue has room for six: nothing comes behind them."""
        for stack, cc in (("ns3", "cubic"), ("host", "reno")):
            with self.subTest(stack):
                table = tcp_pairs(1, "droptail")
                table["tcp"] |= {"stack": stack, "limit": 10_000}
                table["topology"]["rate"] = "10gbit"
                table["job"][0] |= {"bytes": 10 * MSS, "compute": "10ms"}
                result = run(table, cc, iterations=4)
                self.assertGreater(result["network"]["dropped"], 0)
                self.assertEqual(result["network"].get("timeouts", 0), 0)
                # a time-out takes 200 ms, an ACK that is delayed 40
                self.assertLess(max(result["jobs"][0]["iterations_s"]), 0.1)

    def test_a_single_segment_waits_for_the_time_out(self) -> None:
        """What a probe cannot tell: the same in Linux, in 200 ms and a round trip."""
        table = host(tcp_pairs(12, "droptail"), limit=10_000)
        table["job"][0] |= {"bytes": MSS, "compute": "10ms", "noise": 0, "stagger": "0s"}
        result = run(table, "reno", iterations=4)
        self.assertGreater(result["network"]["timeouts"], 0)
        took = [took for job in result["jobs"] for took in job["communication_s"] if took > 0.1]
        self.assertGreater(min(took), 0.2)
        self.assertLess(max(took), 0.209)
        # a tick of 8 ms, each host's another one
        self.assertGreater(max(took) - min(took), 2e-3)

    def test_a_time_out_meets_others_phases_not_for_ever(self) -> None:
        """Three iterations of theirs take as long as one: 200 ms."""
        cell = cells.scenario(cells.Cell(25, 50, 8948, 3, (8, 8, 8), 0), 24)
        for seed in (1, 2):
            self.assertTrue(simulate(cell, Run("cubic", seed))["over"])

    def test_marks_replace_losses(self) -> None:
        table = host(tcp_pairs(2, "ecn"), tso="64KiB", gro=True, coalesce="30us")
        plain, ours = (run(table, cc, iterations=16) for cc in ("dctcp", "interleave"))
        for result in (plain, ours):
            self.assertEqual(result["network"]["dropped"], 0)
            self.assertGreater(result["network"]["marked"], 100)
        self.assertLess(slowdown(ours), slowdown(plain) - 0.05)

    def test_small_shares_are_paced(self) -> None:
        """Less than two segments a flow: at once they are a queue, and four times the marks."""
        cell = cells.scenario(cells.Cell(25, 50, 8948, 0, (32, 32), 0), 16)
        for seed in (1, 3):
            self.assertLess(simulate(cell, Run("interleave", seed))["network"]["marked"], 100_000)

    def test_acks_that_wait_behind_data_are_no_queue(self) -> None:
        """Both hosts of a ring send: timestamps tell where the round trip goes."""
        ring = {"workload": "ring", "hosts": 2, "bytes": 1_000_000, "compute": "55ms"}
        for stack, most in (("ns3", 1.15), ("host", 1.09)):
            with self.subTest(stack):
                table = tcp_pairs(1, "droptail")
                table["tcp"]["stack"] = stack
                table["job"] = [{"name": "ring", "noise": 0.02} | ring]
                results = [run(table, "interleave", seed=seed, iterations=16) for seed in (1, 2)]
                self.assertLess(fmean(slowdown(result) for result in results), most)

    def test_agrees_with_ns3(self) -> None:
        """Without offloads, where both are to be alike; Reno, which both have."""
        found = []
        for stack in ("ns3", "host"):
            table = tcp_pairs(2, "droptail")
            table["tcp"]["stack"] = stack
            seeds = [run(table, "reno", seed=seed, iterations=16) for seed in (1, 2, 3)]
            found.append(fmean(slowdown(result) for result in seeds))
        self.assertAlmostEqual(found[1] / found[0], 1, delta=0.08)


class Cells(unittest.TestCase):
    """The command, and what it draws."""

    def test_a_draw_is_the_seeds(self) -> None:
        self.assertEqual(cells.drawn(7), cells.drawn(7))
        self.assertNotEqual(cells.drawn(7)[:8], cells.drawn(8)[:8])
        self.assertEqual(len(set(cells.drawn(7))), 960)

    def test_what_a_cell_runs(self) -> None:
        drops, marks = (cells.Cell(25, 10, MSS, queue, (1,), 0) for queue in (3, 0))
        self.assertEqual(drops.ccs(cells.CCS), ["cubic", "reno", "interleave"])
        self.assertEqual(marks.ccs(["interleave"]), ["dctcp", "interleave"])

    def test_a_table_and_json(self) -> None:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            words = ["alone", "--count", "2", "--cc", "interleave", "--json", file.name]
            command = [HERE / "cells", *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(Path(file.name).read_text(encoding="utf-8"))
        self.assertEqual(len(found), 2)
        base, ours = found[0]["results"]
        self.assertEqual((base["cc"], base["slowdowns"]), ("cubic", [1, 1, 1]))
        self.assertGreater(ours["slowdown"], 0.95)
        self.assertIn("100G 20us 1448 3 BDP 1 fl 8us", done.stdout)
        self.assertIn("interleave: slowdown", done.stdout)
