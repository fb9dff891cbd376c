# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The agent against an API server and an mlcc-ctl that are the test's own."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import mlcc_agent as agent

AGENT = Path(__file__).with_name("mlcc_agent.py")
UID = "0123abcd-0000-4000-8000-0123456789ab"
OTHER = "fedcba98-0000-4000-8000-0123456789ab"
HASH = "0123456789abcdef0123456789abcdef"
NAME = "k8s/bert/0123abcd00004000"
SET = ("set-job", "--limited", "--name")
WAIT_S = 60

# writes its words down; fails where a file called as the verb is there
CTL = """#!/usr/bin/env python3
import json, sys
from pathlib import Path
here = Path(__file__).parent
with open(here / "log", "a") as log:
    print(json.dumps(sys.argv[1:]), file=log)
if (here / sys.argv[1]).exists():
    sys.exit("refused\\n\\x1b[31mand red")
if sys.argv[1:] == ["-j", "show"]:
    print((here / "jobs").read_text())
"""


def pod(uid: str = UID, phase: str = "Running", **notes: Any) -> dict[str, Any]:
    """A pod with annotations; "job" stands for mlcc.dev/job."""
    names = {"mlcc.dev/" + key.replace("_", "-"): value for key, value in notes.items()}
    meta = {"uid": uid, "resourceVersion": "1", "annotations": names}
    return {"metadata": meta, "status": {"phase": phase}}


