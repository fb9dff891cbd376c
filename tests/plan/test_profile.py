# SPDX-License-Identifier: GPL-2.0
"""profile: what comes out of traffic is what was put into it."""

import csv
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import synthetic
from common import Json, on_one_link, program
from mlccplan import counters, cycle, delimited, profile, traffic
from mlccplan.errors import PlanError
from mlccplan.expect import Step
from mlccplan.traffic import Traffic
from synthetic import Edge, Frame, Training, capture_of, host, pcap, profiled

PERIOD, NBYTES = 0.01, 0.02  # how far off they may be
# Coefficients of variation of iterations: the lab's, and the lower quantiles of a production
# cluster's (alibaba/clusterdata, cluster-trace-gpu-v2020): 25 %, 50 % and 60 %. Beyond 65 % (0.2)
# iterations are about as regular as random arrivals.
VARIATIONS = (0.02, 0.0508, 0.0935, 0.1353)
PATTERNS = {
    "ring": synthetic.ring(4),
    "tree": synthetic.tree(7),
    "star": synthetic.star(5),
    "clique": synthetic.clique(4),
    "parameter-server": synthetic.servers(4, 1),
    "pair": synthetic.pair(),
}


def trace(seconds: np.ndarray, nbytes: np.ndarray) -> Traffic:
    """One job's, without peers."""
    columns = (seconds, nbytes, nbytes, np.zeros(len(seconds)))
    return traffic.ordered("trace", columns, "trace", "trace")


def found_in(seconds: np.ndarray, nbytes: np.ndarray) -> Json:
    """The job of a trace, for a problem."""
    return profile.of_job("j", trace(seconds, nbytes), 0.001)["jobs"][0]


