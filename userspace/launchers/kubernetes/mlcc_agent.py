#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Makes jobs of the pods on this node that ask for it by annotation.

For:      Kubernetes; a container of the DaemonSet in base/, beside mlccd.
Run by:   the kubelet, as root with CAP_NET_ADMIN (by which mlccd knows who may set any job).
Install:  part of the image, by the package mlcc-agent; nothing but Python's standard library.

    mlcc.dev/job: bert-large           the job's name; asks for it
    mlcc.dev/class: background         training (default), latency or background
    mlcc.dev/profile: interleave       constants of the rule
    mlcc.dev/phase-bytes: 250MB       what this host sends in a phase

Whoever may create pods writes annotations: they are hostile until checked. What is wrong, or more
than mlccd.conf lets users have, is refused whole, with one line in the log; the pod runs without
mlcc.

The agent keeps nothing. It names a job after its pod, so that after a restart it finds in mlccd
what it has set, and a job whose pod is gone is deleted. A job has the pod's cgroup; when that goes
away, mlccd ends the job by itself.
"""

import argparse
import itertools
import json
import os
import re
import ssl
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PREFIX = "k8s/"
JOB = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,41}", re.ASCII)
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
HASH = re.compile(r"[0-9a-f]{32}", re.ASCII)
# what mlcc-ctl may be asked about: it says what is a class, a profile, a number of bytes
WORD = re.compile(r"[a-z0-9]{1,31}", re.ASCII)
NUMBER = re.compile(r"[0-9][0-9A-Za-z. ]{0,23}", re.ASCII)
REPLY_MAX = 64 << 20
EVENT_MAX = 8 << 20
CTL_TIMEOUT_S = 10
PENDING_S = 2
PAUSE_S = 0.2
WATCH_S = 60
MIRROR, CONFIG = "kubernetes.io/config.mirror", "kubernetes.io/config.hash"
ENDED = ("Succeeded", "Failed")


class RefusedError(Exception):
    """What a pod asks for is not allowed."""


@dataclass(frozen=True)
class Job:
    """What a pod asks for, checked."""

    name: str
    uid: str
    words: tuple[str, ...] = ()  # options of mlcc-ctl
    static: str | None = None  # the hash of a static pod

    @property
    def cgroup(self) -> str:
        """What the kubelet names its cgroup by."""
        return self.static or self.uid


def log(text: str) -> None:
    """One line, whatever is in it."""
    print("mlcc-agent: " + text.encode("unicode_escape").decode(), file=sys.stderr, flush=True)


def words_of(notes: dict[str, Any]) -> Iterator[str]:
    """What annotations say of a job, as mlcc-ctl takes it."""
    for name, allowed, what in (
        ("class", WORD, "training, latency or background"),
        ("profile", WORD, "a name of 'mlcc-ctl profile'"),
        ("phase-bytes", NUMBER, "bytes, such as 250M or 64MiB"),
    ):
        value = notes.get(f"mlcc.dev/{name}")
        if value is None:
            continue
        if not isinstance(value, str) or not allowed.fullmatch(value):
            raise RefusedError(f"mlcc.dev/{name}: {what}")
        yield from (f"--{name}", value)


def wanted(pod: dict[str, Any]) -> Job | None:
    """The job that a pod asks for, or None."""
    meta = pod.get("metadata") or {}
    notes = meta.get("annotations") or {}
    if "mlcc.dev/job" not in notes or pod.get("status", {}).get("phase") in ENDED:
        return None
    job, uid = notes["mlcc.dev/job"], meta.get("uid")
    if not isinstance(uid, str) or not UID.fullmatch(uid):
        raise RefusedError("its uid is none")
    if not isinstance(job, str) or not JOB.fullmatch(job):
        raise RefusedError("mlcc.dev/job: 1 to 42 letters, digits, '.', '_' and '-'")
    name = f"{PREFIX}{job}/{uid.replace('-', '')[:16]}"
    return Job(name, uid, tuple(words_of(notes)), notes[CONFIG] if is_mirror(pod) else None)


def is_mirror(pod: dict[str, Any]) -> bool:
    """Whether it stands for a static pod, whose cgroup has the hash of its manifest.

    No pod of the API server has a UID like that. But whoever creates one may write that it is a
    mirror, so Node.jobs() believes one only if no other has the same hash.
    """
    notes = (pod.get("metadata") or {}).get("annotations") or {}
    text = notes.get(CONFIG)
    return MIRROR in notes and isinstance(text, str) and bool(HASH.fullmatch(text))


def cgroup_of(uid: str, root: Path) -> Path | None:
    """Where the kubelet has put a pod: its systemd driver, or its cgroupfs driver."""
    for above, qos in itertools.product(("", "kubelet"), ("", "burstable", "besteffort")):
        names = [name for name in (above, "kubepods", qos) if name]
        # a slice is named after all slices above it
        slices = ["-".join(names[: n + 1]) + ".slice" for n in range(len(names))]
        leaf = "-".join([*names, "pod" + uid.replace("-", "_")]) + ".slice"
        for path in (root.joinpath(*slices, leaf), root.joinpath(*names, "pod" + uid)):
            if path.is_dir():
                return path
    return None


class Ctl:
    """mlcc-ctl; words are passed as words, no shell sees them."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.error = ""

    def __call__(self, *words: str) -> str | None:
        """Its output, or None if it failed: then error says why, and is logged if it is new."""
        try:
            done = subprocess.run(
                [self.command, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=CTL_TIMEOUT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return self._failed(words, str(error))
        if done.returncode:
            return self._failed(words, done.stderr.strip() or str(done.returncode))
        self.error = ""
        return done.stdout

    def _failed(self, words: tuple[str, ...], reason: str) -> None:
        before, self.error = self.error, f"mlcc-ctl {words[0]}: {reason}"
        # a pod's is told with the pod
        if words[0] != "set-job" and self.error != before:
            log(self.error)

    def names(self) -> set[str] | None:
        """Of the jobs that an agent has set on this node."""
        text = self("-j", "show")
        if text is None:
            return None
        try:
            names = {row["name"] for row in json.loads(text)}
        except (ValueError, KeyError, TypeError) as error:
            log(f"mlcc-ctl show: {error!r}")
            return None
        return {name for name in names if name.startswith(PREFIX)}


class Node:
    """The pods of this node, and what mlccd was told of them."""

    def __init__(self, ctl: Ctl, root: Path) -> None:
        self.ctl, self.root = ctl, root
        self.pods: dict[str, dict[str, Any]] = {}
        self.done: dict[str, tuple[Job, Path]] = {}
        self.stale: set[str] | None = None
        self.reasons: dict[str, str] = {}

    def _without(self, uid: str, reason: str) -> None:
        """Why a pod that asks has no job: one line, until there is another reason."""
        if self.reasons.get(uid) != reason:
            log(f"pod {uid}: {reason}; it runs without mlcc")
        self.reasons[uid] = reason

    def _hashes(self) -> Counter[str]:
        """How many pods say that they stand for the same static one."""
        mirrors = [pod["metadata"] for pod in self.pods.values() if is_mirror(pod)]
        return Counter(meta["annotations"][CONFIG] for meta in mirrors)

    def jobs(self) -> dict[str, Job]:
        """By name."""
        found, hashes = {}, self._hashes()
        self.reasons = {uid: text for uid, text in self.reasons.items() if uid in self.pods}
        for uid, pod in self.pods.items():
            try:
                job = wanted(pod)
                if job and hashes[job.cgroup] > 1:
                    raise RefusedError(f"{CONFIG}: another pod has the same")
            except RefusedError as error:
                self._without(uid, str(error))
                continue
            if job:
                found[job.name] = job
        return found

    def _delete(self, jobs: dict[str, Job]) -> None:
        if self.stale is None:
            self.stale = self.ctl.names()
        # what is set is set anew at the start, so only names without a pod are stale
        for name in sorted((self.stale or set()) - set(jobs)):
            if self.ctl("del-job", name) is not None:
                self.stale.discard(name)
        for name in sorted(set(self.done) - set(jobs)):
            # once: its cgroup is about to go, too
            self.ctl("del-job", name)
            del self.done[name]

    def reconcile(self) -> bool:
        """Tells mlccd what has changed; False if something is still to be done."""
        jobs = self.jobs()
        self._delete(jobs)
        for name, job in jobs.items():
            path = cgroup_of(job.cgroup, self.root)
            if path is None:
                # before that there is none
                if self.pods[job.uid].get("status", {}).get("phase") == "Running":
                    self._without(job.uid, f"no cgroup pod{job.cgroup} below {self.root}")
                continue
            if self.done.get(name) == (job, path):
                continue
            words = ["--name", name, "--cgroup", str(path), *job.words]
            if self.ctl("set-job", "--limited", *words) is not None:
                self.done[name] = (job, path)
                self.reasons.pop(job.uid, None)
            else:
                self._without(job.uid, self.ctl.error)
        return set(self.done) == set(jobs) and self.stale is not None


class Api:
    """The pods of one node, from the API server."""

    def __init__(self, server: str, node: str, account: Path) -> None:
        self.server, self.node, self.account = server, node, account
        authority = account / "ca.crt"
        context = ssl.create_default_context(cafile=str(authority) if authority.exists() else None)
        # a proxy of the environment is not for the API server, and not for our token
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )

    def _open(self, timeout_s: float, **query: str) -> Any:
        query["fieldSelector"] = f"spec.nodeName={self.node}"
        url = f"{self.server}/api/v1/pods?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, headers={"Accept": "application/json"})
        token = self.account / "token"
        if token.exists():
            # read each time: the kubelet renews it
            request.add_header("Authorization", f"Bearer {token.read_text().strip()}")
        return self.opener.open(request, timeout=timeout_s)

    def pods(self) -> tuple[list[dict[str, Any]], str]:
        """All of them, and the version from which a watch goes on."""
        with self._open(30, resourceVersion="0") as reply:
            text = reply.read(REPLY_MAX + 1)
        if len(text) > REPLY_MAX:
            raise ValueError("the list of pods is too long")
        document = json.loads(text)
        return document["items"], str(document["metadata"]["resourceVersion"])

    def watch(self, version: str, seconds: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Events, until the time is over."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        with self._open(seconds + 10, **query) as reply:
            while line := reply.readline(EVENT_MAX):
                event = json.loads(line)
                yield event["type"], event["object"]


def take(pods: dict[str, dict[str, Any]], kind: str, pod: dict[str, Any]) -> None:
    """One event of a watch."""
    uid = pod["metadata"]["uid"]
    if kind == "DELETED":
        pods.pop(uid, None)
    else:
        pods[uid] = pod


def follow(api: Api, node: Node) -> None:
    """Lists once, then watches, until the server says that a list is due."""
    pods, version = api.pods()
    node.pods = {pod["metadata"]["uid"]: pod for pod in pods}
    complete = node.reconcile()
    while True:
        for kind, pod in api.watch(version, WATCH_S if complete else PENDING_S):
            if kind == "ERROR":
                return
            version = pod["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                take(node.pods, kind, pod)
                complete = node.reconcile()
        complete = node.reconcile()
        # a server that ends each watch at once must not keep us busy
        time.sleep(PAUSE_S)


def default_server() -> str:
    """Where the kubelet says that the API server is."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--node", default=os.environ.get("NODE_NAME"), help="else $NODE_NAME")
    parser.add_argument("--server", default=default_server())
    parser.add_argument("--account", type=Path, default=ACCOUNT, help="holds token and ca.crt")
    root = Path("/sys/fs/cgroup")
    parser.add_argument("--cgroup-root", type=Path, default=root, help=f"the kubelet's ({root})")
    parser.add_argument("--ctl", default="mlcc-ctl")
    options = parser.parse_args(arguments)
    if not options.node:
        parser.error("--node or NODE_NAME is wanted")
    return options


def main(arguments: Sequence[str]) -> int:
    """Goes on for ever, whatever the API server does."""
    options = parse(arguments)
    node = Node(Ctl(options.ctl), options.cgroup_root)
    api = Api(options.server, options.node, options.account)
    while True:
        try:
            follow(api, node)
        except Exception as error:
            # no connection, or no answer that makes sense; jobs stay as they are meanwhile
            log(f"{options.server}: {error!r}")
        time.sleep(PENDING_S)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
