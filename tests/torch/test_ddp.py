# SPDX-License-Identifier: GPL-2.0
"""DistributedDataParallel over Gloo, ranks in a network namespace of their own.

Every rank plays a host: it has a job of its own, and announces it.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import common
from common import TIMEOUT_S, no_torch
from fake_mlccd import END, START, Listener
from memory_mlccd import JobCase, missing_for_a_job

WORKER = Path(__file__).with_name("worker.py")
ITERATIONS = 8


def missing() -> str:
    if reason := no_torch():
        return reason
    if os.geteuid():
        return "needs root: it makes a network namespace"
    return "" if shutil.which("ss") and shutil.which("ip") else "needs ip and ss"


class Stopped(common.Rank):
    """A process in a network namespace, and a cgroup, that stands still before an iteration."""

    def __init__(
        self, namespace: str, words: list[str], environment: dict[str, str], cgroup: Path | None
    ) -> None:
        command = ["ip", "netns", "exec", namespace, sys.executable, "-B", str(WORKER), *words]
        if cgroup:
            enter = 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"'
            command = ["sh", "-c", enter, "sh", str(cgroup), *command]
        super().__init__(command, environment)

    def reach(self) -> None:
        """Wait until it stands still."""
        assert self.process.stdout
        while '"at"' not in (line := self.process.stdout.readline()):
            assert line, self.process.communicate(timeout=TIMEOUT_S)[1]
            self.early.append(line)

    @property
    def gradients(self) -> int:
        return next(line["gradients"] for line in self.said if "gradients" in line)

    @property
    def steps(self) -> list[dict[str, Any]]:
        return [line for line in self.said if "iteration" in line]


class Namespace(unittest.TestCase):
    """Runs jobs in a network namespace."""

    def setUp(self) -> None:
        super().setUp()
        self.namespace = f"mlcc-torch-{secrets.token_hex(4)}"
        subprocess.run(["ip", "netns", "add", self.namespace], check=True)
        self.addCleanup(subprocess.run, ["ip", "netns", "del", self.namespace], check=True)
        subprocess.run(["ip", "-n", self.namespace, "link", "set", "lo", "up"], check=True)

    def start(
        self, how: str, ranks: int = 2, socket: Any = "/nonexistent", cgroup: Path | None = None
    ) -> list[Stopped]:
        """All ranks, before iteration 4, each in a cgroup of its own below @cgroup."""
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "lo"}
        shared |= {"MLCC_SOCKET": str(socket), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
        started = []
        for rank in range(ranks):
            own = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "MLCC_JOB": f"rank{rank}"}
            words = [str(ITERATIONS), how, "4"]
            below = cgroup / f"rank{rank}" if cgroup else None
            started.append(Stopped(self.namespace, words, shared | own, below))
            self.addCleanup(started[-1].process.kill)
        for rank in started:
            rank.reach()
        return started

    def finish(self, ranks: list[Stopped]) -> list[Stopped]:
        for rank in ranks:
            rank.process.stdin.write("\n")
            rank.process.stdin.flush()
        for rank in ranks:
            rank.finish()
        return ranks


@unittest.skipIf(missing(), missing())
class Ddp(Namespace):
    def test_one_phase_an_iteration_with_its_bytes(self) -> None:
        jobs = [{"id": 5 + n, "name": f"rank{n}", "cgroup": "x"} for n in range(2)]
        listener = Listener(jobs)
        self.addCleanup(listener.close)
        ours = self.finish(self.start("ours", socket=listener.path))
        plain = self.finish(self.start("plain"))
        self.assertEqual([rank.losses for rank in ours], [rank.losses for rank in plain])
        self.assertEqual(len(set(ours[0].losses)), ITERATIONS)
        self.assertEqual([rank.warnings() for rank in ours], [[], []])

        self.assertEqual(len(listener.rings), 2)
        for ring in listener.rings:
            records = ring.records()
            rank = ours[records[0].job - 5]
            self.assertEqual([r.kind for r in records], [START, END] * (ITERATIONS - 2))
            for start, step in zip(records[::2], rank.steps[2:], strict=True):
                # two ranks: each sends its gradients once
                self.assertLess(abs(start.bytes - rank.gradients), 0.02 * rank.gradients)
                self.assertLess(abs(step["sent"] - start.bytes), 0.02 * start.bytes, step)

    def test_the_same_losses_whatever_the_number_of_ranks_and_buckets(self) -> None:
        """Without mlccd, too: 1 / 3 is where multiplying and dividing would differ."""
        for ours, plain in (("ours", "plain"), ("view", "view-plain")):
            with self.subTest(ours):
                with_hook = self.finish(self.start(ours, ranks=3))
                without = self.finish(self.start(plain, ranks=3))
                self.assertEqual([r.losses for r in with_hook], [r.losses for r in without])
                self.assertEqual([len(rank.warnings()) for rank in with_hook], [1] * 3)

    def test_each_of_the_ranks_of_a_host_speaks_for_itself(self) -> None:
        listener = Listener([{"id": 5, "name": "host", "cgroup": "x"}])
        self.addCleanup(listener.close)
        lines = self.torchrun({"MLCC_SOCKET": str(listener.path), "MLCC_JOB": "host"})
        gradients = next(line["gradients"] for line in lines if "gradients" in line)
        self.assertEqual(len(listener.rings), 2)
        for ring in listener.rings:
            starts = [r.bytes for r in ring.records() if r.kind == START]
            self.assertEqual(len(starts), ITERATIONS - 2)
            for size in starts:
                self.assertLess(abs(size - gradients), 0.02 * gradients)
        for number in range(2, ITERATIONS):
            sent = sum(line["sent"] for line in lines if line.get("iteration") == number)
            self.assertLess(abs(sent - 2 * gradients), 0.02 * 2 * gradients)

    def test_of_what_ranks_send_only_what_leaves_their_host(self) -> None:
        """Two hosts of two ranks each: a ring, of which every other connection stays on a host."""
        listeners = [Listener([{"id": 5, "name": "host", "cgroup": "x"}]) for _ in range(2)]
        for listener in listeners:
            self.addCleanup(listener.close)
        hosts = [self.namespace, self.another_host()]
        shared = {"MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "e0"}
        shared |= {"WORLD_SIZE": "4", "MLCC_JOB": "host"}
        ranks = []
        for number in range(4):
            own = {"RANK": str(number), "MLCC_SOCKET": str(listeners[number // 2].path)}
            words = [str(ITERATIONS), "ours", "-1"]
            ranks.append(Stopped(hosts[number // 2], words, shared | own, None))
            self.addCleanup(ranks[-1].process.kill)
        for rank in ranks:
            rank.finish()
        for listener in listeners:
            # of four ranks, each sends its gradients one and a half times
            left = 1.5 * ranks[0].gradients
            starts = [[r for r in ring.records() if r.kind == START] for ring in listener.rings]
            for parts in zip(*starts, strict=True):
                sizes = [part.bytes for part in parts]
                self.assertLess(abs(sum(sizes) - left), 0.02 * left, sizes)

    def another_host(self) -> str:
        """A second namespace, and a link to the first."""
        other = f"{self.namespace}-2"
        subprocess.run(["ip", "netns", "add", other], check=True)
        self.addCleanup(subprocess.run, ["ip", "netns", "del", other], check=True)
        subprocess.run(["ip", "-n", other, "link", "set", "lo", "up"], check=True)
        pair = ["type", "veth", "peer", "name", "e0", "netns", other]
        subprocess.run(["ip", "-n", self.namespace, "link", "add", "e0", *pair], check=True)
        for number, name in enumerate((self.namespace, other), 1):
            address = ["addr", "add", f"10.77.0.{number}/24", "dev", "e0"]
            subprocess.run(["ip", "-n", name, *address], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", "e0", "up"], check=True)
        return other

    def torchrun(self, environment: dict[str, str]) -> list[dict[str, Any]]:
        """Two ranks by torch's own launcher; what both said."""
        command = ["ip", "netns", "exec", self.namespace, sys.executable, "-B"]
        command += ["-m", "torch.distributed.run", "--nproc_per_node", "2"]
        command += ["--rdzv_backend", "static", "--master_addr", "127.0.0.1"]
        with tempfile.TemporaryDirectory(prefix="mlcc-torch-") as logs:
            # the defaults of these are broken in torch 1.13 under Python 3.11
            command += ["--redirects", "1", "--tee", "1", "--log_dir", logs]
            done = subprocess.run(
                [*command, str(WORKER), str(ITERATIONS), "ours", "-1"],
                env=os.environ | environment | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT_S,
            )
            said = [file.read_text(encoding="utf-8") for file in Path(logs).rglob("stdout.log")]
        if "without libuv" in done.stderr:
            self.skipTest("torchrun asks for libuv, which this PyTorch was built without")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for text in said for line in text.splitlines()]


@unittest.skipIf(missing(), missing())
@unittest.skipIf(missing_for_a_job(), missing_for_a_job())
class DaemonIsKilled(Namespace, JobCase):
    def test_training_goes_on(self) -> None:
        for rank in range(2):
            cgroup = self.cgroup / f"rank{rank}"
            cgroup.mkdir()
            self.addCleanup(cgroup.rmdir)
            path = f"{self.cgroup.name}/{cgroup.name}"
            self.mlccd.ask({"op": "set-job", "name": f"rank{rank}", "cgroup": path})
        ours = self.start("ours", socket=self.mlccd.socket, cgroup=self.cgroup)
        phases = [self.mlccd.job(f"rank{rank}")["phases"] for rank in range(2)]
        self.assertEqual(phases, [2, 2])
        self.mlccd.kill()
        self.finish(ours)
        plain = self.finish(self.start("plain"))
        self.assertEqual([rank.losses for rank in ours], [rank.losses for rank in plain])
        self.assertEqual([len(rank.warnings()) for rank in ours], [1, 1])
