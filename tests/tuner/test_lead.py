# SPDX-License-Identifier: GPL-2.0
"""mlcc-dcqcn lead: hosts of a job on the loopback, each with a carrier that is only memory."""

import os
import random
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from harness import PROGRAM, Following, wait_for

from fake_carrier import Carrier

HOSTS = ("127.93.0.1", "127.93.0.2", "127.93.0.3")
PORT = 791
JOB = 7
D = 4_000_000  # what a host sends in a phase
ONE = 65536
PARTS = 50
SEND_S, COMPUTE_S = 0.05, 0.1
REPORTS, ANSWERS = 1, 2


def datagram(job: str, kind: int, sent: int, progress: int = 0) -> bytes:
    head = struct.pack("!8s64sQ", b"mlcclead", job.encode(), sent)
    return head + struct.pack("!6I", kind, progress, 0, 0, 0, 0)


class Host:
    """One that sends for the job."""

    def __init__(self, folder: Path, address: str) -> None:
        self.address = address
        self.carrier = Carrier(folder / address)
        self.carrier.add(JOB, "bert")
        self.env = {**os.environ, "MLCC_FAKE": str(self.carrier.path)}

    def lead(self, *words: str, job: str = "bert") -> Following:
        hosts = words or ("--here", self.address, "--port", str(PORT), *HOSTS[:2])
        return Following([str(PROGRAM), "-j", "lead", job, *hosts], self.env)

    def send(self, count: int) -> None:
        self.carrier.jobs[JOB].bytes += count

    @property
    def progress(self) -> float:
        """As it has heard; more than one: neutral, or nothing yet."""
        heard = self.carrier.heard[JOB]
        return heard.progress / ONE if heard.id == JOB else 2.0