class Place(unittest.TestCase):
    """A folder with a cgroup tree and an mlcc-ctl."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.path = Path(temporary.name)
        self.root = self.path / "cgroup"
        self.ctl = self.path / "mlcc-ctl"
        self.ctl.write_text(CTL)
        self.ctl.chmod(0o755)
        self.jobs()

    def jobs(self, *names: str) -> None:
        (self.path / "jobs").write_text(json.dumps([{"name": name} for name in names]))

    def cgroup(self, uid: str = UID) -> str:
        leaf = f"kubepods-burstable-pod{uid.replace('-', '_')}.slice"
        path = self.root / "kubepods.slice" / "kubepods-burstable.slice" / leaf
        path.mkdir(parents=True)
        return str(path)

    def log(self) -> list[list[str]]:
        """What mlcc-ctl was told, without the questions."""
        path = self.path / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [words for words in map(json.loads, lines) if "show" not in words]


class WantedTest(unittest.TestCase):
    """What annotations may say."""

    def test_a_job(self) -> None:
        """What a size is mlcc-ctl says."""
        self.assertEqual(agent.wanted(pod(job="bert")), agent.Job(NAME, UID))
        for size in (str(2**48 - 1), "250M", "250MB", "250 MB", "64MiB", "1.5G", "250Mb"):
            job = agent.wanted(pod(job="a" * 42, profile="hotnets22", phase_bytes=size))
            assert job
            words = ("--profile", "hotnets22", "--phase-bytes", size)
            self.assertEqual((job.words, len(job.name)), (words, 63))

    def test_no_job(self) -> None:
        for one in (pod(), pod(profile="interleave"), {"metadata": {"uid": UID}}):
            self.assertIsNone(agent.wanted(one))
        for phase in ("Succeeded", "Failed"):
            self.assertIsNone(agent.wanted(pod(phase=phase, job="bert")))

    def test_hostile_annotations(self) -> None:
        names = ("", "a" * 43, "a b", "a\nb", "-a", "--strict", ".a", "a/b", "a;b", "$(a)")
        words = ("", "a b", "latency ", "latency\n", "--strict", "*", "a" * 32, ["a"])
        sizes = ("", "-1", "+1", " 1", "1\n", "1_000", "٣", "M", "1;a", "9" * 400, 5, True)
        uids = ("", "../../etc", UID + "/..", UID.upper(), UID + "\n", 7, None)
        for key, values in (
            ("job", (*names, "ä", "a\0", "a\n", "١", 7, None, ["a"])),
            ("class", words),
            ("profile", words),
            ("phase_bytes", sizes),
            ("uid", uids),
        ):
            for value in values:
                with self.subTest(key, value=value), self.assertRaises(agent.RefusedError):
                    agent.wanted(pod(**{"job": "a", key: value}))


class CgroupTest(Place):
    """Where kubelets put pods."""

    def test_all_layouts(self) -> None:
        low = UID.replace("-", "_")
        for path in (
            f"kubepods.slice/kubepods-pod{low}.slice",
            f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{low}.slice",
            f"kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{low}.slice",
            f"kubepods/pod{UID}",
            f"kubepods/burstable/pod{UID}",
            f"kubelet/kubepods/besteffort/pod{UID}",
            f"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{low}.slice",
        ):
            with self.subTest(path), tempfile.TemporaryDirectory() as name:
                made = Path(name, path)
                made.mkdir(parents=True)
                self.assertEqual(agent.cgroup_of(UID, Path(name)), made)
                self.assertIsNone(agent.cgroup_of(OTHER, Path(name)))


class NodeTest(Place):
    """What mlccd is told."""

    def setUp(self) -> None:
        super().setUp()
        self.node = agent.Node(agent.Ctl(str(self.ctl)), self.root)

    def told(self, *pods: dict[str, Any]) -> list[list[str]]:
        """By one more reconciliation with these pods."""
        before = len(self.log())
        self.node.pods = {one["metadata"]["uid"]: one for one in pods}
        self.complete = self.node.reconcile()
        return self.log()[before:]

    def test_changes_are_told_once(self) -> None:
        """The first one is that there is a cgroup."""
        self.assertEqual(self.told(pod(job="bert", phase_bytes="5")), [])
        self.assertFalse(self.complete)
        want = [*SET, NAME, "--cgroup", self.cgroup(), "--phase-bytes"]
        for size in ("5", "6"):
            self.assertEqual(self.told(pod(job="bert", phase_bytes=size)), [[*want, size]])
            self.assertEqual(self.told(pod(job="bert", phase_bytes=size)), [])
            self.assertTrue(self.complete)
        told = self.told(pod(job="gpt"))
        self.assertEqual(told[0], ["del-job", NAME])
        self.assertEqual(told[1][:4], [*SET, NAME.replace("bert", "gpt")])

    def test_deletes_what_is_no_longer_wanted(self) -> None:
        for after in ([], [pod()], [pod(job="bert", phase="Succeeded")], [pod(job="$(a)")]):
            with self.subTest(after):
                self.setUp()
                self.cgroup()
                self.told(pod(job="bert"))
                self.assertEqual(self.told(*after), [["del-job", NAME]])
                self.assertEqual(self.told(*after), [])

    def static(self, uid: str = UID) -> dict[str, Any]:
        one = pod(uid=uid, job="bert")
        one["metadata"]["annotations"] |= {agent.MIRROR: HASH, agent.CONFIG: HASH}
        return one

    def test_a_static_pod(self) -> None:
        path = self.cgroup(HASH)
        want = [[*SET, NAME, "--cgroup", path]]
        self.assertEqual(self.told(self.static()), want)

    def test_nobody_is_taken_for_a_static_pod(self) -> None:
        """By annotations, which anybody may write: the hash of another one, or another's uid."""
        self.cgroup(HASH)
        real, forged = self.static(OTHER), self.static()
        del real["metadata"]["annotations"]["mlcc.dev/job"]
        self.assertEqual(self.told(forged, real), [])
        self.cgroup(OTHER)
        for text in (OTHER, "../pod", "", 7, None):
            forged["metadata"]["annotations"][agent.CONFIG] = text
            self.assertEqual(self.told(forged), [])
        del forged["metadata"]["annotations"][agent.MIRROR]
        forged["metadata"]["annotations"][agent.CONFIG] = HASH
        self.assertEqual(self.told(forged), [])

    def test_why_a_pod_has_no_job_is_said_once(self) -> None:
        with mock.patch.object(agent, "log") as log:
            for _ in range(3):
                self.told(pod(job="bert", phase="Pending"))
            log.assert_not_called()
            for _ in range(3):
                self.told(pod(job="bert"))
            log.assert_called_once()
            self.assertIn(f"no cgroup pod{UID}", log.call_args.args[0])
            self.cgroup()
            (self.path / "set-job").touch()
            for _ in range(3):
                self.told(pod(job="bert"))
            self.assertEqual(log.call_count, 2)
            self.assertIn("refused", log.call_args.args[0])
            (self.path / "set-job").unlink()
            self.told(pod(job="bert"))
            self.assertEqual(log.call_count, 2)

    def test_failures_are_tried_again(self) -> None:
        """Those of one pod, or of mlcc-ctl itself, are nobody else's."""
        path = self.cgroup()
        bad = pod(uid=OTHER, job="a; reboot")
        self.ctl.rename(self.path / "absent")
        self.assertEqual(self.told(bad, pod(job="bert", **{"class": "background"})), [])
        self.assertFalse(self.complete)
        (self.path / "absent").rename(self.ctl)
        (self.path / "set-job").touch()
        want = [[*SET, NAME, "--cgroup", path, "--class", "background"]]
        self.assertEqual(self.told(bad, pod(job="bert", **{"class": "background"})), want)
        self.assertFalse(self.complete)
        (self.path / "set-job").unlink()
        self.assertEqual(self.told(bad, pod(job="bert", **{"class": "background"})), want)
        self.assertTrue(self.complete)

    def test_deletes_leftovers_of_an_earlier_agent(self) -> None:
        stale = "k8s/old/0000000000000000"
        self.jobs(stale, NAME, "slurm-12", "")
        self.cgroup()
        self.assertEqual([words[:2] for words in self.told(pod(job="bert"))][0], ["del-job", stale])
        self.assertEqual(len(self.log()), 2)

    def test_strange_answers_are_survived(self) -> None:
        for text in ("", "[]]", "7", '[{"id": 1}]', "null"):
            with self.subTest(text):
                self.setUp()
                (self.path / "jobs").write_text(text)
                self.cgroup()
                self.assertEqual(len(self.told(pod(job="bert"))), 1)