class Captures(unittest.TestCase):
    """Period, bytes and pattern of synthetic captures, and that random traffic is said to be so."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def agrees(self, found: Json, job: Training) -> None:
        self.assertTrue(found["periodic"], found)
        self.assertGreaterEqual(found["confidence"], cycle.PERIODIC)
        self.assertAlmostEqual(found["period_ms"] / job.mean_ms, 1, delta=PERIOD)
        self.assertAlmostEqual(found["bytes_per_iteration"] / job.nbytes, 1, delta=NBYTES)

    def test_patterns(self) -> None:
        for number, (name, edges) in enumerate(PATTERNS.items()):
            for variation in VARIATIONS:
                with self.subTest(pattern=name, variation=variation):
                    job = Training(edges, variation=variation, seed=number)
                    found = profiled(job.frames())
                    self.agrees(found, job)
                    self.assertEqual(found["pattern"], name, found["basis"])
                    if name == "ring":
                        self.assertAlmostEqual(found["duty"], 0.2, delta=0.02)
                    self.assertAlmostEqual(found["variation"], variation, delta=variation / 2)

    def test_other_shapes_of_patterns(self) -> None:
        """Rings both ways, several servers, and what has no name."""
        both = [*synthetic.ring(5), *(Edge(b, a) for a, b, *_ in synthetic.ring(5))]
        odd = [*synthetic.ring(5), Edge(host(0), host(2))]
        for edges, name in (
            (both, "ring"),
            (synthetic.servers(3, 2), "parameter-server"),
            (odd, "unknown"),
        ):
            job = Training(edges)
            found = profiled(job.frames())
            self.agrees(found, job)
            self.assertEqual(found["pattern"], name, found["basis"])

    def test_one_host_of_many(self) -> None:
        """Its own capture does not show what the others do, so it says nothing of a pattern."""
        for name in ("ring", "tree", "clique"):
            job = Training(PATTERNS[name])
            frames = [frame for frame in job.frames() if host(1) in (frame.sender, frame.receiver)]
            found = profiled(frames)
            self.assertEqual(found["pattern"], "unknown", name)
            self.assertIn(f"one host, which sends to {1 if name == 'ring' else 3}", found["basis"])
            self.assertAlmostEqual(found["period_ms"] / job.mean_ms, 1, delta=PERIOD)

    def test_iterations_of_several_bursts(self) -> None:
        edges = [
            Edge(host(0), host(1), end_ms=10),
            Edge(host(0), host(1), start_ms=30, end_ms=50),
        ]
        for seed, variation in enumerate(VARIATIONS[:3]):
            job = Training(edges, 140, variation, seed=seed)
            self.agrees(profiled(job.frames()), job)

    def test_traffic_that_never_pauses(self) -> None:
        """As that of one connection whose rate goes up and down."""
        at = np.arange(0, 4, 0.0005)
        found = profile.of_job("j", trace(at, 9000 * (0.7 + 0.3 * (at % 0.1) / 0.1)), 0.001)
        self.assertEqual(found["jobs"], [])
        self.assertEqual(found["profiles"][0]["pattern"], "asynchronous")

    def test_control_traffic(self) -> None:
        """Others that send little, and a host that watches all, change nothing."""
        job = Training(PATTERNS["ring"])
        frames = job.frames()
        for number in range(400):
            ends = (host(200), host(number % 4), 200, (9, 9))
            frames.append(Frame(number / 100, *ends))
            frames.append(Frame(number / 100, host(0), host(2), 200, (9, 9)))
        frames.append(Frame(1, host(77), host(78), 500, (1, 1)))
        path = Path(self.folder) / "job.pcap"
        path.write_bytes(capture_of(sorted(frames)))
        done = program("-j", "profile", "--pcap", str(path))
        (found,) = json.loads(done.stdout)["profiles"]
        self.agrees(found, job)
        self.assertEqual(found["pattern"], "ring")
        self.assertEqual(len(found["hosts"]), 4)

    def test_several_jobs(self) -> None:
        """Told apart by who sends to whom, or by their addresses."""
        one = Training(PATTERNS["ring"], 100, seed=1)
        edges = [Edge(host(20), host(21)), Edge(host(21), host(20))]
        other = Training(edges, 70, seed=2)
        path = Path(self.folder) / "both.pcap"
        frames = sorted(one.frames() + other.frames())
        path.write_bytes(capture_of(frames))
        parted = program("-j", "profile", "--pcap", str(path), "--name", "x")
        chosen = ("a=" + ",".join(map(host, range(4))), f"b={host(20)},{host(21)}")
        named = program("-j", "profile", "--pcap", str(path), *(f"--hosts={one}" for one in chosen))
        for done, names in ((parted, ["x-1", "x-2"]), (named, ["a", "b"])):
            found = json.loads(done.stdout)["profiles"]
            self.assertEqual([profile["name"] for profile in found], names)
            self.assertEqual([profile["pattern"] for profile in found], ["ring", "pair"])
            self.agrees(found[0], one)
            self.agrees(found[1], other)
        done = program("profile", "--pcap", str(path), "--hosts", "192.0.2.90,192.0.2.91")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))


class Traces(unittest.TestCase):
    """Period and arcs of lines of seconds and bytes."""

    def samples(self, period_ms: float, arcs: tuple[tuple[float, float], ...]) -> np.ndarray:
        """Frames of 9000 bytes each 10 us within the arcs, with jitter of 0.2 ms."""
        noise = np.random.default_rng(7)
        rows = []
        for turn in range(40):
            for start, length in arcs:
                at = turn * period_ms + start + noise.normal(0, 0.2)
                rows.append(np.arange(at, at + length, 0.01) + 5)
        times = np.concatenate(rows) / 1000
        return np.stack([times, np.full(len(times), 9000.0)], axis=1)

    def test_two_arcs(self) -> None:
        found = found_in(*self.samples(120.5, ((0, 10), (30, 20))).T)
        self.assertAlmostEqual(found["period_ms"], 120.5, delta=0.2)
        self.assertEqual(len(found["arcs"]), 2)
        first, second = found["arcs"]
        self.assertAlmostEqual(second["start_ms"] - first["start_ms"], 30, delta=2.1)
        self.assertAlmostEqual(first["start_ms"], 70.5, delta=2.1)

    def test_counters_read_now_and_then(self) -> None:
        """How often they are read is no period, whether nothing is a line or none."""
        noise = np.random.default_rng(3)
        for every_ms, jitter in ((5, 0.0), (5, 0.3), (20, 1.0)):
            times = np.arange(0, 255 * 12, every_ms) + noise.normal(0, jitter, 255 * 12 // every_ms)
            times = np.sort(times - times.min())
            sent = np.where(times % 255 >= 141, every_ms * 6.25e6, 0.0)
            for kept in (sent >= 0, sent > 0):
                found = found_in(times[kept] / 1000, sent[kept])
                self.assertAlmostEqual(found["period_ms"], 255, delta=every_ms / 2)
                (arc,) = found["arcs"]
                self.assertAlmostEqual(arc["length_ms"], 114, delta=4.1 * every_ms)

    def test_files(self) -> None:
        """The same from a CSV and from a capture, by the program; it can be planned with."""
        table = self.samples(50, ((0, 10),))[::4]
        with TemporaryDirectory() as folder:
            path, other = Path(folder) / "trace.csv", Path(folder) / "capture.pcap"
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["seconds", "bytes"])
                writer.writerows(table.tolist())
            other.write_bytes(
                pcap((when, bytes(int(size)), int(size)) for when, size in table.tolist())
            )
            for option, source in (("--trace", path), ("--pcap", other)):
                done = program("-j", "profile", option, str(source), "--name", "bert")
                self.assertEqual(done.returncode, 0, done.stderr)
                (found,) = json.loads(done.stdout)["jobs"]
                self.assertEqual(found["name"], "bert")
                self.assertAlmostEqual(found["period_ms"], 50, delta=0.2)
                document = on_one_link({**found, "routes": [["l"]]})
                self.assertEqual(program("check", "-", stdin=json.dumps(document)).returncode, 0)
                said = program("profile", option, str(source)).stdout
                self.assertIn("yes", said)


class Interface(unittest.TestCase):
    """Counters that a clock of the test's moves."""

    def watched(self, period_s: float, seconds: float, refresh_s: float = 1e-9) -> Traffic:
        now = [0.0]

        def read() -> tuple[int, int]:
            whole, part = divmod(now[0] // refresh_s * refresh_s, period_s)
            sent = int((whole + min(1, part / (period_s / 4))) * 5_000_000)
            return sent, sent // 10

        def sleep(duration: float) -> None:
            now[0] += duration * 1.1

        return counters.watch("eth0", read, seconds, 0.001, lambda *_: None, lambda: now[0], sleep)

    def test_watch(self) -> None:
        step = Step("ring", 10_000_000 / 3, 4)
        result = profile.of_job("j", self.watched(0.12, 6), 0.001, step)
        (found,) = result["profiles"]
        self.assertAlmostEqual(found["period_ms"], 120, delta=1.2)
        self.assertAlmostEqual(found["bytes_per_iteration"], 5_500_000, delta=110_000)
        self.assertAlmostEqual(found["duty"], 0.25, delta=0.04)
        self.assertEqual((found["pattern"], found["counted"]), ("unknown", "frames"))
        (device,) = found["hosts"]
        self.assertEqual(device["address"], "eth0")
        self.assertAlmostEqual(device["sent_bytes"], 5_000_000, delta=100_000)
        self.assertAlmostEqual(found["predicted"]["ratio"], 1, delta=0.02)

    def test_refreshed(self) -> None:
        """Counters' own time is no period, and it is said what cannot be told."""
        for refresh in (0.1, 0.5, 1.0):
            (found,) = profile.of_job("j", self.watched(0.255, 30, refresh), 0.001)["profiles"]
            self.assertFalse(found["periodic"], found)
            self.assertIn("refreshes its counters", found["notes"][0])
        (found,) = profile.of_job("j", self.watched(3, 60, 0.1), 0.001)["profiles"]
        self.assertAlmostEqual(found["period_ms"], 3000, delta=60)

    def test_silence(self) -> None:
        clock = iter(range(100))
        with self.assertRaisesRegex(PlanError, "no bytes in 5 s"):
            counters.watch(
                "x", lambda: (7, 7), 5, 1, clock=lambda: next(clock), sleep=lambda s: None
            )

    def test_reader(self) -> None:
        """A network device's bytes, and an RDMA port's words."""
        with TemporaryDirectory() as folder:
            for path, names in (
                ("net/eth0/statistics", ("tx_bytes", "rx_bytes")),
                ("infiniband/mlx5_0/ports/1/counters", ("port_xmit_data", "port_rcv_data")),
            ):
                place = Path(folder) / "class" / path
                place.mkdir(parents=True)
                for number, name in enumerate(names, 1):
                    (place / name).write_text(f"{number}00\n", encoding="ascii")
            self.assertEqual(counters.reader("eth0", Path(folder))(), (100, 200))
            for port in ("mlx5_0", "mlx5_0/1"):
                self.assertEqual(counters.reader(port, Path(folder))(), (400, 800))
            for bad in ("eth1", "..", "", "mlx5_0/2", "mlx5_0/../1"):
                with self.assertRaisesRegex(PlanError, "there are eth0, mlx5_0"):
                    counters.reader(bad, Path(folder))
            (Path(folder) / "class/net/eth0/statistics/tx_bytes").write_text("x", encoding="ascii")
            with self.assertRaisesRegex(PlanError, "cannot be read"):
                counters.reader("eth0", Path(folder))()

    def test_program(self) -> None:
        done = program("profile", "--interface", "no-such", "--seconds", "1")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))


