# SPDX-License-Identifier: GPL-2.0
"""End to end, in some ten seconds: the commands, and what they must answer."""

import json
import os
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from unittest import mock

from mlcclab import shell, topology, vm
from mlcclab.link import parse

HERE = Path(__file__).resolve().parent
LAB = [str(HERE / "mlcc-lab")]
BURST = HERE / "mlcc-burst"
REPOSITORY = HERE.parents[1]
LOADER = REPOSITORY / "build" / "userspace" / "mlcc-bpf" / "mlcc-bpf"
MLCCD = REPOSITORY / "build" / "userspace" / "mlccd" / "mlccd"
SHIM = REPOSITORY / "build" / "userspace" / "nccl-net" / "libnccl-net-mlcc.so"

SCENARIO = """
name = "smoke"
iterations = 12
[link]
rate = "500mbit"
limit = "256KiB"
[[job]]
name = ["a", "b"]
phase_bytes = 2_000_000
compute_ms = 40.0
noise = 0.02
flows = 2
[[flow]]
name = "web"
kind = "short"
bytes = 20_000
every_ms = 50.0
"""

ONE_JOB = """
[[job]]
name = "a"
phase_bytes = 2_000_000
compute_ms = 40.0
start_ms = 100.0
connect_late = true
"""

LINK = """
[link]
rate = "500mbit"
limit = "256KiB"
"""

HALVED = f"""
iterations = 16
{LINK}
[[link.change]]
at_ms = 700.0
rate = "250mbit"
"""

POLICED = """
iterations = 4
[link]
rate = "500mbit"
queue = "policer"
limit = "1MiB"
"""

CLASSES = f"""
iterations = 6
[link]
rate = "500mbit"
queue = "prio"
limit = "256KiB"
coalesce = "30us"
{ONE_JOB}
profile = "mltcp"
[[flow]]
name = "kv"
kind = "conversation"
class = "latency"
bytes = 20_000
every_ms = 10.0
[[flow]]
name = "checkpoint"
kind = "bulk"
class = "background"
"""

RING = f"""
iterations = 4
{LINK}
{ONE_JOB}
pattern = "ring"
hint = "exact"
"""

NET = f"""
transport = "net"
iterations = 4
{LINK}
{ONE_JOB}
flows = 2
"""


def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run mlcc-lab and take what it says."""
    return subprocess.run([*LAB, *arguments], capture_output=True, text=True, check=False)


def lab_namespaces(pid: int) -> list[str]:
    """What a lab with that process id has left behind."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if f"mlcc-lab-{pid:x}" in line]


