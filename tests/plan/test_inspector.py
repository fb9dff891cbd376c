# SPDX-License-Identifier: GPL-2.0
"""profile --inspector: logs of NCCL's Inspector, made up as its README shows them."""

import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import Json
from mlccplan import inspector, profile
from mlccplan.errors import PlanError
from mlccplan.traffic import Traffic

BEGAN_US = 1_748_030_377_000_000
GBS = 50  # GB/s on the bus


def record(end_us: float, took_us: float, size: int = 1 << 30, **perf: Any) -> Json:
    """One collective of a rank."""
    return {
        "header": {"id": "0x7f8c496ae9f661", "rank": 2, "n_ranks": 8, "nnodes": 1},
        "metadata": {
            "inspector_output_format_version": "v4.0",
            "dump_timestamp_us": BEGAN_US + end_us,
            "hostname": "a",
            "pid": 4711,
        },
        "coll_perf": {
            "coll": "AllReduce",
            "coll_sn": 1,
            "coll_msg_size_bytes": size,
            "coll_exec_time_us": took_us,
            "coll_algobw_gbs": 28.5,
            "coll_busbw_gbs": GBS,
            **perf,
        },
    }


def iterations(count: int = 40) -> list[Json]:
    """Of 250 ms, with collectives of 40, 40 and 20 ms; in each fourth iteration half more."""
    found = []
    for index in range(count):
        end, longer = 250_000.0 * index, 1 if index % 4 else 1.5
        for took, size in ((40_000, 1 << 30), (40_000, 1 << 30), (20_000, 1 << 29)):
            end += took * longer
            found.append(record(end, took * longer, size, coll_busbw_gbs=GBS / longer))
    return found


class Inspector(unittest.TestCase):
    """What a log shows."""

    def setUp(self) -> None:
        self.path = Path(self.enterContext(TemporaryDirectory())) / "log"

    def read(self, text: str) -> Traffic:
        self.path.write_text(text, encoding="utf-8")
        return inspector.read(str(self.path))

    def test_iterations_and_how_much_longer_collectives_took(self) -> None:
        for separator, indent in (("\n", None), ("\n\n", 2), ("", None)):
            log = separator.join(json.dumps(one, indent=indent) for one in iterations())
            found = profile.of_job("bert", self.read(log), 0.001)["profiles"][0]
            self.assertTrue(found["periodic"], found)
            self.assertAlmostEqual(found["period_ms"], 250, delta=1)
            self.assertAlmostEqual(found["bytes_per_iteration"] / (GBS * 1e8), 1, delta=0.03)
            # 0.5 of 4.5
            self.assertRegex(found["notes"][0], "^11 % of the time of collectives is beyond")

    def test_a_log_that_is_being_written(self) -> None:
        whole = "\n".join(json.dumps(one) for one in iterations(4))
        self.assertEqual(len(self.read(whole[:-20]).seconds), len(self.read(whole).seconds) - 40)

    def test_too_few_to_compare(self) -> None:
        notes = self.read("\n".join(json.dumps(one) for one in iterations(2))).notes
        self.assertRegex(notes[0], "^no collective ran 5 times")

    def test_what_is_no_such_log_is_refused(self) -> None:
        good = record(0, 1000)
        for wrong, why in (
            ({"a": 1}, "record 2: no coll_perf and metadata"),
            ([1], "record 2: no coll_perf"),
            ({**good, "coll_perf": 5}, "record 2: no coll_perf"),
            (record(0, -1), "record 2: coll_exec_time_us: -1: a number"),
            (record(0, 1, coll_busbw_gbs="x"), "coll_busbw_gbs: 'x': a number"),
            (record(0, 1, coll_msg_size_bytes=True), "coll_msg_size_bytes"),
        ):
            with self.assertRaisesRegex(PlanError, why):
                self.read("\n".join(map(json.dumps, (good, wrong, good))))
        for text in ("x\n" * 3, "[" * 100_000 + "\n", json.dumps(good) + "\n\0\n{}\n", ""):
            with self.assertRaises(PlanError) as caught:
                self.read(text)
            self.assertTrue(str(caught.exception).isprintable(), text[:40])

    def test_what_would_not_fit_into_memory_is_refused(self) -> None:
        long = json.dumps(record(0, 1e9))
        with self.assertRaisesRegex(PlanError, "are too many"):
            self.read("\n".join([long] * 30))
