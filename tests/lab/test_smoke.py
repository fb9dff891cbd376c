# SPDX-License-Identifier: GPL-2.0
"""End to end, in some ten seconds: the commands, and what they must answer."""

import json
import os
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from unittest import mock

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
name = "a"
phase_bytes = 2_000_000
compute_ms = 40.0
noise = 0.02
flows = 2
[[job]]
name = "b"
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

RING = f"""
iterations = 4
{LINK}
{ONE_JOB}
pattern = "ring"
hint = "exact"
"""

TRACE = f"""
iterations = 6
{LINK}
[[job]]
name = "a"
trace = "gpt-13b-dp"
period_ms = 100.0
duty = 0.6
noise = "measured"
flows = 2
hint = "exact"
"""

NET = f"""
transport = "net"
iterations = 4
{LINK}
[[job]]
name = "a"
phase_bytes = 2_000_000
compute_ms = 40.0
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

    def test_burst(self) -> None:
        for arguments in ([], ["fly"], ["job", "--bytes", "x"], ["recv", "--listen", "1.2.3:1"]):
            with self.subTest(arguments):
                done = subprocess.run([BURST, *arguments], capture_output=True, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.count(b"\n"), 1)

    def refused(self, *arguments: str) -> None:
        """Status 2, and one line that says why."""
        with self.subTest(arguments):
            done = lab(*arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_run(self) -> None:
        self.refused("run", "no-such-scenario")
        self.refused("run", "two-equal", "--cc", "cubic,,reno")
        self.refused("run", "two-equal", "--iterations", "-1")

    def test_seeds(self) -> None:
        for words in ("5-3", "5", "1-1001", "-1-3", "a-b"):
            self.refused("run", "two-equal", f"--seeds={words}")
        self.refused("run", "two-equal", "--seeds=1-2", "--repeat=2")

    def test_compare(self) -> None:
        self.refused("compare", "two-equal", f"--builds={REPOSITORY},{REPOSITORY}", "--cc", "cubic")

    def test_restart(self) -> None:
        words = ["job", "--peer", "127.0.0.1:1", "--bytes", "1000", "--restart-ms"]
        for value, said in (("5", b"--hint"), ("0", b"--restart-ms"), ("x", b"--restart-ms")):
            done = subprocess.run([BURST, *words, value], capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), value)
            self.assertIn(said, done.stderr)

    def test_steps(self) -> None:
        words = ["job", "--peer", "127.0.0.1:1"]
        for more, said in (
            (["--step", "5"], b"--step: '5' is not MS:BYTES"),
            (["--overlap", "x:500"], b"--overlap: 'x': a number"),
            (["--overlap", "5:16"], b"needs more than 16 bytes"),
            (["--step", "5:0"], b"--step: none of them sends"),
            (["--step", "5:500", "--bytes", "500"], b"not together with --bytes"),
            (
                ["--step", "5:500", "--listen", "127.0.0.1:1", "--inbound", "1"],
                b"not together with --inbound",
            ),
            (["--bytes", "500", "--noise", "0.1", "--lognormal", "0.1"], b"--lognormal: not"),
        ):
            done = subprocess.run([BURST, *words, *more], capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), more)
            self.assertIn(said, done.stderr)

    def test_list(self) -> None:
        listed = lab("list").stdout
        for word in ("two-equal", "netem", "incompatible"):
            self.assertIn(word, listed)


@unittest.skipUnless(BURST.exists(), "mlcc-burst is not built: run make")
class Iterations(unittest.TestCase):
    """What mlcc-burst makes of steps and noise; what it draws depends on the seed alone."""

    def iterations(self, count: int, *words: str) -> list[dict[str, Any]]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            there = f"127.0.0.1:{free.getsockname()[1]}"
        with subprocess.Popen([BURST, "recv", "--listen", there]) as receiver:
            job = [BURST, "job", "--peer", there, "--iterations", str(count), *words]
            said = subprocess.run(job, capture_output=True, text=True, check=True).stdout
            receiver.terminate()
        records = [json.loads(line) for line in said.splitlines()]
        return [record for record in records if "iteration" in record]

    def test_steps(self) -> None:
        words = ["--step", "2:5000", "--overlap", "1:3000", "--overlap", "1:4000", "--step", "3:0"]
        for record in self.iterations(3, *words):
            self.assertEqual((record["bytes"], record["compute_ms"]), (12_000, 7.0))
            total = record["compute_ms"] + record["comm_ms"]
            self.assertAlmostEqual(record["iteration_ms"], total, places=2)

    def test_noise(self) -> None:
        for option, spread in (("--noise", 0.1), ("--lognormal", 0.1), ("--lognormal", 0.8)):
            words = ["--bytes", "100", "--compute-ms", "1", option, str(spread)]
            drawn = [record["compute_ms"] for record in self.iterations(1000, *words)]
            with self.subTest(option, spread=spread):
                self.assertGreater(min(drawn), 0.0)
                self.assertAlmostEqual(fmean(drawn), 1.0, delta=0.1)
                self.assertAlmostEqual(stdev(drawn) / spread, 1.0, delta=0.25)


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
            with subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            ) as process:
                _, errors = process.communicate()
            if process.returncode:
                raise AssertionError(errors)
            cls.report, cls.picture = json.loads(output.read_text()), picture.read_bytes()
            cls.left = lab_namespaces(process.pid)

    def test_head(self) -> None:
        report = self.report
        self.assertEqual(report["scenario"], "smoke")
        self.assertEqual(report["kernel"], os.uname().release)
        self.assertIsNone(report["carrier"])
        self.assertEqual([result["cc"] for result in report["results"]], ["cubic"])
        self.assertEqual([r["seed"] for r in report["results"][0]["repeats"]], [3, 4])

    def test_jobs(self) -> None:
        for job in self.report["results"][0]["jobs"]:
            self.assertEqual(len(job["iterations_ms"]), 12)
            # 2 MB at 500 Mb/s take 33.5 ms; a busy machine may need longer.
            self.assertGreater(job["isolated_ms"], 73.0)
            self.assertLess(job["isolated_ms"], 90.0)
            self.assertEqual(job["isolated_ms"], job["isolated_cc_ms"])
            self.assertLessEqual(job["p50_ms"], job["p99_ms"])
            self.assertAlmostEqual(
                job["slowdown"], job["mean_ms"] / job["isolated_ms"], delta=0.002
            )
            self.assertIn("converged_at", job)
            self.assertGreaterEqual(job["retransmits"], 0)
            # at least 12 iterations of 2 MB in a repeat
            self.assertGreater(job["sent_mb"], 23.9)

    def test_sums(self) -> None:
        result = self.report["results"][0]
        slowdowns = [job["slowdown"] for job in result["jobs"]]
        self.assertAlmostEqual(result["slowdown_mean"], sum(slowdowns) / 2, delta=0.001)
        self.assertTrue(0.5 <= result["jain"] <= 1.0)
        self.assertTrue(0.3 <= result["link"]["utilisation"] <= 1.02)

    def test_flow(self) -> None:
        flow = self.report["results"][0]["flows"][0]
        self.assertEqual((flow["name"], flow["kind"], flow["cc"]), ("web", "short", "cubic"))
        self.assertGreater(flow["requests"], 5)
        self.assertGreater(flow["p99_ms"], flow["isolated_p50_ms"] * 0.5)

    def test_picture(self) -> None:
        self.assertTrue(self.picture.startswith(b"\x89PNG\r\n"))

    def test_leaves_no_namespace(self) -> None:
        self.assertEqual(self.left, [])

    def one_job(self, link: str) -> dict[str, Any]:
        """What the lab says of a job on such a link."""
        return self.result(link + ONE_JOB, "cubic")

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
    def test_trace(self) -> None:
        job = self.result(TRACE, "mlcc")["jobs"][0]
        self.assertEqual((job["ideal_ms"], len(job["iterations_ms"])), (100.0, 6))
        # of 60 ms on the wire computing hides 40
        self.assertGreater(job["isolated_ms"], 99.0)
        self.assertLess(job["isolated_ms"], 125.0)
        self.assertGreater(job["sent_mb"], 6 * 3.5)
        self.assertLess(job["silent_ms"], 60.0)

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
        result = self.one_job(HALVED)
        job = result["jobs"][0]
        # 2 MB take 33.5 ms, then 67
        self.assertLess(job["isolated_ms"], 90.0)
        self.assertLess(job["iterations_ms"][1], 90.0)
        self.assertGreater(job["iterations_ms"][-1], 100.0)
        self.assertLess(result["link"]["utilisation"], 1.02)

    @unittest.skipUnless((HERE / "wire.bpf.o").exists(), "wire.bpf.o is not built")
    def test_policer(self) -> None:
        result = self.one_job(POLICED)
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