class Prediction(unittest.TestCase):
    """Bytes of an iteration against those that the algorithm needs."""

    def test_formulas(self) -> None:
        for algorithm, in_all, of_a_worker in (
            ("ring", 600, 150),
            ("tree", 600, 150),
            ("all-to-all", 600, 150),
            ("parameter-server", 800, 100),
        ):
            step = Step(algorithm, 100, 4)
            self.assertEqual((step.in_all, step.of_a_worker), (in_all, of_a_worker))

    def test_measured(self) -> None:
        """All hosts, where the capture has them, else what one sends."""
        job = Training(PATTERNS["ring"])
        frames = job.frames()
        with TemporaryDirectory() as folder:
            path = Path(folder) / "x.pcap"
            for kept, of in (
                (frames, "all hosts"),
                ([f for f in frames if host(1) in f[1:3]], "one host, sent"),
            ):
                path.write_bytes(capture_of(kept))
                options = ("--model-bytes", "8e5", "--workers", "4", "--algorithm", "ring")
                done = program("-j", "profile", "--pcap", str(path), *options)
                predicted = json.loads(done.stdout)["profiles"][0]["predicted"]
                self.assertEqual(predicted["of"], of)
                self.assertAlmostEqual(predicted["ratio"], 1, delta=NBYTES)
                said = program("profile", "--pcap", str(path), *options).stdout
                self.assertIn(f"ring of 4, {of}: measured", said)


