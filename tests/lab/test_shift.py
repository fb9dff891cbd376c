# SPDX-License-Identifier: GPL-2.0
"""mlcc-burst and mlccd: a phase begins in its slot, by a clock that may be wrong."""

import json
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from memory_mlccd import JobCase, missing_for_a_job  # noqa: E402  (needs the path above)

BURST = HERE / "mlcc-burst"
WAIT_S = 60.0
TRIES = 5
PERIOD_US = 300_000
COMPUTE_MS = 150
ITERATIONS = 6
# what a busy machine may oversleep, of a period of 300 ms
LATE_MS = 60.0
# loopback of its own, so root there is none of mlccd's network, and has to be in the job's cgroup;
# the receiver ends with the namespace's last process
SCRIPT = """
echo $$ >"$1/cgroup.procs" && shift && ip link set lo up || exit
"$0" recv --listen 127.0.0.1:5000 >/dev/null &
"$0" job --peer 127.0.0.1:5000 "$@"
status=$?
kill $!
exit $status
"""


def missing() -> str:
    """Why this cannot run here, or nothing."""
    if not BURST.exists():
        return f"{BURST.name} is not built: make -C tests/lab"
    return missing_for_a_job()


@unittest.skipIf(missing(), missing())
class Slots(JobCase):
    """A job of its own namespace, and an mlccd whose carrier is only memory."""

    def job(self, clock_ms: int) -> list[dict[str, Any]]:
        words = ["--bytes", "100000", "--compute-ms", str(COMPUTE_MS), "--clock-ms", str(clock_ms)]
        words += [
            "--iterations",
            str(ITERATIONS),
            "--hint",
            str(self.mlccd.socket),
            "--hint-job",
            "7",
        ]
        done = subprocess.run(
            ["unshare", "--net", "sh", "-c", SCRIPT, str(BURST), str(self.cgroup), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_S,
        )
        self.assertEqual(done.returncode, 0, done)
        records = [json.loads(line) for line in done.stdout.splitlines()]
        return [record for record in records if "iteration" in record]

    def plan(self, turn: int) -> int:
        """A slot in the period after the first phase would begin, in each turn another one.

        The job's own clock may be such that its start-up takes it into one of them, each time.
        """
        wanted_us = time.time_ns() // 1000 + COMPUTE_MS * 1000 + PERIOD_US // 2
        wanted_us += turn * PERIOD_US // TRIES
        offset_us = wanted_us % PERIOD_US
        shift = {"job": 7, "period_us": PERIOD_US, "offset_us": offset_us}
        self.mlccd.ask({"op": "set-plan", "jobs": [shift]})
        return offset_us

    def late_ms(self, record: dict[str, Any], offset_us: int, clock_ms: int) -> float:
        """How long after the slot, by the job's own clock, its phase began."""
        sent_ns = record["start_ns"] + (record["compute_ms"] + record["delay_ms"]) * 1e6
        epoch_ns = time.time_ns() - time.monotonic_ns() + clock_ms * 1_000_000
        return ((sent_ns + epoch_ns) / 1e6 + 1 - offset_us / 1e3) % (PERIOD_US / 1e3) - 1

    def test_without_a_plan_nothing_waits(self) -> None:
        self.assertEqual([record["delay_ms"] for record in self.job(0)], [0] * ITERATIONS)
        self.assertNotIn("shift_state", self.mlccd.job(7))

    def test_a_phase_begins_in_its_slot(self) -> None:
        for clock_ms in (0, 37, -5000):
            with self.subTest(clock_ms=clock_ms):
                self.check(clock_ms)

    def check(self, clock_ms: int) -> None:
        for turn in range(TRIES):
            offset_us = self.plan(turn)
            records = self.job(clock_ms)
            waited = [record for record in records if record["delay_ms"]]
            self.assertLessEqual(len(waited), 1, records)
            for record in waited:
                self.assertLess(record["delay_ms"], PERIOD_US / 1e3, record)
            late_ms = self.late_ms(waited[0], offset_us, clock_ms) if waited else PERIOD_US / 1e3
            # in its slot by chance, or held up by something else: once more
            if late_ms < LATE_MS:
                return
        self.fail(f"none of {TRIES} jobs began in its slot; the last {late_ms} ms after it")
