# SPDX-License-Identifier: GPL-2.0
"""Documentation/mlccd-rules.yml: in Prometheus's own unit test, and in a Prometheus with mlccds.

Which jobs of different hosts send at once is found, and nothing else, with clocks 5 ms apart.
"""

import contextlib
import json
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from bisect import bisect
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

from fake_carrier import Carrier  # noqa: E402  (needs the path above)
from memory_mlccd import MLCCD, missing  # noqa: E402

RULES = ROOT / "Documentation" / "mlccd-rules.yml"
WINDOW_S, SAMPLES, SLOTS, INSTANT_S = 15, 150, 30, 0.004
CLOCK_S = 0.005
LENGTH_S = 1800
WAIT_S = 300.0

Phases = list[tuple[float, float]]


def program_missing() -> str:
    return "" if shutil.which("promtool") else "prometheus is not installed: make deps"


class Job:
    """When it sends."""

    def __init__(self, phases: Phases) -> None:
        self.phases = phases
        self.begins = [begin for begin, _ in phases]

    @classmethod
    def alone(cls, rng: random.Random, period: float, part: float) -> "Job":
        phases, at = [], rng.uniform(0, period)
        for _ in range(int(LENGTH_S / period)):
            phases.append((at, at + part * period * rng.gauss(1, 0.02)))
            at += period * rng.gauss(1, 0.02)
        return cls(phases)

    def follower(self, pause: float, length: float) -> "Job":
        """One whose phases begin after this one's have ended."""
        return Job([(end + pause, end + pause + length) for _, end in self.phases])

    def sends(self, begin: float, end: float) -> bool:
        i = bisect(self.begins, end) - 1
        return i >= 0 and self.phases[i][1] > begin


# of two jobs on a link, of which one begins after the other has ended: period, parts of it that
# each sends, and that are between them
ALTERNATE = {
    "edge": (0.1, 0.45, 0.0),
    "alt-fast": (0.1, 0.2, 0.1),
    "alt": (0.8, 0.4, 0.1),
    "alt-slow": (3.0, 0.4, 0.1),
}
# each sends when it likes: periods and parts of both
BOTH = {
    "fast": (0.25, 0.4, 0.3, 0.4),
    "equal": (1.0, 0.4, 1.01, 0.3),
    "unlike": (0.5, 0.2, 3.0, 0.5),
    "slow": (2.0, 0.2, 2.9, 0.25),
}


def jobs_of(link: str) -> list[tuple[str, Job]]:
    rng = random.Random(link)
    if link in ALTERNATE:
        period, part, pause = ALTERNATE[link]
        first = Job.alone(rng, period, part)
        jobs = [first, first.follower(pause * period, part * period)]
    else:
        period, part, other, other_part = BOTH[link]
        jobs = [Job.alone(rng, period, part), Job.alone(rng, other, other_part)]
    return [(f"{link}-{name}", job) for name, job in zip("ab", jobs, strict=True)]


