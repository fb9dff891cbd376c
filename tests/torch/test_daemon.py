# SPDX-License-Identifier: GPL-2.0
"""Hints against the real mlccd, whose carrier is only memory: what arrives there."""

import contextlib
import os
import time
import unittest
from typing import Any
from unittest import mock

import common  # noqa: F401  (finds the package)
from memory_mlccd import JobCase, missing_for_a_job, until
from mlcc_client import Client
from mlcc_torch import hints
from mlcc_torch.hints import Hints


@unittest.skipIf(missing_for_a_job(), missing_for_a_job())
class RealDaemon(JobCase):
    def hints(self, job: str = "bert") -> Hints:
        # however busy the machine is
        with mock.patch.object(hints, "ATTACH_MS", 10_000):
            made = Hints(str(self.mlccd.socket), job)
        self.addCleanup(made.close)
        return made

    def phases(self, count: int) -> dict[str, Any]:
        until(lambda: self.mlccd.job("bert")["phases"] >= count, f"{count} phases")
        return self.mlccd.job("bert")

    def phase(self, ranks: list[Hints], number: int, size: int) -> int:
        """The bytes that mlccd makes of what these processes say of a phase."""
        for made in ranks:
            made.phase_start(size)
        job = self.phases(number)
        self.assertEqual(job["phases"], number)
        for made in ranks:
            made.phase_end()
        until(lambda: self.mlccd.job("bert")["neutral"], "the end of the phase")
        return int(job["d_phase_bytes"])

    def test_passes_of_two_processes(self) -> None:
        """They alternate, and whoever is first speaks for both."""
        ranks = [self.hints(), self.hints()]
        for number, size in enumerate((100, 300, 900, 100, 300, 900, 850), 1):
            # of the first phase the second part was not known, and of the last one, which is as
            # the one before but for little, it is taken to be as it was
            wanted = {1: 100, 7: 1750}.get(number, 2 * size)
            self.assertEqual(self.phase(ranks, number, size), wanted)
            ranks.reverse()

    def test_two_models_take_turns(self) -> None:
        """Each is announced by what it has sent itself, with all of its processes."""
        models = {size: [self.hints(), self.hints()] for size in (1000, 800)}
        for number, (size, ranks) in enumerate([*models.items()] * 4, 1):
            found = self.phase(ranks, number, size)
            self.assertTrue(number <= 2 or found == 2 * size, (number, found))

    def test_a_plan_arrives(self) -> None:
        made = self.hints()
        shift = {"job": "bert", "period_us": 60_000_000, "offset_us": 0}
        with mock.patch.object(hints.time, "sleep") as sleep:
            made.wait_for_slot()
            self.assertEqual(sleep.call_count, 0)
            # half a minute from now: neither in its slot nor nearly there
            shift["offset_us"] = (time.time_ns() // 1000 + 30_000_000) % 60_000_000
            self.mlccd.ask({"op": "set-plan", "jobs": [shift]})
            self.assertEqual(self.mlccd.job("bert")["shift_state"], "none")
            made.wait_for_slot()
        (waited,) = sleep.call_args.args
        self.assertTrue(0 < waited <= 30, waited)
        shown = self.mlccd.job("bert")
        self.assertEqual((shown["shift_state"], shown["shift_waits"]), ("held", 1))
        self.assertLess(shown["shift_error_us"], 0)

    def test_the_job_of_the_own_cgroup(self) -> None:
        (inner := self.cgroup / "inner").mkdir()
        child = os.fork()
        if not child:
            status = 1
            with contextlib.suppress(BaseException):
                (inner / "cgroup.procs").write_text("0")
                made = Hints(str(self.mlccd.socket), "")
                made.phase_start(4242)
                status = 0 if made.linked else 2
                until(lambda: self.mlccd.job("bert")["phases"], "the phase")
            os._exit(status)
        _, status = os.waitpid(child, 0)
        inner.rmdir()
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        self.assertEqual(self.mlccd.job("bert")["d_phase_bytes"], 4242)

    def test_more_jobs_than_fit_a_page(self) -> None:
        cgroups = [self.cgroup.with_name(f"{self.cgroup.name}-{n}") for n in range(100)]
        for number, cgroup in enumerate(cgroups):
            cgroup.mkdir()
            self.addCleanup(cgroup.rmdir)
            self.set_job(f"n{number}", cgroup)
        with Client(self.mlccd.socket) as client:
            names = [job["name"] for job in client.jobs()]
        self.assertEqual(sorted(names), sorted(["bert", *(f"n{n}" for n in range(100))]))

    def test_it_is_killed_and_starts_again(self) -> None:
        made = self.hints()
        made.phase_start(5)
        self.phases(1)
        self.mlccd.kill()
        with self.assertLogs("mlcc_torch", "WARNING") as logs:
            for _ in range(1000):
                made.phase_start(6)
                made.phase_end()
        self.assertEqual(len(logs.output), 1, logs.output)
        self.mlccd.start()

        def linked() -> bool:
            made.phase_start(7)
            return made.linked

        until(linked, "a new ring")
        made.phase_start(8)
        until(lambda: self.mlccd.job("bert")["d_phase_bytes"] == 8, "a hint after the restart")
        self.assertEqual(self.mlccd.ask({"op": "status"})["ring_records_bad"], 0)