class FakeServer(ThreadingHTTPServer):
    """Lists self.items; each watch gets the next of self.events, then nothing."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.items: list[dict[str, Any]] = []
        self.events: list[list[bytes]] = []
        self.requests: list[tuple[str, dict[str, list[str]], str | None]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    def do_GET(self) -> None:  # noqa: N802  # http.server wants that name
        """A list, or a watch."""
        server = self.server
        assert isinstance(server, FakeServer)
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        server.requests.append((url.path, query, self.headers.get("Authorization")))
        self.send_response(200)
        self.end_headers()
        if "watch" not in query:
            body = {"metadata": {"resourceVersion": "10"}, "items": server.items}
            self.wfile.write(json.dumps(body).encode())
            return
        for line in server.events.pop(0) if server.events else []:
            self.wfile.write(line + b"\n")
        time.sleep(0.1)

    def log_message(self, *words: Any) -> None:
        """Says nothing."""


def event(kind: str, one: dict[str, Any]) -> bytes:
    """A line of a watch."""
    return json.dumps({"type": kind, "object": one}).encode()


class AgentTest(Place):
    """The program itself."""

    def setUp(self) -> None:
        super().setUp()
        self.server = FakeServer()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        (self.path / "token").write_text("secret\n")

    def start(self) -> None:
        port = self.server.server_address[1]
        said = (self.path / "said").open("wb")
        self.addCleanup(said.close)
        self.process = subprocess.Popen(
            [sys.executable, AGENT, "--server", f"http://127.0.0.1:{port}", "--node", "n 1&x=y"]
            + ["--cgroup-root", self.root, "--ctl", self.ctl, "--account", self.path],
            stderr=said,
            # a proxy that nobody answers at
            env={**os.environ, "http_proxy": "http://127.0.0.1:1", "no_proxy": ""},
        )
        self.addCleanup(self.stop)

    def stop(self) -> str:
        """What it has said."""
        self.process.kill()
        self.process.wait()
        return (self.path / "said").read_text()

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT_S
        while not condition():
            self.assertLess(time.monotonic(), end, f"{self.log()} {self.server.requests[-3:]}")
            self.assertIsNone(self.process.poll())
            time.sleep(0.05)

    def test_from_the_list_to_the_end(self) -> None:
        path, other = self.cgroup(), self.cgroup(OTHER)
        self.server.items = [pod(job="bert")]
        self.server.events = [
            [event("ADDED", pod(uid=OTHER, job="gpt")), event("MODIFIED", pod(uid=OTHER, job="$"))],
            [event("BOOKMARK", {"metadata": {"resourceVersion": "30"}})],
            [event("DELETED", pod(job="bert"))],
        ]
        self.start()
        self.until(lambda: len(self.log()) == 4)
        name = NAME.replace("bert/0123abcd", "gpt/fedcba98")
        self.assertEqual(
            self.log(),
            [
                [*SET, NAME, "--cgroup", path],
                [*SET, name, "--cgroup", other],
                ["del-job", name],
                ["del-job", NAME],
            ],
        )
        self.until(lambda: self.server.requests[-1][1]["resourceVersion"] == ["1"])
        for where, query, who in self.server.requests:
            self.assertEqual(where, "/api/v1/pods")
            self.assertEqual(query["fieldSelector"], ["spec.nodeName=n 1&x=y"])
            self.assertEqual(who, "Bearer secret")

    def test_lists_again_after_an_error(self) -> None:
        self.server.events = [
            [event("ERROR", {"code": 410})],
            [b"this is no event"],
            [b'{"type": "ADDED"}', b"[]"],
            [event("ADDED", {"metadata": {}})],
        ]
        self.start()
        self.until(lambda: sum("watch" not in query for _, query, _ in self.server.requests) >= 5)
        self.cgroup()
        self.server.items = [pod(job="bert")]
        self.server.events = [[event("ERROR", {})]]
        self.until(lambda: len(self.log()) == 1)

    def test_the_log_has_one_line_for_each_refusal(self) -> None:
        self.server.items = [pod(uid=OTHER, job="\n\x1b[31m")]
        self.start()
        self.until(lambda: len(self.server.requests) >= 4)
        text = self.stop()
        self.assertEqual(len(text.splitlines()), 1, text)
        self.assertNotIn("\x1b", text)
        self.assertIn("mlcc.dev/job", text)
