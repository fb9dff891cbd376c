# SPDX-License-Identifier: GPL-2.0
"""The class of a job, and checkpoints, against the real mlccd, whose carrier is only memory."""

import multiprocessing
import os
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import common  # noqa: F401  (finds the package)
import mlcc_torch
from memory_mlccd import JobCase, missing_for_a_job, until
from mlcc_torch.traffic import PART


def place(task: str = "thread-self") -> str:
    """The last part of a thread's cgroup."""
    return Path(f"/proc/{task}/cgroup").read_text().strip().rsplit("/", 1)[-1]


@unittest.skipIf(missing_for_a_job(), missing_for_a_job())
class Traffic(JobCase):
    def in_job(self, function: Callable[[], object], socket: str = "") -> None:
        """A process of the job does it."""

        def inside() -> None:
            os.environ["MLCC_SOCKET"] = socket or str(self.mlccd.socket)
            (self.cgroup / "cgroup.procs").write_text("0")
            function()

        child = multiprocessing.get_context("fork").Process(target=inside)
        child.start()
        child.join()
        if (part := self.cgroup / PART).exists():
            until(lambda: "populated 0" in (part / "cgroup.events").read_text(), "its end")
            part.rmdir()
        self.assertEqual(child.exitcode, 0)

    def warns_once(self, does: Callable[[], object], text: str) -> None:
        with self.assertLogs("mlcc_torch", "WARNING") as logs:
            does()
        self.assertEqual((len(logs.output), text in logs.output[0]), (1, True), logs.output)

    def test_the_job_gets_the_class(self) -> None:
        self.set_job("bert", self.cgroup, id=7, skip="2049", phase_bytes=1000)
        self.in_job(lambda: mlcc_torch.job(class_="background"))
        job = self.mlccd.job("bert")
        self.assertEqual((job["id"], job["class"], job["skip"]), (7, "background", "2049"))
        text = "training, latency or background"
        self.in_job(lambda: self.warns_once(lambda: mlcc_torch.job(class_="bulk"), text))

    def writes(self, of_main: str) -> None:
        """In a checkpoint in a checkpoint, of which an error is one of training's."""
        with self.assertRaises(KeyError), mlcc_torch.checkpoint(), mlcc_torch.checkpoint():
            with ThreadPoolExecutor(1) as pool:
                self.assertEqual((place(), pool.submit(place).result()), (PART, PART))
            self.assertEqual(place(f"self/task/{os.getpid()}"), of_main)
            jobs = self.mlccd.ask({"op": "show"})["jobs"]
            self.assertEqual({j["class"] for j in jobs if PART in j["cgroup"]}, {"background"})
            raise KeyError
        self.assertEqual(place(), self.cgroup.name)

    def test_a_checkpoint_is_background(self) -> None:
        self.in_job(lambda: self.writes(PART))
        pool = ThreadPoolExecutor(1)
        self.in_job(lambda: pool.submit(self.writes, self.cgroup.name).result())

    def test_without_mlccd_or_cgroup_there_is_one_warning(self) -> None:
        stays = mlcc_torch.checkpoint()(lambda: self.assertEqual(place(), self.cgroup.name))
        thrice = lambda: self.warns_once(lambda: [stays(), stays(), stays()], "as training is")  # noqa: E731
        self.in_job(thrice, "/nonexistent/mlccd.sock")
        with mock.patch.object(Path, "mkdir", side_effect=PermissionError(13, "no")):
            self.in_job(thrice)