class Usage(unittest.TestCase):
    """Wrong usage: status 2 and one line."""

    def refused(self, *command: str | Path) -> None:
        """What says so."""
        with self.subTest(command):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_burst(self) -> None:
        job = ["job", "--peer", "127.0.0.1:1", "--bytes"]
        for words in (
            [],
            ["fly"],
            ["recv"],
            ["recv", "--listen", "1.2.3:1"],
            ["job", "--bytes", "1000"],
            [*job, "x"],
            [*job, "16"],
            [*job, "1000", "--restart-ms", "5"],
            [*job, "1000", "--inbound", "1"],
            ["short", *job[1:], "1000"],
            ["short", *job[1:3], "--request", "5"],
            ["short", *job[1:3], "--request", "x:500"],
            ["short", *job[1:3], "--request", "5:16"],
            ["short", *job[1:3], "--request", "5:500", "--bytes", "500"],
        ):
            self.refused(BURST, *words)

    def test_noise(self) -> None:
        """It depends on the seed alone."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            there = f"127.0.0.1:{free.getsockname()[1]}"
        job = [BURST, "job", "--peer", there, "--bytes", "100", "--iterations", "500"]
        job += ["--compute-ms", "1", "--noise", "0.1", "--seed", "5"]
        drawn = []
        with subprocess.Popen([BURST, "recv", "--listen", there]) as receiver:
            for _ in range(2):
                said = subprocess.run(job, capture_output=True, text=True, check=True).stdout
                records = map(json.loads, said.splitlines()[:-1])
                drawn.append([record["compute_ms"] for record in records])
            receiver.terminate()
        self.assertEqual(drawn[0], drawn[1])
        self.assertAlmostEqual(fmean(drawn[0]), 1.0, delta=0.05)
        self.assertAlmostEqual(stdev(drawn[0]), 0.1, delta=0.02)

    def test_lab(self) -> None:
        self.refused(*LAB, "run", "no-such-scenario")
        self.refused(*LAB, "run", "two-equal", "--iterations", "-1")
        builds = f"--builds={REPOSITORY},{REPOSITORY}"
        self.refused(*LAB, "compare", "two-equal", builds, "--cc", "cubic")

    def test_list(self) -> None:
        listed = lab("list").stdout
        for word in ("two-equal", "red", "incompatible"):
            self.assertIn(word, listed)


@unittest.skipUnless(os.geteuid() == 0, "needs root: it makes network namespaces")
@unittest.skipUnless(BURST.exists(), "mlcc-burst is not built: run make")
class EndToEnd(unittest.TestCase):
    """A small scenario under CUBIC, the contract of its JSON, and its picture."""

    report: dict[str, Any]
    picture: bytes
    left: list[str]

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            scenario, output = Path(folder) / "smoke.toml", Path(folder) / "out.json"
            picture = output.with_suffix(".png")
            scenario.write_text(SCENARIO)
            words = ["--cc", "cubic", "--seeds", "3-4", "--json", output, "--plot", picture]
            command = [*LAB, "run", scenario, *words]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
                process.wait()
            if process.returncode:
                raise AssertionError(process.returncode)
            cls.report, cls.picture = json.loads(output.read_text()), picture.read_bytes()
            cls.left = lab_namespaces(process.pid)

    def test_report(self) -> None:
        report = self.report
        self.assertEqual((report["scenario"], report["carrier"]), ("smoke", None))
        self.assertEqual(report["kernel"], os.uname().release)
        (result,) = report["results"]
        self.assertEqual([r["seed"] for r in result["repeats"]], [3, 4])
        self.assertAlmostEqual(
            result["slowdown_mean"], fmean(job["slowdown"] for job in result["jobs"]), delta=0.001
        )
        self.assertTrue(0.5 <= result["jain"] <= 1.0)
        self.assertTrue(0.3 <= result["link"]["utilisation"] <= 1.02)
        flow = result["flows"][0]
        self.assertEqual((flow["name"], flow["kind"], flow["cc"]), ("web", "short", "cubic"))
        self.assertGreater(flow["requests"], 5)
        self.assertTrue(self.picture.startswith(b"\x89PNG\r\n"))
        self.assertEqual(self.left, [], "namespaces")

    def test_jobs(self) -> None:
        for job in self.report["results"][0]["jobs"]:
            self.assertEqual(len(job["iterations_ms"]), 12)
            # 2 MB at 500 Mb/s take 33.5 ms; a busy machine may need longer.
            self.assertGreater(job["isolated_ms"], 73.0)
            self.assertLess(job["isolated_ms"], 90.0)
            self.assertEqual(job["isolated_ms"], job["isolated_cc_ms"])
            self.assertAlmostEqual(
                job["slowdown"], job["mean_ms"] / job["isolated_ms"], delta=0.002
            )
            # at least 12 iterations of 2 MB in a repeat
            self.assertGreater(job["sent_mb"], 23.9)

    def result(self, text: str, cc: str) -> dict[str, Any]:
        """What the lab says of a scenario under one congestion control."""
        with tempfile.TemporaryDirectory() as folder:
            scenario, output = Path(folder) / "one.toml", Path(folder) / "out.json"
            scenario.write_text(text)
            done = lab("run", str(scenario), "--cc", cc, "--quick", "--json", str(output))
            self.assertEqual(done.returncode, 0, done.stderr)
            result: dict[str, Any] = json.loads(output.read_text())["results"][0]
        return result

    @unittest.skipUnless(LOADER.exists() and MLCCD.exists(), "mlcc-bpf or mlccd is not built")
    def test_each_host_of_a_ring_announces(self) -> None:
        self.assertEqual(len(self.result(RING, "mlcc")["jobs"][0]["iterations_ms"]), 4)

    @unittest.skipUnless(LOADER.exists() and MLCCD.exists(), "mlcc-bpf or mlccd is not built")
    @unittest.skipUnless((HERE / "wire.bpf.o").exists(), "wire.bpf.o is not built")
    def test_classes(self) -> None:
        """Behind strict priorities, with moderated interrupts."""
        result = self.result(CLASSES, "mlcc")
        self.assertEqual(len(result["jobs"][0]["iterations_ms"]), 6)
        kv, checkpoint = result["flows"]
        self.assertEqual((kv["class"], checkpoint["class"]), ("latency", "background"))
        self.assertGreater(kv["requests"], 5)
        # 0.9 where both are in the band of jobs that send no DSCP; a busy host has had 0.65
        self.assertLess(kv["harm_mean"], 0.8)

    @unittest.skipUnless((HERE / "wire.bpf.o").exists(), "wire.bpf.o is not built")
    def test_moderation(self) -> None:
        """The ends of the link poll late, and GRO is a hop later."""
        moderated = parse({"rate": "1gbit", "coalesce": "30us"})
        with topology.Topology(moderated, f"{os.getpid():x}m", 1) as made:
            self.assertEqual(made.receiver().namespace, made.sink)
            late = Path("/sys/class/net/core/gro_flush_timeout")
            for end in (made.left, made.right):
                wait_ns = shell.run(["ip", "netns", "exec", end, "cat", str(late)])
                self.assertTrue(1000 <= int(wait_ns) <= 30_000, wait_ns)

    @unittest.skipUnless(SHIM.exists(), "libnccl-net-mlcc is not built")
    def test_network_plugins(self) -> None:
        for cc in ("cubic", "mlcc"):
            with self.subTest(cc):
                job = self.result(NET, cc)["jobs"][0]
                # 2 MB take 33.5 ms
                self.assertEqual(len(job["iterations_ms"]), 4)
                self.assertGreater(min(job["iterations_ms"]), 60.0)
        # whose words the lab has
        nowhere = mock.patch.dict(os.environ, MLCC_NET_CHAIN="/no/such.so")
        with nowhere, self.assertRaisesRegex(AssertionError, "/no/such.so"):
            self.result(NET, "mlcc")

    def test_rate_halves(self) -> None:
        result = self.result(HALVED + ONE_JOB, "cubic")
        job = result["jobs"][0]
        # 2 MB take 33.5 ms, then 67
        self.assertLess(job["isolated_ms"], 90.0)
        self.assertLess(job["iterations_ms"][1], 90.0)
        self.assertGreater(job["iterations_ms"][-1], 100.0)
        self.assertLess(result["link"]["utilisation"], 1.02)

    @unittest.skipUnless((HERE / "wire.bpf.o").exists(), "wire.bpf.o is not built")
    def test_policer(self) -> None:
        result = self.result(POLICED + ONE_JOB, "cubic")
        link = result["link"]
        self.assertGreater(link["drops"], 0)
        self.assertTrue(0.01 < link["utilisation"] < 1.02, link)
        # what is on its way at the end need not be sent again
        self.assertGreater(result["jobs"][0]["retransmits"], 0.5 * link["drops"])

    @unittest.skipUnless(LOADER.exists(), "mlcc-bpf is not built")
    def test_compare(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            scenario, output = Path(folder) / "smoke.toml", Path(folder) / "out.json"
            scenario.write_text(SCENARIO)
            arguments = ["--builds", f"{REPOSITORY},{REPOSITORY}", "--seeds", "3-5"]
            arguments += ["--iterations", "4", "--json", str(output)]
            done = lab("compare", str(scenario), *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(output.read_text())
        self.assertIn(report["verdict"], ("better", "worse", "cannot tell"))
        figures = [row["figure"] for row in report["rows"]]
        wanted = ["slowdown_mean", "slowdown_p99", "retransmits_per_mb", "harm"]
        self.assertEqual(figures, wanted)
        for row in report["rows"]:
            self.assertEqual((len(row["first"]), len(row["second"])), (3, 3))
        first, second = report["scenarios"][0]["results"]
        self.assertEqual((first["build"], second["build"]), ("first", "second"))
        for a, b in zip(first["jobs"], second["jobs"], strict=True):
            self.assertEqual(a["isolated_ms"], b["isolated_ms"])
        self.assertIn("second build", done.stdout.splitlines()[-1])

    def test_interrupt_cleans_up(self) -> None:
        command = [*LAB, "run", "two-equal", "--cc", "cubic", "--quick"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            process.stderr.readline()  # the first line of progress: it runs
            process.terminate()
            process.wait(timeout=20)
            self.assertEqual(process.returncode, 130)
        self.assertEqual(lab_namespaces(process.pid), [])


class Guest(unittest.TestCase):
    """A virtual machine, without one."""

    def test_an_interrupt_waits_until_it_is_stopped(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        runs, stopped, machine = folder / "runs", folder / "stopped", folder / "vm"
        machine.write_text(
            f"#!/bin/sh\ntrap 'kill $!; touch {stopped}' TERM\nsleep 60 & touch {runs}\nwait\n"
        )
        machine.chmod(0o755)
        wait = subprocess.Popen.wait

        def interrupted(process: subprocess.Popen[bytes], *rest: Any) -> int:
            interrupts.stop()
            while not runs.exists():
                time.sleep(0.01)
            raise KeyboardInterrupt

        interrupts = mock.patch.object(subprocess.Popen, "wait", interrupted)
        interrupts.start()
        with mock.patch.object(vm, "VM", machine), self.assertRaises(KeyboardInterrupt):
            vm._execute("6.12", LAB, folder)
        self.assertIs(subprocess.Popen.wait, wait)
        self.assertTrue(stopped.exists())
