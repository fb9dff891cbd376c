# SPDX-License-Identifier: GPL-2.0
"""Metrics, also those of RDMA, and what else is shown of RDMA."""

import json
import re
import shutil
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mlccd_driver import JSON, VERSION, Cases, openmetrics, run

from memory_mlccd import ROOT, WAIT_S, until


class Follow:
    """A follow of mlcc-dcqcn as mlccd sees it, which lives as long as its file is written anew."""

    NAME = "mlx5:0000:03:00.0"

    def __init__(self, file: Path) -> None:
        self.file, self.age_us = file, 0
        self.told: JSON = {
            **{"version": 1, "backend": "mlx5", "device": "0000:03:00.0", "rdma": "mlx5_0"},
            **{"scope": "port", "state": "runs", "job": 7, "knob": "rp_ai_rate"},
            **{"unit": "Mb/s", "drive": "ai", "base": 5, "low": 5, "high": 10},
            **{"value": 8, "gain": 1.5},
        }
        self.write()

    def text(self, **other: Any) -> str:
        now = time.monotonic_ns() // 1000
        return json.dumps({"updated_us": now - self.age_us, **self.told, **other})

    def write(self) -> None:
        new = self.file.with_name(".new")
        new.write_text(self.text())
        new.rename(self.file)


QPS = (
    "# qpn on rate target alpha cnps sent job progress\n"
    "17 1 40000 50000 100 3 1000000 7 500\n"
    "18 1 30000 50000 100 2 500000 7 -\n"
    "19 0 0 0 0 0 70000 8 -\n"
    "20 1 50000 50000 0 0 9 0 -\n"
)


