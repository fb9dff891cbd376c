# SPDX-License-Identifier: GPL-2.0
"""DistributedDataParallel between two hosts, which are network namespaces."""

import secrets
import subprocess
import tempfile
import unittest

from fake_mlccd import START, Listener
from test_passes import FOLDER, Rank

RANKS = 4


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class Hosts(unittest.TestCase):
    def setUp(self) -> None:
        name = f"mlcc-torch-{secrets.token_hex(4)}"
        self.hosts = [f"{name}-1", f"{name}-2"]
        for host in self.hosts:
            ip("netns", "add", host)
            self.addCleanup(ip, "netns", "del", host)
        pair = ("type", "veth", "peer", "name", "e0", "netns", self.hosts[1])
        ip("-n", self.hosts[0], "link", "add", "e0", *pair)
        for number, host in enumerate(self.hosts, 1):
            ip("-n", host, "addr", "add", f"10.77.0.{number}/24", "dev", "e0")
            for device in ("lo", "e0"):
                ip("-n", host, "link", "set", device, "up")

    def test_of_what_ranks_send_only_what_leaves_their_host(self) -> None:
        """Two hosts of two ranks each: a ring, of which every other connection stays on a host."""
        listeners = [Listener([{"id": 5, "name": "host", "cgroup": "x"}]) for _ in self.hosts]
        for listener in listeners:
            self.addCleanup(listener.close)
        ranks = []
        with tempfile.TemporaryDirectory(prefix="mlcc-torch-") as folder:
            for number in range(RANKS):
                listener = listeners[number // 2]
                words = [str(FOLDER / "pass_worker.py"), "ddp", "ours", f"{folder}/meet"]
                own = {"MLCC_SOCKET": str(listener.path), "MLCC_JOB": "host"}
                own |= {"GLOO_SOCKET_IFNAME": "e0"}
                inside = ["ip", "netns", "exec", self.hosts[number // 2]]
                ranks.append(Rank([*words, str(number), str(RANKS)], own, inside))
                self.addCleanup(ranks[-1].process.kill)
            for rank in ranks:
                rank.finish()
        # each sends its gradients one and a half times
        left = 1.5 * ranks[0].gradients
        for listener in listeners:
            starts = [[r for r in ring.records() if r.kind == START] for ring in listener.rings]
            self.assertGreaterEqual(len(starts[0]), 3)
            for parts in zip(*starts, strict=True):
                sizes = [part.bytes for part in parts]
                self.assertLess(abs(sum(sizes) - left), 0.02 * left, sizes)