def windows() -> Iterator[tuple[list[float], list[int]]]:
    rng = random.Random(2)
    for window in range(LENGTH_S // WINDOW_S):
        step = WINDOW_S / SAMPLES
        begin = window * WINDOW_S
        at = [begin + step * (i + 0.9 * rng.random()) for i in range(SAMPLES)]
        slots = [i * SLOTS // SAMPLES for i in range(SAMPLES)]
        rng.shuffle(slots)
        yield at, slots


def told(job: Job, clock: float) -> list[list[float]]:
    """What a host tells of each slot, a window after the other."""
    values: list[list[float]] = [[] for _ in range(SLOTS)]
    for at, slots in windows():
        sent = [0] * SLOTS
        for t, k in zip(at, slots, strict=True):
            sent[k] += job.sends(t + clock, t + clock + INSTANT_S)
        for k in range(SLOTS):
            values[k].append(sent[k] * SLOTS / SAMPLES)
    return values


def counter(name: str, labels: str, step: float) -> dict[str, str]:
    return {"series": f"{name}{{{labels}}}", "values": f"0+{step:g}x{LENGTH_S // WINDOW_S}"}


def series(link: str) -> Iterator[dict[str, str]]:
    """Two hosts of each job, whose clocks differ."""
    for name, job in jobs_of(link):
        for host, clock in (("h1", CLOCK_S / 2), ("h2", -CLOCK_S / 2)):
            labels = f'instance="{name}-{host}",name="{name}",uid="0"'
            for k, values in enumerate(told(job, clock)):
                slot = f'mlcc_job_sent_slot_ratio{{{labels},link="{link}",slot="{k}"}}'
                yield {"series": slot, "values": " ".join(f"{v:g}" for v in values)}
            phases = len(job.phases) * WINDOW_S / LENGTH_S
            yield counter("mlcc_job_phases_total", labels, phases)
            yield counter("mlcc_job_iteration_duration_seconds_sum", labels, WINDOW_S)
            lost = 0.1 if name in ("equal-a", "alt-a", "slow-a") else 0.04
            yield counter("mlcc_job_waited_seconds_total", labels, lost * WINDOW_S)


def pairs(link: str) -> list[dict[str, Any]]:
    names = [(f"{link}-a", f"{link}-b"), (f"{link}-b", f"{link}-a")] if link in BOTH else []
    return [{"labels": f'{{link="{link}", name="{a}", with="{b}"}}', "value": 1} for a, b in names]


def expect(expr: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
    return {"expr": expr, "eval_time": f"{LENGTH_S}s", "exp_samples": samples}


def expected_alerts(link: str) -> list[dict[str, Any]]:
    others = {
        "alt": "none of the jobs on its links sends",
        "equal": "equal-b sends over equal",
        "slow": "slow-b sends over slow",
    }
    if link not in others:
        return []
    summary = f"{link}-a loses 10% to the network"
    described = f"Most of it while {others[link]}."
    return [
        {
            "exp_labels": {"name": f"{link}-a", "uid": "0"},
            "exp_annotations": {"summary": summary, "description": described},
        }
    ]


def one_test(link: str) -> dict[str, Any]:
    """Of one link: promtool has room for few samples."""
    of_pairs = "count by (link, name, with)"
    exprs = [
        expect(f"{of_pairs} (mlcc:overlap:seconds_1h)", pairs(link)),
        expect(f"{of_pairs} (mlcc:waited:seconds_1h)", pairs(link)),
        # what is lost is lost once, and while both send
        expect("sum by (name) (mlcc:waited:seconds_1h) > 0.1001 * 1800", []),
        expect("mlcc:waited:seconds_1h > mlcc:overlap:seconds_1h", []),
    ]
    if link == "slow":
        # by chance: they send for 0.2 and 0.25 of the time
        near = 'abs(mlcc:overlap:seconds_1h{name="slow-a"} - 0.05 * 1800) < bool 40'
        exprs.append(expect(f"max by (name) ({near})", [{"labels": '{name="slow-a"}', "value": 1}]))
    alert = {"eval_time": f"{LENGTH_S}s", "alertname": "MlccJobWaits"}
    return {
        "interval": f"{WINDOW_S}s",
        "input_series": list(series(link)),
        "promql_expr_test": exprs,
        "alert_rule_test": [{**alert, "exp_alerts": expected_alerts(link)}],
    }


def observed_test() -> dict[str, Any]:
    """Of one job two hosts, which lose 3 % and 9 %; of the other one that loses 4 %."""
    lost = {"slow,h1": 0.03, "slow,h2": 0.09, "fine,h1": 0.04}
    told = []
    for job, part in lost.items():
        name, host = job.split(",")
        labels = f'instance="{host}",job="node",cgroup="{name}"'
        told.append(counter("mlcc_observe_lost_seconds_total", labels, part * WINDOW_S))
        for cause, of_all in (("compute", 0.6), ("network", 0.4)):
            seconds = f'{labels},cause="{cause}"'
            told.append(counter("mlcc_observe_seconds_total", seconds, of_all * WINDOW_S))
    alert = {
        "exp_labels": {"cgroup": "slow"},
        "exp_annotations": {"summary": "slow loses 6% to the network"},
    }
    test = {"eval_time": f"{LENGTH_S}s", "alertname": "MlccObservedJobWaits", "exp_alerts": [alert]}
    return {"interval": f"{WINDOW_S}s", "input_series": told, "alert_rule_test": [test]}


def unit_test() -> dict[str, Any]:
    tests = [one_test(link) for link in (*ALTERNATE, *BOTH)] + [observed_test()]
    return {"rule_files": [str(RULES)], "evaluation_interval": "15s", "tests": tests}


@unittest.skipIf(program_missing(), program_missing())
class Rules(unittest.TestCase):
    def test_pairs_are_found_and_none_invented(self) -> None:
        with tempfile.TemporaryDirectory(prefix="mlcc-rules-") as folder:
            file = Path(folder) / "test.json"
            file.write_text(json.dumps(unit_test()))
            command = ["promtool", "test", "rules", str(file)]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Host:
    """An mlccd whose carrier is memory, and jobs that send there, by a clock of its own."""

    def __init__(self, folder: Path, link: str, clock: float, phases: dict[str, float]) -> None:
        folder.mkdir()
        self.port, self.clock = free_port(), clock
        self.begins = list(phases.values())
        self.carrier = Carrier(folder / "carrier")
        for i, name in enumerate(phases):
            self.carrier.add(i + 1, name)
            self.carrier.jobs[i + 1].flows = not i
        config = folder / "conf"
        config.write_text(f"[daemon]\nmetrics-port = {self.port}\nlink = {link}\n")
        command = [str(MLCCD), "--config", str(config), "--run-dir", str(folder / "run")]
        environment = {"MLCC_FAKE": str(folder / "carrier")}
        self.process = subprocess.Popen(command, env=environment)

    def send(self, now: float) -> None:
        for i, begin in enumerate(self.begins):
            job = self.carrier.jobs[i + 1]
            phase, at = divmod(now + self.clock - begin, PERIOD_S)
            job.phases = int(phase) % 2**20
            job.d_sent += at < SENDS_S
            job.iteration_us, job.best_us = int(PERIOD_S * 1e6), int(SENDS_S * 0.8e6)
            job.comm_us = int(SENDS_S * 1e6)


PERIOD_S, SENDS_S = 0.8, 0.35
# where in the period each begins to send: a and b at once, c between them, d elsewhere
HOSTS = (
    ("up1", CLOCK_S / 2, {"a": 0.0}),
    ("up1", -CLOCK_S / 2, {"b": 0.03}),
    ("up1", CLOCK_S / 2, {"c": 0.42}),
    ("up2", -CLOCK_S / 2, {"d": 0.0, "unseen": 0.4}),
)


@unittest.skipIf(program_missing() or missing(), program_missing() or missing())
class EndToEnd(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="mlcc-prometheus-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.hosts = []
        for i, (link, clock, phases) in enumerate(HOSTS):
            host = Host(self.folder / str(i), link, clock, phases)
            self.addCleanup(self.end, host.process)
            self.hosts.append(host)
        self.over = threading.Event()
        sender = threading.Thread(target=self.send)
        self.addCleanup(sender.join)
        self.addCleanup(self.over.set)
        sender.start()
        self.start_prometheus()

    @staticmethod
    def end(process: "subprocess.Popen[bytes]") -> None:
        process.terminate()
        process.wait()

    def send(self) -> None:
        while not self.over.wait(0.001):
            now = time.time()
            for host in self.hosts:
                host.send(now)

    def start_prometheus(self) -> None:
        targets = [f"127.0.0.1:{host.port}" for host in self.hosts]
        scrape = {"job_name": "mlccd", "static_configs": [{"targets": targets}]}
        config = {"global": {"scrape_interval": "5s"}, "rule_files": [str(RULES)]}
        file = self.folder / "prometheus.yml"
        file.write_text(json.dumps({**config, "scrape_configs": [scrape]}))
        self.port = free_port()
        command = ["prometheus", f"--config.file={file}", "--log.level=warn"]
        command += [f"--storage.tsdb.path={self.folder / 'tsdb'}"]
        command += [f"--web.listen-address=127.0.0.1:{self.port}"]
        self.addCleanup(self.end, subprocess.Popen(command))

    def query(self, expr: str) -> list[dict[str, Any]]:
        url = f"http://127.0.0.1:{self.port}/api/v1/query?query={quote(expr)}"
        with urlopen(url) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found

    def pairs(self, metric: str) -> set[str]:
        found = [sample["metric"] for sample in self.query(metric)]
        return {f"{labels['link']} {labels['name']}{labels['with']}" for labels in found}

    def wait_for(self, expr: str) -> None:
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if self.query(expr):
                    return
            time.sleep(1)
        self.fail(f"never: {expr}")

    def test_pairs_and_dashboards(self) -> None:
        windows = 'count_over_time(mlcc:overlap:ratio{link="up1"}[1h])'
        self.wait_for(f"count({windows} >= 4) == 6")
        seen = self.query("mlcc:overlap:ratio")
        self.assertEqual(self.pairs("mlcc:overlap:seconds_1h"), {"up1 ab", "up1 ba"}, seen)
        self.assertIn("up2 dunseen", self.pairs("mlcc:overlap:ratio"))
        self.wait_for("count(mlcc:waited:seconds_1h > 0) == 2")
        self.wait_for("mlcc_job_slowdown_ratio")
        self.assertTrue(self.panels("mlccd-grafana.json"))
        found = self.panels("mlccd-links-grafana.json")
        # there is no node_exporter here
        self.assertEqual([title for title, n in found.items() if not n], ["Error of the clocks"])

    def panels(self, file: str) -> dict[str, int]:
        """How much each panel shows; one that is wrong fails."""
        found: dict[str, int] = {}
        for panel in json.loads((ROOT / "Documentation" / file).read_text())["panels"]:
            for target in panel["targets"]:
                expr = re.sub(r"\$(host|link)", ".*", target["expr"])
                found[panel["title"]] = len(self.query(expr))
        return found


if __name__ == "__main__":
    unittest.main()