class Metrics(Cases):
    _follow: Follow | None = None

    def iterations_are_seen(self) -> None:
        """Their distribution, the mean of the last 20, and how long one takes alone."""
        label = 'job="3",name="bert",uid="0"'
        self.d.peer().ok("set-job", id=3, name="bert", **{"class": "training"})
        assert "iteration_mean_us" not in self.d.jobs()[0]
        before = self.metrics()
        assert f"mlcc_job_slowdown_ratio{{{label}}}" not in before
        assert not [name for name in before if "duration" in name], before
        about = f'mlcc_job_info{{{label},class="training",profile=""}}'
        assert before[about] == before[f'mlcc_build_info{{version="{VERSION}"}}'] == 1
        for phase in range(1, 6):
            self.iterates(3, phase, 300)
        for phase in range(6, 27):
            shown = self.iterates(3, phase, 100)
        assert shown["iteration_mean_us"] == 100000, shown
        assert shown["alone_from"] == "measured" and 100000 <= shown["alone_us"] < 115000, shown
        shown = self.iterates(3, 27, 200)
        assert shown["iteration_mean_us"] == 105000, shown
        samples = self.metrics()
        assert samples[f"mlcc_job_d_phase_bytes{{{label}}}"] == 1000 and samples["mlcc_jobs"] == 1
        for name in ("flows", "sent_bytes_total", "retransmits_total", "ce_total"):
            assert f"mlcc_job_{name}{{{label}}}" in samples, name
        name = "mlcc_job_iteration_duration_seconds"
        for bound, count in (("0.05", 0), ("0.1", 21), ("0.25", 22), ("0.5", 27), ("+Inf", 27)):
            assert samples[f'{name}_bucket{{{label},le="{bound}"}}'] == count, (bound, samples)
        assert samples[f"{name}_count{{{label}}}"] == 27
        assert abs(samples[f"{name}_sum{{{label}}}"] - 3.8) < 1e-9
        name = "mlcc_job_communication_duration_seconds"
        assert samples[f'{name}_bucket{{{label},le="0.05"}}'] == 21
        alone = samples[f"mlcc_job_alone_seconds{{{label}}}"]
        assert abs(samples[f"mlcc_job_slowdown_ratio{{{label}}}"] - 0.2 / alone) < 1e-9

    def alone_is_said_where_it_was_seen(self) -> None:
        """Not of a job that has met others, or losses; nor of one that sends another amount now."""
        root = self.d.peer()
        for number in (1, 2, 3, 4):
            root.ok("set-job", id=number, name=f"j{number}")
        for phase in range(4):
            assert "alone_us" not in self.iterates(1, phase, 100, retrans=1)
        self.d.measured(1, flows=0)
        root.ok("show")
        for phase in range(4):
            shown = self.iterates(2, phase, 100)
            # the first whole iteration from there on
            assert ("alone_us" in shown) == (phase >= 2), (phase, shown)
        for phase in range(4):
            assert "alone_us" not in self.iterates(3, phase, 200)
            assert self.iterates(2, 4 + phase, 200)["alone_us"] == 100000
        assert "alone_us" not in self.iterates(2, 9, 200, d_phase=2000)
        root.ok("set-job", id=2, name="j2", period_us=150000)
        shown = self.iterates(2, 10, 300, d_phase=2000)
        assert (shown["alone_us"], shown["alone_from"]) == (150000, "announced"), shown
        root.ok("del-job", job=2)
        for phase in range(4, 8):
            shown = self.iterates(3, phase, 200)
        assert shown["alone_us"] == 200000, "the other one has ended"

    def waiting_adds_up(self) -> None:
        """Beyond the shortest phase that there was, also where the carrier has forgotten it."""
        self.d.peer().ok("set-job", id=3, name="bert")
        name = 'mlcc_job_waited_seconds_total{job="3",name="bert",uid="0"}'
        for phase, (ms, best, d_phase, waited) in enumerate(
            ((100, 50, 1000, 0), (200, 50, 1000, 0.05), (200, 90, 1000, 0.1), (200, 90, 2000, 0.11))
        ):
            self.iterates(3, phase + 1, ms, best_us=best * 1000, d_phase=d_phase)
            assert abs(self.metrics()[name] - waited) < 1e-9, (phase, self.metrics()[name])

    def histograms_are_of_so_many_jobs(self) -> None:
        self.d.kill(signal.SIGTERM)
        self.d.write_config("[daemon]\nmark-mask = 0xfff")
        self.d.start()
        root = self.d.peer()
        for number in range(1, 301):
            root.ok("set-job", id=number)
            self.d.measured(number, flows=1, phases=1, iteration_us=9)
        assert len(self.d.jobs()) == 300
        counts = Counter(name.partition("{")[0] for name in self.metrics())
        assert counts["mlcc_job_flows"] == counts["mlcc_job_info"] == 300, counts
        assert counts["mlcc_job_iteration_duration_seconds_count"] == 256, counts
        assert counts["mlcc_job_iteration_duration_seconds_bucket"] == 256 * 13, counts
        self.d.reset()
        self.d.kill(signal.SIGTERM)
        self.d.write_config("")
        self.d.start()

    def counters_of_a_job_never_fall(self) -> None:
        """A carrier that lost what it had, as one that was loaded anew."""

        def phases() -> float:
            return next(
                v for k, v in self.metrics().items() if k.startswith("mlcc_job_phases_total")
            )

        root = self.d.peer()
        root.ok("set-job", id=7, name="counted")
        for number in (1, 2, 3):
            root.ok("hint", job=7, phase="start", bytes=5)
            assert phases() == number
        self.d.gone.touch()
        until(lambda: self.d.status()["carrier"] == "none", "the carrier's end")
        self._wipe_carrier()
        self.d.gone.unlink()
        until(lambda: "phases" in self.d.jobs()[0], "the job in the new carrier")
        assert phases() == 3, phases()
        root.ok("hint", job=7, phase="start", bytes=5)
        root.ok("set-job", id=7, name="counted", phase_bytes=9)
        assert phases() == 4, phases()
        assert root.ok("show", job=7)["jobs"][0]["phases"] == 4
        self.d.again()
        assert phases() == 4, "what was lost is forgotten"
        self.d.kill(signal.SIGTERM)
        self._wipe_carrier()
        self.d.start()
        assert phases() == 4, "what was seen last is forgotten"
        self.d.kill()
        self.d.carrier.unlink()
        self.d.start()

    def _wipe_carrier(self) -> None:
        with self.d.carrier.open("r+b") as kernel:
            size = self.d.carrier.stat().st_size
            kernel.truncate(0)
            kernel.truncate(size)

    def metrics_have_an_address(self) -> None:
        with socket.create_server(("127.0.0.2", 0)) as free:
            port = free.getsockname()[1]
        self.d.kill(signal.SIGTERM)
        cases = [("127.0.0.2", ("127.0.0.1", "::1"))]
        # a host may have been booted without IPv6
        if Path("/proc/net/if_inet6").exists():
            cases.append(("::1", ("127.0.0.2",)))
        for address, others in cases:
            self.d.write_config(f"[daemon]\nmetrics-port = {port}\nmetrics-address = {address}")
            self.d.start()
            with socket.create_connection((address, port), WAIT_S) as peer:
                peer.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                reply = b"".join(iter(lambda: peer.recv(65536), b"")).decode()
            assert "mlcc_jobs" in openmetrics(reply.partition("\r\n\r\n")[2]), reply
            for other in others:
                with suppress(OSError):
                    socket.create_connection((other, port), WAIT_S)
                    raise AssertionError(f"it answers at {other}, too")
            self.d.kill(signal.SIGTERM)
        # TEST-NET: of no host
        self.d.write_config(f"[daemon]\nmetrics-port = {port}\nmetrics-address = 192.0.2.1")
        failed = run(*self.d.command())
        assert failed.returncode == 1 and "of 192.0.2.1: " in failed.stderr, failed
        self.d.write_config("")
        self.d.start()

    def http_errors(self) -> None:
        for text, status in (
            (b"GET /nothing HTTP/1.0\r\n\r\n", "404"),
            (b"POST /metrics HTTP/1.0\r\n\r\n", "405"),
            (b"HEAD /metrics HTTP/1.0\r\n\r\n", "200"),
            (b"GET / HTTP/1.0\r\n\r\n", "200"),
        ):
            head, body = self.http(text)
            assert re.match(rf"HTTP/1\.[01] {status} ", head), (text[:40], head)
            assert not (text.startswith(b"HEAD") and body)
        # what is no HTTP gets no metrics: an error, or nothing
        for text in (b"nonsense\r\n\r\n", b"GET /" + b"x" * 20000, b"\0\r\n\r\n"):
            try:
                head, _ = self.http(text)
            except ConnectionResetError:
                head = ""
            assert not head or re.match(r"HTTP/1\.[01] [45]", head), (text[:40], head)

    def http_slow(self) -> None:
        """Who asks and says no more, however many there are, keeps nobody else waiting."""
        idle = [socket.socket(socket.AF_UNIX) for _ in range(100)]
        for peer in idle:
            peer.connect(str(self.d.run / "metrics.sock"))
            with suppress(BrokenPipeError):
                peer.sendall(b"GET /met")
        assert self.d.peer().ok("status")["jobs"] == 0
        head, _ = self.http(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert head.startswith("HTTP/1.1 200 OK\r\n") and "application/openmetrics-text" in head
        # it did not have to wait until they timed out: those that came last are there still
        idle[-1].setblocking(False)
        with suppress(BlockingIOError):
            raise AssertionError(f"the last one has ended: {idle[-1].recv(1)!r}")
        for peer in idle:
            peer.close()

    def _rdma_file(self, name: str, text: str) -> Path:
        path = self.d.sysroot / name
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @contextmanager
    def _rdma(self) -> Iterator["Follow"]:
        """A soft-RoCE device with QPs of jobs 7 and 8, and a follow of job 7."""
        self._rdma_file("sys/kernel/debug/rxe/rxe0/qps", QPS)
        counters = "sys/class/infiniband/rxe0/ports/1/hw_counters"
        self._rdma_file(f"{counters}/np_ecn_marked_roce_packets", "11\n")
        self._rdma_file(f"{counters}/rp_cnp_handled", "5\n")
        self._rdma_file("sys/class/infiniband/bnxt_re0/ports/1/hw_counters/rx_cnp_pkts", "4\n")
        self._follow = Follow(self._rdma_file(f"run/mlcc/follow/{Follow.NAME}", ""))
        try:
            yield self._follow
        finally:
            self._follow = None
            for name in ("sys", "run"):
                shutil.rmtree(self.d.sysroot / name)

    def _rdma_of(self, job: int) -> list[JSON]:
        if self._follow:
            self._follow.write()
        shown = self.d.peer().ok("show", job=job)["jobs"][0]
        assert ("rdma" in shown) == ("rdma" in shown.get("transports", [])), shown
        return shown.get("rdma", [])

    def rdma_is_shown_beside_tcp(self) -> None:
        root = self.d.peer()
        root.ok("set-job", id=7, name="bert")
        root.ok("set-job", id=8)
        root.ok("set-job", id=9)
        assert "transports" not in root.ok("show", job=9)["jobs"][0]
        with self._rdma():
            until(lambda: len(self._rdma_of(7)) == 2, "both devices")
            qps, follow = sorted(self._rdma_of(7), key=lambda u: "knob" in u)
            assert qps == {
                **{"device": "rxe0", "backend": "rxe", "qps": 2, "sent_bytes": 1500000},
                **{"cnps": 5, "rate_kbps": 70000, "slowest_kbps": 30000},
                "port_counters": {"np_ecn_marked_roce_packets": 11, "rp_cnp_handled": 5},
            }, qps
            assert follow == {
                **{"device": "mlx5_0", "backend": "mlx5", "follows": "0000:03:00.0"},
                **{"scope": "port", "state": "runs", "knob": "rp_ai_rate", "unit": "Mb/s"},
                **{"drive": "ai", "base": 5, "low": 5, "high": 10, "value": 8, "gain": 1.5},
            }, follow
            (without,) = self._rdma_of(8)
            assert without["qps"] == 1 and "rate_kbps" not in without, "without DCQCN"
            assert self._rdma_of(9) == []
            lines = self.d.run_ctl("show").stdout.splitlines()
            text = "\n".join(line.strip() for line in lines)
            assert "rdma rxe0: 2 QPs, 1.5M sent, 5 CNPs, at 70Mb/s (slowest 30Mb/s)" in text, text
            assert (
                "rdma mlx5_0: mlx5:0000:03:00.0 rp_ai_rate 8 Mb/s, gain 1.50, base 5 Mb/s" in text
            ), text
            watched = self.d.run_ctl("-j", "watch", "--count", "1").stdout
            assert [len(j.get("rdma", [])) for j in json.loads(watched)] == [2, 1, 0]
            assert "rdma rxe0: 2 QPs" in self.d.run_ctl("show", "bert").stdout
        until(lambda: self._rdma_of(7) == [], "the end of the devices")

    def _rxe_rules(self, device: str, text: str = "") -> Path:
        """A file of a driver's rules; a plain one keeps what was written last."""
        return self._rdma_file(f"sys/kernel/debug/rxe/{device}/jobs", text)

    def soft_roce_is_told_of_jobs(self) -> None:
        root = self.d.peer()
        path = self.c.make("rxe")
        group = (self.c.mount / path).stat().st_ino
        with self._rdma():
            rules = self._rxe_rules("rxe0")
            root.ok("set-job", id=7, cgroup=path, dry_run=True)
            root.ok("set-job", id=6)
            assert rules.read_text() == "", "no job has a cgroup yet"
            root.ok("set-job", id=7, cgroup=path)
            assert rules.read_text() == f"cgroup {group} 7"
            late = self._rxe_rules("rxe1")
            until(late.read_text, "a device that comes later")
            assert late.read_text() == f"cgroup {group} 7"
            self.d.kill()
            self._rxe_rules("rxe0", "nonsense\n\ncgroup 1\n")
            self._rxe_rules("rxe1", f"tclass 8 5\ncgroup {group} 7\n")
            self._rxe_rules("rxe2", f"cgroup {group} 9")
            self.d.start()
            root = self.d.peer()
            until(lambda: rules.read_text().startswith(f"cgroup {group} 7"), "its rule")
            assert late.read_text().startswith("tclass"), "what is right is not written again"
            assert (rules.parents[1] / "rxe2/jobs").read_text() == f"cgroup {group} 7", "of one job"
            other = self.c.make("rxe-2")
            root.ok("set-job", id=7, cgroup=other)
            moved = (self.c.mount / other).stat().st_ino
            until(lambda: rules.read_text().startswith(f"cgroup {moved} 7"), "its other cgroup")
            root.ok("del-job", job=7)
            assert rules.read_text().startswith(f"cgroup {moved} 0")
            root.ok("del-job", job=6)

    def what_a_follow_says_is_believed_for_a_while(self) -> None:
        """Of a device that is away it has no value; a folder that others may write is none."""

        def states() -> list[str]:
            return [use["state"] for use in self._rdma_of(7) if "knob" in use]

        self.d.peer().ok("set-job", id=7)
        with self._rdma() as follow:
            del follow.told["value"], follow.told["gain"]
            follow.told.update(state="away", sent_bytes=12)
            until(lambda: states() == ["away"], "away")
            (use,) = [u for u in self._rdma_of(7) if "knob" in u]
            assert "value" not in use and use["sent_bytes"] == 12, use
            (self.d.sysroot / "run/mlcc/follow").chmod(0o777)
            until(lambda: not states(), "its end in a folder that others may write")
            (self.d.sysroot / "run/mlcc/follow").chmod(0o755)
            until(states, "it again")
            follow.age_us = 6_000_000
            until(lambda: not states(), "the end of what a dead one has left")

    def broken_rdma_files_are_left_out(self) -> None:
        """Among them a good one of each, which is shown."""
        self.d.peer().ok("set-job", id=7)
        with self._rdma() as follow:
            texts = ["", "{", "[]", "null", "{" * 500, "x" * 5000]
            for key, value in (
                *(("version", 2), ("updated_us", -1), ("updated_us", 2**63), ("base", -1)),
                *(("base", "5"), ("knob", "a b"), ("knob", 'a"b'), ("knob", "k" * 64)),
                *(("rdma", "\u001b[2J"), ("device", None), ("unit", "u" * 16), ("high", 2**32)),
            ):
                texts.append(follow.text(**{key: value}))
            for i, text in enumerate(texts):
                self._rdma_file(f"run/mlcc/follow/bad{i}", text)
            head = "# qpn on rate target alpha cnps sent job progress\n"
            for i, text in enumerate(
                (
                    *("", "nonsense\n", "# qpn on rate\n17 1 1\n"),
                    *("17 1 40000 5 1 3 1 7 500\n", f"{head}17 1 1 1 1 1 1\n"),
                    *(f"{head}17 1 x 1 1 1 1 7 -\n", f"{head}17 1 1 1 1 1 -1 7 -\n"),
                    f"{head}17 1 1 1 1 1 99999999999999999999999 7 -\n" + "9" * 2000,
                )
            ):
                self._rdma_file(f"sys/kernel/debug/rxe/bad{i}/qps", text)
            # what was looked at before is forgotten when a new value shows
            follow.told.update(value=9)
            until(lambda: any(u.get("value") == 9 for u in self._rdma_of(7)), "a later look")
            uses = self._rdma_of(7)
            assert sorted(u["device"] for u in uses) == ["mlx5_0", "rxe0"], uses

    def many_rdma_devices_fit_into_a_reply(self) -> None:
        self.d.peer().ok("set-job", id=7)
        with self._rdma() as follow:
            for i in range(100):
                name = f"{i:02}" + "d" * 61
                text = follow.text(rdma=name, device=name, knob="k" * 63, backend="b" * 63)
                self._rdma_file(f"run/mlcc/follow/{name}", text)
            until(lambda: len(self._rdma_of(7)) == 12, "as many as there is room for")
            shown = self.d.peer().ok("show", job=7)["jobs"][0]
            assert shown["rdma_more"] == 102 - 12, shown["rdma_more"]
            assert "rdma: 90 more" in self.d.run_ctl("show").stdout

    def rdma_metrics_parse(self) -> None:
        before = self.metrics()
        assert not [name for name in before if "rdma" in name], before
        self.d.peer().ok("set-job", id=7, name="bert")
        with self._rdma():
            samples = self.metrics()
        bert = 'job="7",name="bert",uid="0",device='
        knob = f'{bert}"mlx5_0",backend="mlx5",follows="0000:03:00.0",knob="rp_ai_rate"'
        for name, value in (
            (f'qps{{{bert}"rxe0"}}', 2),
            (f'qps_sent_bytes{{{bert}"rxe0"}}', 1500000),
            (f'qps_cnps{{{bert}"rxe0"}}', 5),
            (f'rate_bytes_per_second{{{bert}"rxe0"}}', 8750000),
            (f'slowest_bytes_per_second{{{bert}"rxe0"}}', 3750000),
            ('qps{job="8",name="",uid="0",device="rxe0"}', 1),
            (f"knob{{{knob}}}", 8),
            (f"knob_base{{{knob}}}", 5),
            (f"knob_gain_ratio{{{knob}}}", 1.5),
            ('ecn_marked_total{device="rxe0",port="1"}', 11),
            ('cnps_handled_total{device="rxe0",port="1"}', 5),
            ('cnps_handled_total{device="bnxt_re0",port="1"}', 4),
        ):
            assert samples.get(f"mlcc_rdma_{name}") == value, (name, samples)
        assert not [name for name in samples if "cnps_sent" in name], samples

    def the_dashboard_asks_for_what_there_is(self) -> None:
        """Each metric of the dashboard's panels is one that mlccd has told."""
        self.d.peer().ok("set-job", id=7, name="bert", period_us=100000)
        self.iterates(7, 1, 100)
        with self._rdma():
            for name in ("np_cnp_sent", "rp_cnp_ignored"):
                self._rdma_file(f"sys/class/infiniband/rxe0/ports/1/hw_counters/{name}", "1\n")
            body = self.http(b"GET /metrics HTTP/1.0\r\n\r\n")[1]
        there = {sample.partition("{")[0] for sample in openmetrics(body)}
        text = (ROOT / "Documentation/mlccd-grafana.json").read_text()
        wanted = set(re.findall(r"\bmlcc_[a-z_]+", text))
        assert wanted and wanted <= there, wanted - there
        ids = [panel["id"] for panel in json.loads(text)["panels"]]
        assert len(ids) == len(set(ids)), ids
