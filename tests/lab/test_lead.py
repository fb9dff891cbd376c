# SPDX-License-Identifier: GPL-2.0
"""Jobs of several hosts with a leader: what its hosts are told, and where."""

import os
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from mlcclab import cluster, experiment, lead, options, runner, scenario, shell
from mlcclab.errors import LabError
from mlcclab.topology import Host

SHIPPED = Path(__file__).parent / "scenarios"


def workers(count: int) -> list[cluster.Worker]:
    """Hosts of a job, the leader first."""
    hosts = [Host(f"lead-{os.getpid()}-{i}", (f"10.16.{i}.2",), mock.Mock()) for i in range(count)]
    return [cluster.Worker(host, 5 + i, 0, None) for i, host in enumerate(hosts)]


def namespace() -> int:
    """That this thread is in."""
    return Path("/proc/thread-self/ns/net").stat().st_ino


class Lead(unittest.TestCase):
    """mlcc+led."""

    def setUp(self) -> None:
        self.scenario = scenario.load(SHIPPED / "verbs-hosts.toml")

    def test_each_host_has_the_same_words(self) -> None:
        """The number of the job, and all hosts."""
        found = workers(3)
        made = lead.commands(self.scenario.jobs[0], found)
        namespaces = [worker.host.namespace for worker in found]
        self.assertEqual([command.namespace for command in made], namespaces)
        for command in made:
            words = ["-j", "lead", "5", "10.16.0.2", "10.16.1.2", "10.16.2.2"]
            self.assertEqual(command.arguments, [*words, "--cadence", lead.CADENCE])
        # its own progress is the job's
        self.assertEqual(lead.commands(self.scenario.jobs[0], workers(1)), [])

    def test_queue_pairs_are_of_the_job_that_is_led(self) -> None:
        """Which has one number on all of its hosts."""
        for cc, numbers in (("mlcc+led", [5, 5]), ("mlcc", [5, 6]), ("dcqcn", [0, 0])):
            found = workers(2)
            some: Any = SimpleNamespace(workers={"a": found, "b": []})
            plan = runner.Plan(cc, self.scenario.jobs, [], 4, 1)
            runner.Runner(some, mock.Mock(), plan, 1.0, "verbs")._assign_devices()
            devices: list[Any] = [worker.host.device for worker in found]
            said = [device.belongs_to.call_args.args[0] for device in devices]
            self.assertEqual(said, numbers, cc)

    def test_only_over_verbs(self) -> None:
        """Sockets have no leader."""
        tcp = scenario.load(SHIPPED / "two-equal.toml")
        with self.assertRaisesRegex(LabError, r"two-equal: \+led is for transport = verbs"):
            experiment.check_kernel(tcp, options.cc_list("cubic,mlcc+led"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root: it makes a network namespace")
    def test_the_job_is_set_on_each_host(self) -> None:
        """As the same one, and then the lab is where it was."""
        found = workers(2)
        carrier, asked = mock.Mock(), list[tuple[object, ...]]()
        carrier.set_job = lambda *words: asked.append((namespace(), *words))
        before = namespace()
        for worker in found:
            shell.run(["ip", "netns", "add", worker.host.namespace])
            self.addCleanup(shell.run, ["ip", "netns", "del", worker.host.namespace])
        lead.set_job(carrier, self.scenario.jobs[0], found)
        there = [Path("/run/netns", worker.host.namespace).stat().st_ino for worker in found]
        self.assertEqual(asked, [(inode, 5, "") for inode in there])
        self.assertEqual(namespace(), before)