@unittest.skipUnless(os.geteuid() == 0, "a port of root's")
class Lead(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.hosts = [Host(Path(folder.name), address) for address in HOSTS[:2]]

    def start(self, host: Host) -> Following:
        following = host.lead()
        self.addCleanup(following.end, signal.SIGKILL)
        following.wait_event("leads" if host is self.hosts[0] else "led")
        return following

    def phase(self) -> None:
        """All hosts, in small parts."""
        for _ in range(PARTS):
            for host in self.hosts:
                host.send(D // PARTS)
            time.sleep(SEND_S / PARTS)
        time.sleep(COMPUTE_S)

    def learn(self) -> None:
        """Until all have been told of a phase that is over, and lasted as long as these do."""

        def knows(host: Host) -> bool:
            heard = host.carrier.heard[JOB]
            long = heard.best_us > SEND_S * 0.5e6 and heard.gap_us > COMPUTE_S * 0.5e6
            return long and 0.98 < host.progress <= 1

        def learnt() -> bool:
            self.phase()
            return all(map(knows, self.hosts))

        wait_for(learnt, "phases that all have been told of")

    def hear(self, progress: float) -> None:
        def near(host: Host) -> bool:
            return abs(host.progress - progress) < 0.02

        wait_for(lambda: all(map(near, self.hosts)), f"a progress of {progress}")

    def test_all_go_by_the_progress_of_the_job(self) -> None:
        """Whoever has sent all of its own is as far as the others."""
        for host in self.hosts:
            self.start(host)
        self.learn()
        self.hosts[1].send(D)
        self.hear(0.5)
        self.hosts[0].send(D // 2)
        self.hear(0.75)

    def test_neutral_until_there_is_an_answer(self) -> None:
        led = self.start(self.hosts[1])
        wait_for(lambda: self.hosts[1].carrier.heard[JOB].id == JOB, "the first word")
        self.assertGreater(self.hosts[1].carrier.heard[JOB].progress, ONE)
        led.wait_event("silent")
        self.start(self.hosts[0])
        led.wait_event("heard")

    def test_a_leader_that_comes_again(self) -> None:
        leader = self.start(self.hosts[0])
        self.start(self.hosts[1])
        self.learn()
        leader.end(signal.SIGKILL)
        self.start(self.hosts[0])
        wait_for(lambda: self.hosts[1].progress > 1, "one that knows nothing")
        self.learn()

    def test_strangers_are_not_heard(self) -> None:
        leader, _ = map(self.start, self.hosts)
        self.learn()
        more = self.hosts[1].carrier.jobs[JOB].bytes + D // 4
        leader.process.send_signal(signal.SIGSTOP)
        for source in ((HOSTS[2], PORT), (HOSTS[1], PORT + 1), (HOSTS[1], 0), (HOSTS[0], 0)):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.bind(source)
                stranger.sendto(datagram("bert", REPORTS, more), (HOSTS[0], PORT))
                stranger.sendto(datagram("bert", ANSWERS, 0, 77), (HOSTS[1], PORT))
        time.sleep(0.05)
        self.assertNotEqual(self.hosts[1].carrier.heard[JOB].progress, 77)
        leader.process.send_signal(signal.SIGCONT)
        self.hosts[1].send(D)
        self.hear(0.5)

    def test_what_makes_no_sense_is_not_heard(self) -> None:
        """From the address and port of a host, whose own lead is not there."""
        leader = self.start(self.hosts[0])
        dice = random.Random(48)
        good = datagram("bert", REPORTS, 5)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host:
            host.bind((HOSTS[1], PORT))
            host.settimeout(5)
            for bad in (b"", good[:-1], good + b"\0", datagram("bart", REPORTS, 5)):
                host.sendto(bad, (HOSTS[0], PORT))
            for kind in (0, ANSWERS, 3, 1 << 31):
                host.sendto(datagram("bert", kind, 5), (HOSTS[0], PORT))
            for _ in range(200):
                host.sendto(dice.randbytes(len(good)), (HOSTS[0], PORT))
            for sent in (6, 1 << 63, (1 << 64) - 1, 0, 7):
                host.sendto(datagram("bert", REPORTS, sent), (HOSTS[0], PORT))
                answer = host.recv(1000)
                self.assertEqual(len(answer), len(good))
                self.assertEqual(answer[72:84], struct.pack("!QI", sent, ANSWERS))
        self.assertIsNone(leader.process.poll())

    def test_it_ends_with_the_job(self) -> None:
        leader, led = map(self.start, self.hosts)
        self.hosts[1].carrier.remove(JOB)
        led.wait_event("end")
        self.assertEqual(led.process.wait(30), 0)
        self.assertIsNone(leader.process.poll())
        self.assertEqual(leader.end(), 0)

    def refused(self, line: str, *words: str, job: str = "bert", found: bool = False) -> int:
        """Before the job was found, or after."""
        done = subprocess.run(
            [str(PROGRAM), "lead", job, *words],
            env=self.hosts[0].env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertIn(line, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(self.hosts[0].carrier.heard[JOB].id == JOB, found)
        return done.returncode

    def test_a_port_that_is_taken(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind((HOSTS[0], PORT))
            words = ("--here", HOSTS[0], "--port", str(PORT), *HOSTS)
            self.assertEqual(self.refused("--port takes another one", *words, found=True), 1)

    def test_words_that_make_no_sense(self) -> None:
        here = ("--here", HOSTS[0])
        statuses = {
            self.refused("2 to 256 HOSTs", HOSTS[0]),
            self.refused("none of the hosts", HOSTS[1], HOSTS[2]),
            self.refused("none of the hosts", "--here", HOSTS[2], *HOSTS[:2]),
            self.refused("have one address", *here, HOSTS[0], HOSTS[1], HOSTS[0]),
            self.refused("--port", *here, "--port", "1024", *HOSTS[:2]),
            self.refused("--cadence", *here, "--cadence", "17ms", *HOSTS[:2]),
            self.refused("at most 63", *here, *HOSTS[:2], job="b" * 64),
        }
        self.assertEqual(len(statuses), 1)
        self.refused("no job 'bart'", *here, *HOSTS[:2], job="bart")