class Delimited(unittest.TestCase):
    """Jobs whose phases somebody else has found."""

    def test_mlccd(self) -> None:
        """The iteration without its phase, and the shortest phase."""
        statistics = {
            "id": 7,
            "name": "bert",
            "iteration_us": 130_000,
            "comm_us": 60_000,
            "best_us": 30_000,
            "period_us": 0,
            "d_phase_bytes": 75_000_000,
        }
        jobs = [statistics, {"id": 8, "name": "new", "iteration_us": 0}]
        result = delimited.from_mlccd(jobs, Step("ring", 50_000_000, 4))
        (found,), (told,) = result["jobs"], result["profiles"]
        self.assertEqual(found["period_ms"], 100)
        self.assertEqual(found["arcs"], [{"start_ms": 70, "length_ms": 30, "gbps": 20}])
        self.assertEqual((told["duty"], told["bytes_per_iteration"]), (0.3, 75_000_000))
        self.assertEqual(told["predicted"]["ratio"], 1)
        self.assertIn("75,000,000", profile.text(result))

    def test_nobody_answers(self) -> None:
        done = program("profile", "--mlccd", "--socket", "/no/such/socket")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 1))


class Refused(unittest.TestCase):
    """One line, and nothing else, whatever the input is."""

    def test_statistics(self) -> None:
        for bad in ([1], [{"iteration_us": -1}], [{"best_us": "x"}]):
            with self.assertRaises(PlanError):
                delimited.from_mlccd(bad)

    def test_files(self) -> None:
        bad = ("1,2\n3\n", "1,2\nnan,1\n2,2\n", "1,2\n2,-1\n3,1\n", "", "a\nb\n", '"' * 200_000)
        for text in (*bad, "1,1e400\n2,3\n3,4\n", "1,2\n\0,3\n2,3\n"):
            with TemporaryDirectory() as folder:
                path = Path(folder) / "x"
                path.write_text(text, encoding="utf-8")
                with self.assertRaises(PlanError) as caught:
                    traffic.read_trace(str(path))
                self.assertTrue(str(caught.exception).isprintable(), text[:40])

    def test_usage(self) -> None:
        for wrong in (
            ["--trace", "x", "--model-bytes", "5"],
            ["--trace", "x", "--workers", "5"],
            ["--trace", "x", "--model-bytes", "0", "--workers", "4"],
            ["--trace", "x", "--model-bytes", "5", "--workers", "1"],
            ["--trace", "x", "--model-bytes", "5", "--workers", "4", "--algorithm", "x"],
            ["--trace", "x", "--seconds", "5"],
            ["--interface", "lo", "--seconds", "0"],
            ["--trace", "x", "--hosts", "192.0.2.1,192.0.2.2"],
            ["--pcap", "x", "--hosts", "192.0.2.1"],
            ["--pcap", "x", "--hosts", "a,b"],
            ["--pcap", "x", "--hosts", "a b=192.0.2.1,192.0.2.2"],
            ["--pcap", "x", "--name", "a b"],
        ):
            done = program("profile", *wrong)
            self.assertEqual((done.returncode, done.stdout), (2, ""), wrong)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
