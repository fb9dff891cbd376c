# SPDX-License-Identifier: GPL-2.0
"""The cases of mlccd.sh: mlccd_driver.py BUILD DIRECTORY. Prints KTAP."""

import array
import ctypes
import fcntl
import json
import mmap
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "userspace" / "python"), str(REPO / "tests")]

from mlcc_client import units  # noqa: E402  (needs the path above)

from fake_carrier import Job  # noqa: E402

ALICE, BOB, GROUP = 61001, 61002, 61003
NOBODYS = 61009  # whom mlccd reads requests as
WAIT_S = 60 if os.environ.get("KSFT_MACHINE_SLOW") else 10
LIMIT = (1 << 48) - 1
VERSION = "0.1"
CLONE_NEWCGROUP, CLONE_NEWUSER = 0x02000000, 0x10000000
JSON = dict[str, Any]

RECORD = struct.Struct("<HHIQQQ32s")
HEAD = struct.Struct("<IIII")
MAGIC, HEAD_AT, DROPPED_AT, TAIL_AT, RECORDS_AT = 0x6D6C6363, 64, 72, 128, 192
SENT_AT, START_AT = 104, 112
SAID, SAID_AT = struct.Struct("<IIqQ"), 80
F_SEAL_FUTURE_WRITE = 0x10
SHIFT, SHIFT_AT = struct.Struct("<QQQQ"), 136

# Runs its arguments under a filter of system calls that refuses bpf(2).
WITHOUT_BPF = """
import ctypes, os, struct, sys
bpf = {"x86_64": 321}.get(os.uname().machine, 280)
code = ((0x20, 0, 0, 0), (0x15, 0, 1, bpf), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000))
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text))
libc = ctypes.CDLL(None)
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, program)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Skip(Exception):
    """What a case needs is not here."""


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for something that has to come; the time is only there so that a failure ends."""
    end = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.01)
    return value


class Peer:
    """A connection to mlccd, as any user."""

    def __init__(self, path: Path, uid: int = 0, groups: Sequence[int] = ()) -> None:
        self.socket = connect(path) if uid == 0 else connect_as(path, uid, groups)
        self.socket.settimeout(WAIT_S)

    def raw(self, data: bytes, fds: list[int] | None = None) -> JSON:
        ancillary = []
        if fds:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
        self.socket.sendmsg([data], ancillary)
        return self.reply()

    def reply(self) -> JSON:
        data = self.socket.recv(70000)
        assert data, "mlccd has closed the connection"
        return dict(json.loads(data))

    def ask(self, op: str, /, **fields: Any) -> JSON:
        return self.raw(json.dumps({"op": op, **fields}).encode())

    def ok(self, op: str, /, **fields: Any) -> JSON:
        reply = self.ask(op, **fields)
        assert reply["ok"], f"{op} {fields}: {reply}"
        return reply

    def refused(self, code: str, op: str, /, **fields: Any) -> JSON:
        reply = self.ask(op, **fields)
        assert_refused(reply, code, f"{op} {fields}")
        return reply


def assert_refused(reply: JSON, code: str, what: str) -> None:
    assert not reply["ok"] and reply["code"] == code, f"{what}: {reply}, wanted {code}"
    assert re.fullmatch(r"[ -~]{3,}", reply["error"]), f"{what}: {reply}"


def connect(path: Path) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.connect(str(path))
    return peer


def connect_as(path: Path, uid: int, groups: Sequence[int] = ()) -> socket.socket:
    """The credentials are those of the process that connects, so a child does it."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            peer = connect(path)
            socket.send_fds(theirs, [b"x"], [peer.fileno()])
        finally:
            os._exit(0)
    theirs.close()
    _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    os.waitpid(child, 0)
    assert fds, f"user {uid} cannot connect"
    return socket.socket(fileno=fds[0])


@contextmanager
def root_peer(path: Path, userns: bool) -> Iterator[Peer]:
    """Of a child that lives as long: root, in a user namespace of its own if that is wanted."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            if userns and ctypes.CDLL(None).unshare(CLONE_NEWUSER):
                os._exit(1)
            ours.close()
            peer = connect(path)
            socket.send_fds(theirs, [b"x"], [peer.fileno()])
            theirs.recv(1)
        finally:
            os._exit(0)
    theirs.close()
    try:
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
        assert fds, "there is no user namespace, or no connection"
        peer = Peer.__new__(Peer)
        peer.socket = socket.socket(fileno=fds[0])
        peer.socket.settimeout(WAIT_S)
        yield peer
    finally:
        ours.close()
        os.waitpid(child, 0)


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def status_of(pid: int) -> dict[str, list[str]]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {key: value.split() for key, _, value in (line.partition(":") for line in lines)}


def ignore_children() -> None:
    """What a starter may have chosen, and is inherited."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def has_ended(pid: int) -> bool:
    try:
        return status_of(pid)["State"][0] == "Z"
    except (OSError, KeyError):
        return True


class Daemon:
    """mlccd with a carrier in a file, and a configuration of its own."""

    def __init__(self, build: Path, base: Path) -> None:
        self.program = build / "mlccd" / "mlccd-fake"
        # where ordinary users may run it: the tree may be below /root
        self.ctl = Path(shutil.copy(build / "mlcc-ctl" / "mlcc-ctl", base))
        self.base = base
        self.run = base / "run"
        self.socket = self.run / "mlccd.sock"
        self.config = base / "mlccd.conf"
        self.carrier = base / "carrier"
        self.gone = base / "gone"
        self.log = base / "log"
        # where RDMA devices would be: plain files, all of a test's own
        self.sysroot = base / "sysroot"
        self.sysroot.mkdir(mode=0o755)
        self.user = str(NOBODYS)
        self.process: subprocess.Popen[bytes] | None = None
        self.write_config("")

    def write_config(self, limits: str) -> None:
        self.config.write_text(
            "[daemon]\ncgroup-poll-ms = 20\npeer-timeout-ms = 300\n"
            f"[limits]\nrequests-per-second = 100000\nrequests-burst = 100000\n{limits}\n"
        )

    def command(self) -> list[str]:
        return [
            *(str(self.program), "--config", str(self.config), "--run-dir", str(self.run)),
            *("--sysroot", str(self.sysroot), "--user", self.user),
        ]

    def start(self, before: Sequence[str] = (), user: str = str(NOBODYS), **env: str) -> None:
        self.user = user
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*before, *self.command()],
                env={"MLCC_FAKE": str(self.carrier), "MLCC_FAKE_GONE": str(self.gone), **env},
                stderr=log,
                preexec_fn=ignore_children,
            )
        until(self.answers, "mlccd's first reply")

    def answers(self) -> bool:
        assert self.process and self.process.poll() is None, self.log.read_text()
        try:
            return Peer(self.socket).ask("status")["ok"]
        except OSError:
            return False

    def kill(self, number: int = signal.SIGKILL) -> int:
        assert self.process
        self.process.send_signal(number)
        status = self.process.wait(WAIT_S)
        self.process = None
        return status

    def keeper(self) -> int:
        assert self.process
        return self.process.pid

    def parser(self) -> int:
        """The keeper's child, which everybody speaks to."""
        (child,) = children(self.keeper())
        return child

    def peer(self, uid: int = 0, groups: Sequence[int] = ()) -> Peer:
        return Peer(self.socket, uid, groups)

    def jobs(self) -> list[JSON]:
        jobs, after = [], 0
        while True:
            page = self.peer().ok("show", after=after)
            jobs += page["jobs"]
            if not (after := page.get("after", 0)):
                return jobs

    def snapshot(self) -> tuple[Any, ...]:
        files = sorted((f.name, f.read_text()) for f in (self.run / "jobs").iterdir())
        profiles = self.peer().ok("profile-list")["profiles"]
        return self.jobs(), files, profiles, self.carrier.read_bytes()

    def measured(self, job: int, **values: int) -> None:
        """What the carrier says of it from now on."""
        size = ctypes.sizeof(Job)
        with self.carrier.open("r+b", buffering=0) as kernel:
            kernel.seek(job * size)
            info = Job.from_buffer_copy(kernel.read(size))
            assert info.conf.id == job, info.conf.id
            for name, value in values.items():
                setattr(info, name, value)
            kernel.seek(-size, os.SEEK_CUR)
            kernel.write(info)

    def status(self) -> JSON:
        return self.peer().ok("status")

    def reset(self) -> None:
        """One whose processes end goes by itself, it may be while these are deleted."""
        for job in self.jobs():
            reply = self.peer().ask("del-job", job=job["id"])
            assert reply["ok"] or reply["code"] == "ENOENT", reply

    def run_ctl(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.ctl, "--socket", self.socket, *words],
            capture_output=True,
            text=True,
            timeout=WAIT_S * 2,
            check=False,
            **options,
        )


def cgroup_mount() -> Path | None:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where)
    return None


class Cgroups:
    """Control groups below one of our own; all go at the end."""

    def __init__(self, mount: Path) -> None:
        self.mount = mount
        self.base = mount / f"mlccd-test-{os.getpid()}"
        self.base.mkdir()

    def make(self, name: str, uid: int = 0) -> str:
        path = self.base / name
        path.mkdir(exist_ok=True)
        for part in (path, path / "cgroup.procs"):
            os.chown(part, uid, uid)
        return str(path.relative_to(self.mount))

    def remove(self, name: str) -> None:
        (self.base / name).rmdir()

    def clean(self) -> None:
        for path, _, _ in os.walk(self.base, topdown=False):
            os.rmdir(path)


class Cases:
    def __init__(self, daemon: Daemon, cgroups: Cgroups) -> None:
        self.d = daemon
        self.c = cgroups

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        before = self.d.snapshot()
        yield
        assert self.d.snapshot() == before, "something has changed"

    # requests

    def root_may_do_everything(self) -> None:
        root = self.d.peer()
        path = self.c.make("a")
        job = root.ok("set-job", name="bert", cgroup=path, phase_bytes=1000, period_us=5)["job"]
        assert job["id"] >= 1 and job["cgroup"] == path and job["uid"] == 0
        shown = root.ok("show", job="bert")["jobs"][0]
        assert shown["phase_bytes"] == shown["d_phase_bytes"] == 1000, shown
        assert shown["period_us"] == 5 and shown["iteration_us"] == 0, shown
        assert root.ok("show", job=job["id"])["jobs"][0] == shown
        root.ok("hint", job="bert", phase="start", bytes=77)
        shown = root.ok("show", job="bert")["jobs"][0]
        assert shown["d_phase_bytes"] == 77 and shown["hinted"] and shown["phases"] == 1
        root.ok("hint", job="bert", phase="end")
        assert root.ok("show", job="bert")["jobs"][0]["neutral"]
        profile = root.ok("profile-set", name="mltcp", floor=0.5, default=True)["profiles"][0]
        assert (profile["floor"], profile["slope"], profile["default"]) == (0.5, 1.75, True)
        assert root.ok("profile-show", name="mltcp")["profiles"][0] == profile
        assert [p["default"] for p in root.ok("profile-list")["profiles"]].count(True) == 1
        root.ok("profile-set", name="interleave", default=True)
        assert root.ok("del-job", job="bert")["id"] == job["id"]
        assert self.d.jobs() == []

    def a_job_is_set_as_a_whole(self) -> None:
        root, path = self.d.peer(), self.c.make("a")
        first = root.ok("set-job", name="x", cgroup=path, phase_bytes=5)["job"]
        second = root.ok("set-job", cgroup=path)["job"]
        assert second["id"] == first["id"] and second["phase_bytes"] == 0 and second["name"] == ""
        root.refused("EEXIST", "set-job", cgroup=path, create=True)
        assert len(self.d.jobs()) == 1

    def dry_run_changes_nothing(self) -> None:
        root, path = self.d.peer(), self.c.make("a")
        root.ok("set-job", name="x", cgroup=path)
        other = self.c.make("b")
        with self.unchanged():
            root.ok("set-job", cgroup=path, phase_bytes=9, dry_run=True)
            root.ok("set-job", cgroup=other, dry_run=True)
            root.ok("del-job", job="x", dry_run=True)
            root.ok("profile-set", name="mltcp", floor=0.75, dry_run=True)
            root.refused("EEXIST", "set-job", cgroup=path, create=True, dry_run=True)

    def bad_requests_change_nothing(self) -> None:
        root, path = self.d.peer(), self.c.make("a")
        root.ok("set-job", id=9, name="bert", cgroup=path, phase_bytes=1000)
        fresh = self.c.make("fresh")
        cases: list[tuple[str, str, JSON]] = [
            ("EOPNOTSUPP", "nonsense", {}),
            ("EOPNOTSUPP", "", {}),
            ("ENAMETOOLONG", "x" * 100, {}),
            ("EPROTONOSUPPORT", "status", {"version": 2}),
            ("EPROTONOSUPPORT", "status", {"version": 0}),
            ("ERANGE", "status", {"version": "1"}),
            ("EINVAL", "status", {"unknown": 1}),
            ("EINVAL", "status", {"a\x00b\n": 1}),
            ("EINVAL", "set-job", {"cgroup": fresh, "colour": "red"}),
            ("EINVAL", "set-job", {}),
            ("EINVAL", "set-job", {"name": "x"}),
            ("EINVAL", "set-job", {"cgroup": fresh, "pid": 1}),
            ("EINVAL", "set-job", {"cgroup": ""}),
            ("EINVAL", "set-job", {"cgroup": 5}),
            ("EINVAL", "set-job", {"cgroup": "/"}),
            ("EINVAL", "set-job", {"cgroup": "."}),
            ("EINVAL", "set-job", {"cgroup": f"{fresh}/../a"}),
            ("EINVAL", "set-job", {"cgroup": "../../etc"}),
            ("EINVAL", "set-job", {"cgroup": f"{fresh}\n"}),
            ("EINVAL", "set-job", {"cgroup": f"{fresh}\x00"}),
            ("ENOENT", "set-job", {"cgroup": "no/such/cgroup"}),
            ("ENOTDIR", "set-job", {"cgroup": f"{fresh}/cgroup.procs"}),
            ("ENAMETOOLONG", "set-job", {"cgroup": "x" * 5000}),
            ("EINVAL", "set-job", {"cgroup": fresh, "name": "a\x1b[2J"}),
            ("EINVAL", "set-job", {"cgroup": fresh, "name": "a b"}),
            ("EINVAL", "set-job", {"cgroup": fresh, "name": "a\x00b"}),
            ("EINVAL", "set-job", {"cgroup": fresh, "name": "ä"}),
            ("EINVAL", "set-job", {"cgroup": fresh, "name": 7}),
            ("ENAMETOOLONG", "set-job", {"cgroup": fresh, "name": "n" * 64}),
            ("EINVAL", "set-job", {"cgroup": fresh, "profile": "nonsense"}),
            ("EINVAL", "set-job", {"cgroup": fresh, "class": "bulk"}),
            ("EINVAL", "set-job", {"cgroup": fresh, "class": ""}),
            ("EINVAL", "set-job", {"cgroup": fresh, "class": 1}),
            ("ENAMETOOLONG", "set-job", {"cgroup": fresh, "class": "x" * 64}),
            ("EINVAL", "set-job", {"cgroup": fresh, "class": "latency", "phase_bytes": 5}),
            ("EINVAL", "set-job", {"cgroup": fresh, "class": "background", "period_us": 5}),
            ("ERANGE", "set-job", {"cgroup": fresh, "phase_bytes": 0}),
            ("ERANGE", "set-job", {"cgroup": fresh, "phase_bytes": -1}),
            ("ERANGE", "set-job", {"cgroup": fresh, "phase_bytes": 1 << 48}),
            ("ERANGE", "set-job", {"cgroup": fresh, "phase_bytes": 1 << 64}),
            ("ERANGE", "set-job", {"cgroup": fresh, "phase_bytes": -(1 << 64)}),
            ("ERANGE", "set-job", {"cgroup": fresh, "phase_bytes": 1.5}),
            ("ERANGE", "set-job", {"cgroup": fresh, "phase_bytes": "1"}),
            ("ERANGE", "set-job", {"cgroup": fresh, "phase_bytes": None}),
            ("ERANGE", "set-job", {"cgroup": fresh, "period_us": 1 << 32}),
            ("ERANGE", "set-job", {"cgroup": fresh, "priority_classes": 9}),
            ("ERANGE", "set-job", {"cgroup": fresh, "priority_classes": 1}),
            ("ERANGE", "set-job", {"cgroup": fresh, "priority_classes": -1}),
            *(
                ("EINVAL", "set-job", {"cgroup": fresh, "skip": skip})
                for skip in (7, "0", "65536", "9-8", "a", "1.2.3", "::1/129", "lo,", "none,lo", "ä")
            ),
            ("E2BIG", "set-job", {"cgroup": fresh, "skip": "1,2,3,4,5,6,7,8,9"}),
            ("ENAMETOOLONG", "set-job", {"cgroup": fresh, "skip": "1," * 128}),
            ("ERANGE", "show", {"after": -1}),
            ("EINVAL", "set-job", {"id": 5, "priority_classes": 2}),
            ("EINVAL", "set-job", {"cgroup": fresh, "create": 1}),
            ("ERANGE", "set-job", {"cgroup": fresh, "id": 0}),
            ("ERANGE", "set-job", {"cgroup": fresh, "id": 65536}),
            ("EBUSY", "set-job", {"cgroup": path, "id": 10}),
            ("ERANGE", "set-job", {"pid": 0}),
            ("ESRCH", "set-job", {"pid": 0x7FFFFFFF}),
            ("EINVAL", "del-job", {}),
            ("ENOENT", "del-job", {"job": "nobody"}),
            ("ENOENT", "del-job", {"job": 10}),
            ("ERANGE", "del-job", {"job": 0}),
            ("ERANGE", "del-job", {"job": 1 << 64}),
            ("ERANGE", "del-job", {"job": [9]}),
            ("ENOENT", "show", {"job": 10}),
            ("EINVAL", "hint", {"job": 9}),
            ("EINVAL", "hint", {"job": 9, "phase": "middle"}),
            ("EINVAL", "hint", {"job": 9, "phase": "end", "bytes": 5}),
            ("ERANGE", "hint", {"job": 9, "phase": "start", "bytes": 0}),
            ("ERANGE", "hint", {"job": 9, "phase": "start", "bytes": 1 << 48}),
            ("ENOENT", "hint", {"job": 10, "phase": "start"}),
            ("EINVAL", "profile-set", {}),
            ("ENOENT", "profile-set", {"name": "nonsense", "floor": 1}),
            ("ERANGE", "profile-set", {"name": "mltcp", "floor": -1}),
            ("ERANGE", "profile-set", {"name": "mltcp", "floor": 1e300}),
            ("ERANGE", "profile-set", {"name": "mltcp", "hold": 1.5}),
            ("ERANGE", "profile-set", {"name": "mltcp", "shape": 5}),
            ("EINVAL", "open-ring", {}),
            ("EINVAL", "open-ring", {"slots": 8}),
        ]
        for code, op, fields in cases:
            with self.unchanged():
                root.refused(code, op, **fields)

    def what_is_no_request_is_refused(self) -> None:
        root = self.d.peer()
        for data in (
            b"\x00",
            b"nonsense",
            b"[]",
            b'"status"',
            b"{",
            b'{"op": "status"',
            b'{"op": "status"} x',
            b'{"op": "status"}{"op": "status"}',
            b"{'op': 'status'}",
            b'{"op": "\xff\xfe"}',
            b'{"op": {"op": {"op": {"op": {"op": 1}}}}}',
        ):
            assert_refused(root.raw(data), "EBADMSG", repr(data))
        full = b'{"op":"status","pad":"' + b"x" * (65536 - 24) + b'"}'
        assert len(full) == 65536
        assert_refused(root.raw(full), "EINVAL", "a full packet")
        assert_refused(root.raw(full + b" "), "EMSGSIZE", "a packet that is too long")
        assert root.ok("status")["jobs"] == 0

    # users

    def a_user_may_use_delegated_cgroups(self) -> None:
        alice = self.d.peer(ALICE)
        path = self.c.make("alice", ALICE)
        job = alice.ok("set-job", name="mine", cgroup=path, profile="interleave")["job"]
        assert job["uid"] == ALICE
        alice.ok("hint", job="mine", phase="start", bytes=5)
        assert [j["id"] for j in alice.ok("show")["jobs"]] == [job["id"]]
        inner = self.c.make("alice/inner", ALICE)
        alice.ok("set-job", name="inner", cgroup=inner)
        alice.ok("del-job", job="inner")
        alice.ok("del-job", job=job["id"])

    def a_job_has_a_class(self) -> None:
        root, path = self.d.peer(), self.c.make("classes")
        assert root.ok("set-job", name="c", cgroup=path)["job"]["class"] == "training"
        for name in ("latency", "background"):
            fields: JSON = {"name": "c", "cgroup": path, "class": name}
            assert root.ok("set-job", **fields)["job"]["class"] == name
            (job,) = root.ok("show", job="c")["jobs"]
            assert job["class"] == name and job["neutral"], job
            self.d.kill()
            self.d.start()
            root = self.d.peer()
            assert root.ok("show", job="c")["jobs"][0]["class"] == name, "after a restart"
        with self.unchanged():
            said = root.refused("EINVAL", "set-job", cgroup=path, **{"class": "bulk"})
            assert "training, latency or background" in said["error"], said
        assert root.ok("set-job", name="c", cgroup=path)["job"]["class"] == "training"
        root.ok("del-job", job="c")

    def latency_is_for_those_who_may(self) -> None:
        path = self.c.make("alice", ALICE)
        alice = self.d.peer(ALICE)
        latency: JSON = {"cgroup": path, "class": "latency"}
        with self.unchanged():
            alice.refused("EPERM", "set-job", **latency)
        job = alice.ok("set-job", cgroup=path, **{"class": "background"})["job"]["id"]
        self.d.write_config("latency-class = yes")
        self.reload()
        assert alice.ok("set-job", **latency)["job"]["class"] == "latency"
        alice.ok("del-job", job=job)

    def a_user_may_use_nothing_else(self) -> None:
        alice = self.d.peer(ALICE)
        roots, half = self.c.make("roots"), self.c.make("half", ALICE)
        os.chown(self.c.base / "half" / "cgroup.procs", 0, 0)
        mine = self.c.make("alice", ALICE)
        with self.unchanged():
            alice.refused("EPERM", "set-job", cgroup=roots)
            alice.refused("EPERM", "set-job", cgroup=half)
            alice.refused("EPERM", "set-job", id=5)
            alice.refused("EPERM", "set-job", id=5, cgroup=mine)
            alice.refused("EPERM", "set-job", cgroup=mine, profile="hotnets22")
            alice.refused("EPERM", "set-job", cgroup=mine, priority_classes=2)
            alice.refused("EPERM", "set-job", name="x")
            alice.refused("EPERM", "profile-set", name="mltcp", floor=0.5)

    def a_process_stands_for_its_cgroup(self) -> None:
        mine, roots = self.c.make("alice", ALICE), self.c.make("roots")
        sleepers = []
        try:
            for path in (mine, roots):
                sleeper = subprocess.Popen(["sleep", "1000"])
                sleepers.append(sleeper)
                (self.c.mount / path / "cgroup.procs").write_text(str(sleeper.pid))
            alice = self.d.peer(ALICE)
            job = alice.ok("set-job", pid=sleepers[0].pid, phase_bytes=6)["job"]
            assert job["cgroup"] == mine
            with self.unchanged():
                alice.refused("EPERM", "set-job", pid=sleepers[1].pid)
                alice.refused("EINVAL", "set-job", pid=sleepers[1].pid, self=True)
            words = ["--socket", str(self.d.socket), "set-job", "--self", "--name", "me"]
            script = 'echo 0 >"$1/cgroup.procs"; shift; exec "$@"'
            done = subprocess.run(
                ["sh", "-c", script, "sh", self.c.mount / roots, self.d.ctl, *words],
                stdout=subprocess.DEVNULL,
                check=False,
            )
            assert done.returncode == 0
            assert self.d.peer().ok("show", job="me")["jobs"][0]["cgroup"] == roots
        finally:
            for sleeper in sleepers:
                sleeper.kill()
                sleeper.wait()

    def anothers_job_cannot_be_touched(self) -> None:
        alice, bob, root = self.d.peer(ALICE), self.d.peer(BOB), self.d.peer()
        path = self.c.make("alice", ALICE)
        job = alice.ok("set-job", name="mine", cgroup=path, phase_bytes=5)["job"]["id"]
        below = self.c.make("alice/bob", BOB)
        roots = self.c.make("bobs", BOB)
        root.ok("set-job", name="admin", cgroup=roots)
        above = self.c.make("outer", BOB)
        inner = self.c.make("outer/alice", ALICE)
        alice.ok("set-job", name="inner", cgroup=inner)
        with self.unchanged():
            bob.refused("EPERM", "del-job", job=job)
            bob.refused("ENOENT", "del-job", job="mine")
            bob.refused("EPERM", "hint", job=job, phase="start", bytes=1)
            bob.refused("EPERM", "show", job=job)
            bob.refused("EPERM", "set-job", cgroup=path)
            bob.refused("EPERM", "set-job", cgroup=below)
            bob.refused("EPERM", "set-job", cgroup=above)
            bob.refused("EPERM", "set-job", cgroup=roots)
            assert bob.ok("show")["jobs"] == []

    def owners_announce_and_do_nothing_else(self) -> None:
        root, alice, bob = self.d.peer(), self.d.peer(ALICE), self.d.peer(BOB)
        path = self.c.make("batch")
        words = ["--cgroup", path, "--name", "batch", "--owner", str(ALICE)]
        assert self.d.run_ctl("set-job", *words).returncode == 0
        job = self.id_of("batch")
        assert [j["name"] for j in alice.ok("show")["jobs"]] == ["batch"]
        alice.ok("hint", job="batch", phase="start", bytes=5)
        ring = Ring()
        assert alice.raw(b'{"op":"open-ring","job":"batch"}', ring.fds)["ok"]
        ring.put(job=job, bytes=99)
        until(lambda: self.phases(job) == 2, "the phase's start")
        self.d.kill()
        self.d.start()
        alice, bob, root = self.d.peer(ALICE), self.d.peer(BOB), self.d.peer()
        with self.unchanged():
            alice.refused("EPERM", "del-job", job=job)
            alice.refused("ENOENT", "del-job", job="batch")
            alice.refused("EPERM", "set-job", cgroup=path)
            alice.refused("EPERM", "set-plan", jobs=[{"job": job}])
            bob.refused("EPERM", "hint", job=job, phase="start")
            bob.refused("ENOENT", "open-ring", job="batch")
        alice.ok("hint", job=job, phase="start", bytes=6)
        root.ok("set-job", name="batch", cgroup=path, owner_gid=GROUP)
        alice.refused("EPERM", "hint", job=job, phase="start")
        self.d.peer(BOB, [5, GROUP]).ok("hint", job="batch", phase="start")
        self.d.peer(GROUP).ok("hint", job="batch", phase="end")
        with root_peer(self.d.socket, userns=True) as nobody:
            nobody.refused("EPERM", "hint", job=job, phase="start")

    def only_root_names_owners(self) -> None:
        alice, root = self.d.peer(ALICE), self.d.peer()
        path = self.c.make("alice", ALICE)
        with self.unchanged():
            alice.refused("EPERM", "set-job", cgroup=path, owner_uid=BOB)
            alice.refused("EPERM", "set-job", cgroup=path, owner_gid=ALICE)
            for field in ("owner_uid", "owner_gid"):
                root.refused("ERANGE", "set-job", cgroup=path, **{field: 0})
                root.refused("ERANGE", "set-job", cgroup=path, **{field: (1 << 32) - 1})

    def a_name_has_one_job(self) -> None:
        alice, bob, root = self.d.peer(ALICE), self.d.peer(BOB), self.d.peer()
        hers = [self.c.make(f"alice{i}", ALICE) for i in range(3)]
        alice.ok("set-job", name="bert", cgroup=hers[0])
        alice.ok("set-job", name="bert", cgroup=hers[0], phase_bytes=5)
        with self.unchanged():
            alice.refused("EEXIST", "set-job", name="bert", cgroup=hers[1])
            alice.refused("EINVAL", "set-job", name="123", cgroup=hers[1])
        bob.ok("set-job", name="bert", cgroup=self.c.make("bob", BOB))
        batch = [self.c.make(f"batch{i}") for i in range(3)]
        root.ok("set-job", name="bert", cgroup=batch[0])
        root.ok("set-job", name="bert", cgroup=batch[1], owner_uid=BOB)
        with self.unchanged():
            root.refused("EEXIST", "set-job", name="bert", cgroup=batch[2], owner_uid=BOB)
            root.refused("ENOTUNIQ", "hint", job="bert", phase="start")
        self.c.remove("alice0")
        alice.ok("set-job", name="bert", cgroup=hers[2])

    def ctl_in(self, cgroup: str, uid: int, *words: str) -> subprocess.CompletedProcess[str]:
        def enter() -> None:
            (self.c.mount / cgroup / "cgroup.procs").write_text("0")
            # as in a container, where its path is another one
            assert not ctypes.CDLL(None).unshare(CLONE_NEWCGROUP)
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)

        return self.d.run_ctl(*words, preexec_fn=enter)

    def processes_of_a_job_announce_it(self) -> None:
        """Whoever they run as, and as long as they are in its cgroup."""
        root = self.d.peer()
        train, inner, other = (self.c.make(name) for name in ("train", "train/inner", "other"))
        job = str(root.ok("set-job", name="bert", cgroup=train)["job"]["id"])
        for cgroup, status in ((train, 0), (inner, 0), (other, 2)):
            for name in (job, "bert"):
                done = self.ctl_in(cgroup, ALICE, "hint", name, "start", "5")
                assert done.returncode == status, (cgroup, done)
        for words in (["del-job", job], ["set-job", "--self"], ["set-job", "--cgroup", train]):
            assert self.ctl_in(inner, ALICE, *words).returncode == 2, words
        assert json.loads(self.ctl_in(inner, ALICE, "-j", "show").stdout) == []
        unprivileged = ["setpriv", "--bounding-set", "-all", str(self.d.ctl)]
        script = 'echo 0 >"$1/cgroup.procs"; shift; exec "$@"'
        done = subprocess.run(
            [
                *("sh", "-c", script, "sh", self.c.mount / inner, *unprivileged),
                *("--socket", self.d.socket, "hint", job, "start"),
            ],
            check=False,
        )
        assert done.returncode == 0, "root of a container"
        with root_peer(self.d.socket, userns=True) as peer:
            peer.refused("EPERM", "hint", job=int(job), phase="start")
            procs = self.c.mount / inner / "cgroup.procs"
            (child,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()[-1:]
            procs.write_text(child)
            peer.ok("hint", job=int(job), phase="start")
            os.kill(int(child), signal.SIGKILL)
            until(lambda: not procs.read_text(), "the end of the process")
            peer.refused("EPERM", "hint", job=int(job), phase="start")

    def a_process_is_told_its_job(self) -> None:
        root = self.d.peer()
        train, inner = self.c.make("train"), self.c.make("train/inner")
        beside, deep = self.c.make("train/innermost"), self.c.make("train/inner/x")
        elsewhere = self.c.make("elsewhere")
        root.ok("set-job", name="outer", cgroup=train)
        root.ok("set-job", name="inner", cgroup=inner)
        for cgroup, uid, name in (
            (train, 0, "outer"),
            (inner, 0, "inner"),
            (deep, 0, "inner"),
            (beside, 0, "outer"),
            (beside, ALICE, "outer"),
        ):
            done = self.ctl_in(cgroup, uid, "-j", "show", "--self")
            assert done.returncode == 0, done
            assert [j["name"] for j in json.loads(done.stdout)] == [name], cgroup
        for uid in (0, ALICE):
            assert self.ctl_in(elsewhere, uid, "-j", "show", "--self").returncode == 2, uid

    def a_cgroup_whose_name_is_no_text_is_refused(self) -> None:
        path = os.fsencode(self.c.base) + b"/\xff\xc0"
        os.mkdir(path)
        sleeper = subprocess.Popen(["sleep", "1000"])
        try:
            Path(os.fsdecode(path), "cgroup.procs").write_text(str(sleeper.pid))
            with self.unchanged():
                self.d.peer().refused("EINVAL", "set-job", pid=sleeper.pid)
        finally:
            sleeper.kill()
            sleeper.wait()

    def users_have_limits(self) -> None:
        self.d.write_config("jobs-per-user = 2\nprofiles = mltcp\npriority-classes = 2")
        self.reload()
        alice = self.d.peer(ALICE)
        paths = [self.c.make(f"alice{i}", ALICE) for i in range(3)]
        alice.ok("set-job", cgroup=paths[0], profile="mltcp", priority_classes=2)
        alice.ok("set-job", cgroup=paths[1])
        with self.unchanged():
            alice.refused("EDQUOT", "set-job", cgroup=paths[2])
            alice.refused("EPERM", "set-job", cgroup=paths[1], priority_classes=3)
            alice.refused("EPERM", "set-job", cgroup=paths[1], profile="interleave")
        alice.ok("set-job", cgroup=paths[1], phase_bytes=7)
        self.d.write_config("users = no")
        self.reload()
        alice.refused("EPERM", "set-job", cgroup=paths[1])
        alice.ok("del-job", job=alice.ok("show")["jobs"][0]["id"])

    def root_of_a_user_namespace_is_no_administrator(self) -> None:
        """It has all capabilities there, whatever it has here."""
        with root_peer(self.d.socket, userns=False) as root:
            assert root.ok("status")["admin"], "root is none either"
        with root_peer(self.d.socket, userns=True) as root:
            assert not root.ok("status")["admin"]
            root.refused("EPERM", "set-job", id=9)
            root.refused("EPERM", "profile-set", name="interleave", slope=2)

    def root_without_capabilities_is_nobody(self) -> None:
        """As in a container: no administrator, and no user who could own a cgroup or a job."""
        root = self.d.peer()
        roots, batch = self.c.make("roots"), self.c.make("batch")
        job = root.ok("set-job", name="batch", cgroup=batch, owner_uid=ALICE)["job"]["id"]
        with self.unchanged():
            for words in (
                ["set-job", "--id", "9"],
                ["set-job", "--cgroup", roots],
                ["del-job", str(job)],
                ["hint", str(job), "start"],
                ["show", str(job)],
                ["profile", "set", "interleave", "--slope", "2"],
            ):
                command = ["setpriv", "--bounding-set", "-all", self.d.ctl, *words]
                done = subprocess.run(
                    [*command, "--socket", self.d.socket], capture_output=True, check=False
                )
                assert done.returncode == 2, done

    def reload(self) -> None:
        assert self.d.process
        before = self.d.log.read_text().count("has read")
        self.d.process.send_signal(signal.SIGHUP)
        until(lambda: self.d.log.read_text().count("has read") > before, "the reload")

    def a_number_of_another_pid_namespace_is_refused(self) -> None:
        words = [*("unshare", "--pid", "--fork", "--mount-proc"), self.d.ctl]
        words += ["--socket", self.d.socket, "set-job", "--pid", "1"]
        with self.unchanged():
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode and "namespace" in done.stderr, done
        place = self.c.make("inside")
        (self.c.mount / place / "cgroup.procs").write_text("0")
        try:
            words[-2:] = ["--self"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        finally:
            (self.c.mount / "cgroup.procs").write_text("0")
        assert done.returncode == 0 and place in done.stdout, done

    def who_gets_no_job_is_logged_once(self) -> None:
        closed, other = self.c.make("closed"), self.c.make("closed2")
        before = len(self.d.log.read_text())
        for path in (closed, closed, other, closed):
            self.d.peer(ALICE).refused("EPERM", "set-job", cgroup=path)
        self.d.peer().refused("EINVAL", "set-job", cgroup="", name="x\x1b")
        lines = self.d.log.read_text()[before:].splitlines()
        told = [line for line in lines if "gets no job" in line]
        assert len(told) == 3 and all(str(ALICE) in line for line in told[:2]), lines
        assert closed in told[0] and other in told[1] and "\x1b" not in told[2], told

    def a_path_of_another_cgroup_namespace_is_what_it_means_there(self) -> None:
        pod, inner = self.c.make("pod"), self.c.make("pod/inner")
        there = self.d.base / "a mount"
        there.mkdir()

        def asked(shell: str, path: str) -> subprocess.CompletedProcess[str]:
            shell = f'unshare -Cm sh -c \'{shell}; shift; exec "$@"\' sh "$@"'
            words = ["sh", "-c", f"echo 0 >{self.c.mount / pod}/cgroup.procs; {shell}", "sh"]
            words += [there, self.d.ctl, "--socket", self.d.socket, "set-job", "--cgroup", path]
            return subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S)

        own = 'mount -t cgroup2 x "$1"'
        alone = f"umount -l {self.c.mount}; {own}"
        for shell, path in (
            *((own, f"{there}/inner"), (own, f"{self.c.mount}/{inner}")),
            *((alone, "inner"), (alone, f"{there}/inner")),
        ):
            done = asked(shell, path)
            assert done.returncode == 0 and f"cgroup {inner}" in done.stdout, (shell, path, done)
        with self.unchanged():
            # of two mounts, and of none
            for shell, path in ((own, "inner"), (f"umount -l {self.c.mount}", "inner")):
                done = asked(shell, path)
                assert done.returncode and "namespace of its own" in done.stderr, done

    def a_container_of_version_1_has_no_cgroup_of_its_own(self) -> None:
        """On hosts with both versions all containers may share one of version 2."""
        root, place = self.d.peer(), self.c.make("runtime")
        older = self.d.base / "version-1"
        older.mkdir()
        mount = ["mount", "-t", "cgroup", "-o", "none,name=mlcc-test", "none", older]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            print("# not tried: cgroups of version 1 cannot be mounted")
            return
        first, second = (subprocess.Popen(["sleep", "1000"]) for _ in range(2))
        try:
            for process in (first, second):
                (self.c.mount / place / "cgroup.procs").write_text(str(process.pid))
            root.ok("set-job", pid=first.pid, dry_run=True)
            (older / "container").mkdir()
            (older / "container" / "cgroup.procs").write_text(str(first.pid))
            with self.unchanged():
                reply = root.refused("EINVAL", "set-job", pid=first.pid)
            assert f"with process {second.pid}, which" in reply["error"], reply
        finally:
            for process in (first, second):
                process.kill()
                process.wait()
            with suppress(OSError):
                until(lambda: not (older / "container" / "cgroup.procs").read_text(), "its end")
                (older / "container").rmdir()
            subprocess.run(["umount", older], check=False)

    def what_needs_a_restart_is_said_at_reload(self) -> None:
        lines = {"mark-mask": "0xfff", "metrics-port": "9", "metrics-address": "127.0.0.2"}
        self.d.write_config("[daemon]\n")
        text = self.d.config.read_text().replace("[daemon]\n", "", 1)
        values = "".join(f"{key} = {value}\n" for key, value in lines.items())
        self.d.config.write_text("[daemon]\n" + values + text.rpartition("[daemon]")[0])
        before = len(self.d.log.read_text())
        self.reload()
        said = self.d.log.read_text()[before:]
        for key, value in lines.items():
            assert f"{key} = {value} needs a restart" in said, said
        assert self.d.status()["mark_mask"] == 0xFF

    def a_peer_that_never_reads_is_dropped(self) -> None:
        root = self.d.peer()
        for i in range(40):
            root.ok("set-job", name=f"job{i}", id=100 + i)
        deaf, before = self.d.peer(ALICE), self.d.status()["peers_dropped"]
        deaf.socket.setblocking(False)

        def flooded() -> bool:
            try:
                deaf.socket.send(b'{"op":"profile-list"}')
            except (BlockingIOError, ConnectionResetError, BrokenPipeError):
                return True
            return False

        until(flooded, "a full socket, or its end")
        for _ in range(20):
            assert len(root.ok("show")["jobs"]) == 40
        until(lambda: self.d.status()["peers_dropped"] == before + 1, "the end of the peer")

    def a_peer_that_floods_is_told_then_dropped(self) -> None:
        self.d.write_config("")
        text = self.d.config.read_text()
        self.d.config.write_text(re.sub("= 100000", "= 5", text))
        self.reload()
        until(lambda: self.floods(self.d.peer(BOB)), "the bucket's end")
        root = self.d.peer()
        for _ in range(50):
            root.ok("status")

    def floods(self, peer: Peer) -> bool:
        codes = []
        try:
            for _ in range(500):
                reply = peer.ask("status")
                codes.append(reply.get("code", "ok"))
        except (AssertionError, OSError):
            return codes.count("EAGAIN") > 10
        return False

    def too_many_connections_are_refused(self) -> None:
        self.d.write_config("connections-per-user = 3")
        self.reload()
        peers = [self.d.peer(ALICE) for _ in range(3)]
        for peer in peers:
            peer.ok("status")
        assert_refused(self.d.peer(ALICE).reply(), "EAGAIN", "the fourth connection")
        self.d.peer(BOB).ok("status")
        self.d.peer().ok("status")

    # two processes

    def who_reads_requests_has_no_rights(self) -> None:
        said = status_of(self.d.parser())
        assert said["Uid"] == [str(NOBODYS)] * 4 and said["Gid"] == [str(NOBODYS)] * 4, said
        assert not said["Groups"] and said["Seccomp"] == ["2"], said
        for which in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            assert int(said[which][0], 16) == 0, said
        for child in children(self.d.parser()):
            said = status_of(child)
            assert said["Uid"][0] == str(NOBODYS) and said["Seccomp"] == ["2"], said
        assert status_of(self.d.keeper())["Uid"][0] == "0"
        # what is not to be traced, nor leaves a core, has its files of root's
        assert os.stat(f"/proc/{self.d.parser()}/mem").st_uid == 0
        assert not {"bpf", "net", "user", "mlcc"} & self.kinds_open(self.d.parser())

    def kinds_open(self, pid: int) -> set[str]:
        """Of what is open, for all that is no file: bpf-map, net:[1] and such."""
        folder = Path(f"/proc/{pid}/fd")
        links = [os.readlink(folder / fd) for fd in os.listdir(folder)]
        return {re.split(r"[-:]", link.removeprefix("anon_inode:"))[0] for link in links}

    @contextmanager
    def another(self, *before: str, user: str = str(NOBODYS)) -> Iterator[dict[str, list[str]]]:
        """The daemon started otherwise: what is said of who reads requests."""
        self.d.kill(signal.SIGTERM)
        self.d.start(before, user)
        yield status_of(self.d.parser())
        self.d.kill(signal.SIGTERM)
        self.d.start()

    def without_the_user_it_is_a_number_of_nobodys(self) -> None:
        with self.another(user="mlcc-no-such-user") as said:
            assert said["Uid"][0] not in ("0", str(NOBODYS)), said
        assert "there is no user mlcc-no-such-user" in self.d.log.read_text()

    def who_may_not_be_another_user_stays_root(self) -> None:
        self.d.peer().ok("set-job", name="bert", cgroup=self.c.make("a"))
        before = self.d.snapshot()
        # nor may this one read what is another user's
        less = "--bounding-set=-setuid,-dac_override,-dac_read_search"
        with self.another("setpriv", less) as said:
            assert said["Uid"][0] == "0" and int(said["CapEff"][0], 16) == 0, said
            assert self.d.snapshot() == before, "not as it was"

    def processes_that_are_hidden_are_found(self) -> None:
        hide = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
        path = self.c.make("a")
        sleeper = subprocess.Popen(["sleep", "1000"], user=ALICE)
        (self.c.mount / path / "cgroup.procs").write_text(str(sleeper.pid))
        try:
            with self.another("unshare", "--mount", "sh", "-c", hide, "sh"):
                job = self.d.peer().ok("set-job", pid=sleeper.pid)["job"]
                assert job["cgroup"] == path, job
        finally:
            sleeper.kill()
            sleeper.wait()

    def either_ends_with_the_other(self) -> None:
        root = self.d.peer()
        root.ok("set-job", name="bert", cgroup=self.c.make("a"))
        before = self.d.snapshot()
        parser = self.d.parser()
        os.kill(parser, signal.SIGKILL)
        assert self.d.process and self.d.process.wait(WAIT_S), "the keeper says that all is well"
        self.d.start()
        assert self.d.snapshot() == before, "not as it was"
        parser = self.d.parser()
        self.d.kill()
        until(lambda: has_ended(parser), "the end of the keeper's child")
        self.d.start()
        assert self.d.snapshot() == before, "not as it was"

    def a_cgroup_that_is_closed_to_others_is_a_jobs(self) -> None:
        self.c.make("closed", ALICE)
        path = self.c.make("closed/inner", ALICE)
        outer = self.c.mount / Path(path).parent
        outer.chmod(0o700)
        job = self.d.peer().ok("set-job", cgroup=path)["job"]["id"]
        time.sleep(0.1)
        assert [j["id"] for j in self.d.jobs()] == [job], "it has ended"

    # life and death

    def jobs_survive_kill_9(self) -> None:
        root = self.d.peer()
        path, users = self.c.make("a"), self.c.make("alice", ALICE)
        root.ok("set-job", name="bert", cgroup=path, phase_bytes=1000, priority_classes=3)
        root.ok("set-job", name="marked", id=77, skip="2049, fd00::/8")
        self.d.peer(ALICE).ok("set-job", name="hers", cgroup=users)
        root.ok("hint", job="bert", phase="start")
        before = self.d.snapshot()
        for _ in range(5):
            self.d.kill()
            self.d.start()
            assert self.d.snapshot() == before, "not as it was"
        self.d.peer(BOB).refused("EPERM", "del-job", job=self.id_of("hers"))
        self.d.peer(ALICE).ok("del-job", job="hers")

    def id_of(self, name: str) -> int:
        return next(j["id"] for j in self.d.jobs() if j["name"] == name)

    def what_was_begun_is_completed(self) -> None:
        """As after a kill between the file and the carrier."""
        self.d.peer().ok("set-job", name="bert", cgroup=self.c.make("a"), phase_bytes=1000)
        before = self.d.jobs()
        self.d.kill()
        self.d.carrier.unlink()
        (self.d.run / "jobs" / ".5.new").write_text("{half")
        (self.d.run / "jobs" / "6").write_text("{half")
        self.d.start()
        assert self.d.jobs() == before
        assert not (self.d.run / "jobs" / ".5.new").exists()
        (self.d.run / "jobs" / "6").unlink()

    def a_cgroup_that_went_while_nobody_looked(self) -> None:
        self.d.peer().ok("set-job", name="bert", cgroup=self.c.make("a"))
        self.d.kill()
        self.c.remove("a")
        self.c.make("a")
        self.d.start()
        assert self.d.jobs() == []

    def a_job_ends_with_its_cgroup(self) -> None:
        root = self.d.peer()
        root.ok("set-job", name="stays", cgroup=self.c.make("stays"))
        root.ok("set-job", name="goes", cgroup=self.c.make("goes"))
        self.c.remove("goes")
        until(lambda: [j["name"] for j in self.d.jobs()] == ["stays"], "the job's end")
        assert len(list((self.d.run / "jobs").iterdir())) == 1

    def without_a_carrier_nothing_is_set(self) -> None:
        path = self.c.make("a")
        root = self.d.peer()
        root.ok("set-job", name="before", cgroup=self.c.make("b"), phase_bytes=6)
        self.d.gone.touch()
        root.refused("ENODEV", "set-job", cgroup=path)
        root.refused("ENODEV", "hint", job="before", phase="start")
        assert self.d.status()["carrier"] == "none"
        self.d.gone.unlink()
        assert [j["name"] for j in self.d.jobs()] == ["before"]
        root.ok("set-job", cgroup=path)

    def a_tag_that_fails_undoes_the_job(self) -> None:
        path = self.c.make("a")
        self.d.kill(signal.SIGTERM)
        self.d.start(MLCC_FAKE_NOTAG="1")
        root = self.d.peer()
        with self.unchanged():
            root.refused("EPERM", "set-job", cgroup=path, phase_bytes=5)
        root.ok("set-job", id=5, name="marked", phase_bytes=8)
        with self.unchanged():
            root.refused("EPERM", "set-job", id=5, cgroup=path, phase_bytes=9)
        self.d.kill(signal.SIGTERM)
        self.d.start()

    def keeps_the_old(self, wrong: str) -> None:
        assert self.d.process
        told = self.d.log.read_text().count("keeps the old")
        self.d.process.send_signal(signal.SIGHUP)
        until(
            lambda: self.d.log.read_text().count("keeps the old") > told,
            f"the refusal of {wrong!r}",
        )

    def a_configuration_that_is_away_for_a_moment_stays(self) -> None:
        self.d.write_config("users = no")
        self.reload()
        self.d.config.unlink()
        self.keeps_the_old("nothing")
        assert not self.d.status()["limits"]["users"]

    def connections_are_skipped_as_the_job_or_the_site_says(self) -> None:
        root, path = self.d.peer(), self.c.make("a")
        assert root.ok("set-job", cgroup=path)["job"]["skip"] == "lo"
        assert root.ok("set-job", cgroup=path, skip="none")["job"]["skip"] == "none"
        skip = "lo, 2049, 6000-6100, 10.9.0.0/16, fd00::/8"
        self.d.write_config(f"[jobs]\nskip = {skip}")
        self.reload()
        assert root.ok("set-job", cgroup=path)["job"]["skip"] == skip
        assert root.ok("set-job", cgroup=path, skip="lo")["job"]["skip"] == "lo"

    def a_wrong_configuration_is_refused_whole(self) -> None:
        self.d.write_config("jobs-per-user = 3")
        self.reload()
        before = self.d.status()["limits"]
        assert before["jobs_per_user"] == 3 and self.d.process
        good = self.d.config.read_text()
        for wrong in (
            "jobs-per-user = -1",
            "job = 1",
            "[nonsense]",
            "x",
            "users = maybe",
            "\0",
            "[jobs]\nskip = x",
            "[daemon]\nmetrics-address = localhost",
            "[daemon]\nmetrics-address = 1.2.3.4.5",
        ):
            self.d.config.write_text(f"[limits]\njobs-per-user = 9\n\n{wrong}\n")
            self.keeps_the_old(wrong)
            line = 4 + wrong.count("\n")
            assert f"mlccd.conf:{line}: " in self.d.log.read_text().splitlines()[-1]
            assert self.d.status()["limits"] == before
            check = subprocess.run([*self.d.command(), "--check"], capture_output=True)
            assert check.returncode == 2 and f":{line}: ".encode() in check.stderr, check
        self.d.config.write_text(good)
        assert subprocess.run([*self.d.command(), "--check"]).returncode == 0

    def a_second_daemon_is_refused(self) -> None:
        with self.unchanged():
            second = subprocess.run(self.d.command(), capture_output=True, timeout=WAIT_S)
            assert second.returncode == 2 and b"another mlccd" in second.stderr, second

    def systemd_may_bring_the_sockets(self) -> None:
        self.d.kill(signal.SIGTERM)
        path = self.d.base / "activated.sock"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(path))
        listener.listen()
        words = ["sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', "sh", *self.d.command()]
        os.dup2(listener.fileno(), 3)
        # whoever has the socket itself mounted finds the next mlccd there
        mounted = os.stat(path).st_ino
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
            daemon = subprocess.Popen(
                words,
                pass_fds=[3],
                stderr=subprocess.DEVNULL,
                env={"MLCC_FAKE": str(self.d.carrier)},
            )
            try:
                assert Peer(path).ok("status")["ok"]
            finally:
                daemon.send_signal(number)
                daemon.wait(WAIT_S)
        assert os.stat(path).st_ino == mounted
        self.d.start()

    # rings

    def hints_come_by_a_ring(self) -> None:
        root = self.d.peer()
        root.ok("set-job", id=7)
        ring = Ring()
        assert root.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
        ring.put(job=7, bytes=4242)
        until(lambda: self.phases(7) == 1, "the phase's start")
        shown = root.ok("show", job=7)["jobs"][0]
        assert shown["d_phase_bytes"] == 4242 and not shown["neutral"]
        ring.put(job=7, kind=2, bytes=0)
        until(lambda: root.ok("show", job=7)["jobs"][0]["neutral"], "the phase's end")
        for _ in range(3 * ring.slots):
            ring.put(job=7, bytes=1)
            until(lambda: ring.number(TAIL_AT) == ring.sent, "the ring's tail")
        assert self.phases(7) == 1 + 3 * ring.slots
        root.refused("EBUSY", "open-ring")

    def phases(self, job: int) -> int:
        return self.d.peer().ok("show", job=job)["jobs"][0]["phases"]

    def a_ring_hints_its_users_jobs_only(self) -> None:
        alice, root = self.d.peer(ALICE), self.d.peer()
        alice.ok("set-job", name="hers", cgroup=self.c.make("alice", ALICE))
        job = self.id_of("hers")
        root.ok("set-job", id=job + 100)
        ring = Ring(slots=16)
        assert alice.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
        ring.put(job=job, bytes=99)
        until(lambda: self.phases(job) == 1, "the phase's start")
        bad = self.d.status()["ring_records_bad"]
        ring.put(job=job + 100, bytes=99)
        until(lambda: self.d.status()["ring_records_bad"] == bad + 1, "the refusal")
        assert self.phases(job + 100) == 0, "another user's job was hinted"

    def a_ring_goes_on_with_the_next_mlccd(self) -> None:
        """No record is lost, and none is taken twice."""
        first = self.d.peer()
        first.ok("set-job", id=7)
        ring = Ring(slots=16)
        peer = self.d.peer()
        assert peer.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
        ring.put(job=7, bytes=100)
        until(lambda: self.phases(7) == 1, "the phase before")
        self.d.kill()
        for size in (200, 300):
            ring.put(job=7, bytes=size)
        self.d.start()
        assert self.phases(7) == 1, "taken without the ring"
        peer = self.d.peer()
        assert peer.raw(b'{"op":"open-ring"}', ring.fds)["code"] == "EINVAL", "sealed already"
        ring.renew()
        assert peer.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
        until(lambda: ring.number(TAIL_AT) == ring.sent, "what came meanwhile")
        ring.put(job=7, bytes=400)
        until(lambda: self.phases(7) == 4, "the phase after")
        assert self.d.peer().ok("show", job=7)["jobs"][0]["d_phase_bytes"] == 400
        status = self.d.status()
        assert (status["ring_records_bad"], status["ring_overruns"]) == (0, 0), status

    def ranks_of_a_host_have_one_phase(self) -> None:
        """With the bytes of all of them, from the first one's begin to the last one's end."""

        def shown() -> tuple[int, int, bool]:
            job = root.ok("show", job=7)["jobs"][0]
            return job["phases"], job["d_phase_bytes"], job["neutral"]

        def put(rank: int, kind: int, bytes: int, wanted: tuple[int, int, bool]) -> None:
            rings[rank].put(job=7, kind=kind, bytes=bytes)
            sent = rings[rank].sent
            until(lambda: rings[rank].number(TAIL_AT) == sent, "the ring's tail")
            assert shown() == wanted, (shown(), wanted)

        root = self.d.peer()
        root.ok("set-job", id=7)
        peers, rings = [self.d.peer() for _ in range(3)], [Ring() for _ in range(3)]
        for peer, ring in zip(peers, rings, strict=True):
            assert peer.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
        put(0, 1, 100, (1, 100, False))
        put(1, 1, 200, (1, 100, False))
        put(2, 1, 300, (1, 100, False))
        for rank in (1, 0):
            put(rank, 2, 0, (1, 100, False))
        put(2, 2, 0, (1, 100, True))
        put(1, 1, 250, (2, 650, False))
        put(0, 1, 100, (2, 650, False))
        put(1, 2, 0, (2, 650, False))
        # 2 is late: it joins, and 0, which has not said that its part is over, begins the next one
        put(2, 1, 300, (2, 650, False))
        put(0, 1, 100, (3, 650, False))
        put(0, 2, 0, (3, 650, True))
        put(0, 1, 110, (4, 110, False))
        put(1, 1, 250, (4, 110, False))
        put(0, 2, 0, (4, 110, False))
        # one is killed in its part
        peers[1].socket.close()
        until(lambda: shown()[2], "the end of the phase")
        put(2, 1, 0, (5, 110, False))

    def a_phase_that_was_over_before_it_was_read_is_one(self) -> None:
        """The daemon reads one ring after the other, and was away for a moment."""
        root = self.d.peer()
        root.ok("set-job", id=7)
        peers, rings = [self.d.peer() for _ in range(4)], [Ring() for _ in range(4)]
        for peer, ring in zip(peers, rings, strict=True):
            assert peer.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
        parser = self.d.parser()
        for phase in range(1, 4):
            os.kill(parser, signal.SIGSTOP)
            for kind in (1, 2):
                for ring in rings:
                    ring.put(job=7, kind=kind, bytes=100 if kind == 1 else 0)
            os.kill(parser, signal.SIGCONT)
            until(lambda: all(ring.number(TAIL_AT) == ring.sent for ring in rings), "the tails")
            job = root.ok("show", job=7)["jobs"][0]
            assert job["phases"] == phase, job
            assert job["d_phase_bytes"] == (100 if phase == 1 else 400), job
            until(lambda: root.ok("show", job=7)["jobs"][0]["neutral"], "the end of the phase")

    def what_ranks_have_sent_is_added_up(self) -> None:
        """Numbers that they write whenever they like, and that may be any."""

        def shown() -> JSON:
            job = root.ok("show", job=7)["jobs"][0]
            return {key: job[key] for key in job if key.startswith("ranks")}

        root = self.d.peer()
        root.ok("set-job", id=7)
        assert shown() == {}
        peers, rings = [self.d.peer() for _ in range(8)], [Ring() for _ in range(8)]
        for number, (peer, ring) in enumerate(zip(peers, rings, strict=True), 1):
            assert peer.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
            ring.put(job=7, bytes=1000)
            until(lambda n=number: shown() == {"ranks": n}, "a rank")
        for ring in rings:
            ring.set_number(SENT_AT, 5000)
            ring.set_number(START_AT, 4400)
        wanted = {"ranks": 8, "ranks_sent_bytes": 40000, "ranks_phase_bytes": 4800}
        assert shown() == wanted, shown()
        rings[0].put(job=7, kind=2)
        until(lambda: shown()["ranks_phase_bytes"] == 7 * 600, "the end of a part")
        for sent, start in ((1 << 64) - 1, 0), (0, (1 << 64) - 1), ((1 << 63), 1):
            rings[1].set_number(SENT_AT, sent)
            rings[1].set_number(START_AT, start)
            assert shown()["ranks"] == 8
        peers[1].socket.close()
        until(lambda: shown()["ranks"] == 7, "the end of a rank")
        assert shown()["ranks_sent_bytes"] == 35000

    def hints_age_by_the_clock_of_their_process(self) -> None:
        """That of a time namespace, such as a restored checkpoint has, is behind or ahead."""
        root = self.d.peer()
        for job, offset_ns in enumerate((0, -(10**14), 10**15), 1):
            root.ok("set-job", id=job)
            ring, peer, before = Ring(), self.d.peer(), self.d.status()
            assert peer.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
            now = max(time.monotonic_ns() + offset_ns, 10**10)
            os.kill(self.d.parser(), signal.SIGSTOP)
            # what has waited for longer than the last one is late, the first one, too
            for age_s in (5, 3, 0):
                ring.put(job=job, bytes=5, time=now - age_s * 10**9)
            os.kill(self.d.parser(), signal.SIGCONT)
            until(lambda r=ring: r.number(TAIL_AT) == r.sent, "the ring's tail")
            after = self.d.status()
            counts = [after[key] - before[key] for key in ("ring_records_bad", "ring_records_late")]
            assert counts == [0, 2], (offset_ns, counts)
            assert self.phases(job) == 1, self.phases(job)
        assert "hints of process" in self.d.log.read_text()

    def garbage_in_a_ring_is_counted_and_dropped(self) -> None:
        root = self.d.peer()
        root.ok("set-job", id=7)
        ring = Ring(slots=64)
        assert root.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
        before = self.d.status()
        wrong: list[JSON] = [
            {"version": 0},
            {"version": 2},
            {"version": 65535},
            {"kind": 0},
            {"kind": 3},
            {"kind": 65535},
            {"job": 0},
            {"job": 8},
            {"job": 65536},
            {"job": 0xFFFFFFFF},
            {"bytes": LIMIT + 1},
            {"bytes": (1 << 64) - 1},
            {"kind": 2, "bytes": 1},
            {"time": (1 << 64) - 1},
            {"seq": 0xFFFFFFFF},
            {"seq": (1 << 64) - 1},
            {"zero": b"\x01"},
            {"zero": b"\x00" * 31 + b"\x80"},
        ]
        for fields in wrong:
            ring.put(**{"job": 7, "bytes": 5, **fields})
        until(
            lambda: self.d.status()["ring_records_bad"] == before["ring_records_bad"] + len(wrong),
            "all of the garbage",
        )
        assert self.phases(7) == 0
        for head in ((1 << 64) - 1, ring.sent + 65, 0, 1 << 63):
            overruns = self.d.status()["ring_overruns"]
            ring.set_number(HEAD_AT, head)
            ring.wake()
            until(lambda n=overruns: self.d.status()["ring_overruns"] == n + 1, f"head {head}")
            assert ring.number(TAIL_AT) == head
        ring.memory[0:64] = os.urandom(64)
        ring.sent = 1 << 63
        ring.put(job=7, bytes=6)
        until(lambda: self.phases(7) == 1, "the good one after them")

    def wrong_rings_are_refused(self) -> None:
        event = os.eventfd(0)
        good = Ring()
        here = os.open(self.d.base, os.O_RDONLY)
        plain = os.open(self.d.base / "plain", os.O_RDWR | os.O_CREAT)
        os.ftruncate(plain, good.size)
        cases = {
            "one descriptor": good.fds[:1],
            "no memfd": [plain, event],
            "a folder": [here, event],
            "no eventfd": [good.fds[0], plain],
            "the other way round": good.fds[::-1],
            "no seals": Ring(seals=0).fds,
            "one seal": Ring(seals=fcntl.F_SEAL_SHRINK).fds,
            "not to be sealed": Ring(seals=6 | fcntl.F_SEAL_SEAL).fds,
            "an earlier mlccd's": Ring(seals=6 | F_SEAL_FUTURE_WRITE, mapped=False).fds,
            "nothing": Ring(written=False).fds,
            "write-sealed": Ring(seals=6 | fcntl.F_SEAL_WRITE, mapped=False).fds,
            "too small": Ring(size=64).fds,
            "empty": Ring(size=0, mapped=False).fds,
            "too large": Ring(size=1 << 22).fds,
            "one byte more": Ring(size=RECORDS_AT + 64 * 64 + 1).fds,
            "magic": Ring(magic=1).fds,
            "version": Ring(version=2).fds,
            "slots": Ring(told=128).fds,
            "odd slots": Ring(told=63).fds,
            "many slots": Ring(told=0xFFFFFFFF).fds,
            "no slots": Ring(told=0).fds,
            "record size": Ring(record=32).fds,
        }
        root = self.d.peer()
        # after a reply: before it the connection may be one that mlccd has not taken yet
        root.ok("status")
        open_files = self.open_files()
        for name, fds in cases.items():
            reply = root.raw(b'{"op":"open-ring"}', fds)
            assert not reply["ok"], f"{name}: {reply}"
        assert not root.raw(b'{"op":"open-ring"}', [good.fds[0]] * 3)["ok"], "three descriptors"
        assert not root.raw(b'{"op":"status"}', good.fds)["ok"], "descriptors for status"
        # connections of the case before may close only now
        until(lambda: self.open_files() <= open_files, "an end without leaked descriptors")
        assert root.raw(b'{"op":"open-ring"}', good.fds)["ok"]

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.d.parser()}/fd"))

    def a_ring_ends_with_its_connection(self) -> None:
        before = self.open_files()
        for _ in range(20):
            peer, ring = self.d.peer(), Ring()
            assert peer.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
            ring.wake()
            peer.socket.close()
            ring.wake()
        until(lambda: self.open_files() <= before, "the end of the rings")

    def a_ring_that_floods_hurts_nobody(self) -> None:
        self.d.write_config("hints-per-second = 100\nhints-burst = 10")
        self.reload()
        alice, root = self.d.peer(ALICE), self.d.peer()
        alice.ok("set-job", name="hers", cgroup=self.c.make("alice", ALICE))
        ring = Ring(slots=4096)
        assert alice.raw(b'{"op":"open-ring"}', ring.fds)["ok"]
        before = self.d.status()["ring_records"]
        for _ in range(4000):
            ring.put(job=1, bytes=5)
        for _ in range(50):
            root.ok("status")
        until(lambda: self.d.status()["ring_records_limited"] > 0, "the limit")
        assert self.d.status()["ring_records"] - before < 4000

    # plans

    def plan_of(self, job: int | str) -> dict[str, Any]:
        shown = self.d.peer().ok("show", job=job)["jobs"][0]
        return {k: v for k, v in shown.items() if k.startswith("shift_") or k == "dscp"}

    def a_plan_is_kept_and_shown(self) -> None:
        root = self.d.peer()
        root.ok("set-job", name="bert", id=9, cgroup=self.c.make("a"), phase_bytes=1000)
        root.ok("set-job", name="gpt", cgroup=self.c.make("b"))
        plan: list[JSON] = [
            {"job": "bert", "period_us": 255000, "offset_us": 141000, "lead_us": 140000},
            {"job": "gpt", "period_us": 255000, "offset_us": 0, "dscp": 0},
        ]
        with self.unchanged():
            root.ok("set-plan", jobs=plan, dry_run=True)
        assert root.ok("set-plan", jobs=plan)["ids"][0] == 9
        wanted = {"shift_period_us": 255000, "shift_state": "nobody-asks"}
        bert = wanted | {"shift_offset_us": 141000, "shift_lead_us": 140000}
        gpt = wanted | {"shift_offset_us": 0, "shift_lead_us": 0, "dscp": 0}
        assert self.plan_of("bert") == bert and self.plan_of("gpt") == gpt, self.d.jobs()
        before = self.d.snapshot()
        self.d.kill()
        self.d.start()
        assert self.d.snapshot() == before, "not as it was"
        root = self.d.peer()
        root.ok("set-job", name="bert", id=9, cgroup=self.c.make("a"), phase_bytes=7)
        assert self.plan_of("bert") == bert, "set-job has changed the plan"
        root.ok("set-job", name="gpt", cgroup=self.c.make("b"), priority_classes=2)
        assert "dscp" not in self.plan_of("gpt"), "both a DSCP and many"
        root.ok("set-plan", jobs=[{"job": "bert"}])
        assert self.plan_of("bert") == {} and self.plan_of("gpt"), self.d.jobs()

    def wrong_plans_change_nothing(self) -> None:
        root = self.d.peer()
        root.ok("set-job", name="bert", id=9, cgroup=self.c.make("a"))
        root.ok("set-job", name="classes", id=10, cgroup=self.c.make("b"), priority_classes=3)
        root.ok("set-job", name="marked", id=11)
        good: JSON = {"job": 9, "period_us": 255000, "offset_us": 5}
        root.ok("set-plan", jobs=[good | {"offset_us": 7}])
        wrong: list[tuple[str, Any]] = [
            ("EINVAL", None),
            ("EINVAL", {}),
            ("EINVAL", []),
            ("EINVAL", [9]),
            ("EINVAL", [[]]),
            ("EINVAL", [{}]),
            ("EINVAL", [{"period_us": 255000, "offset_us": 5}]),
            ("ENOENT", [{"job": "nobody", "period_us": 255000, "offset_us": 5}]),
            ("EINVAL", [good, good]),
            ("EINVAL", [good | {"colour": 1}]),
            ("ERANGE", [good | {"period_us": 0}]),
            ("ERANGE", [good | {"period_us": 999}]),
            ("ERANGE", [good | {"period_us": 60_000_001}]),
            ("ERANGE", [good | {"period_us": 1 << 64}]),
            ("ERANGE", [good | {"period_us": -255000}]),
            ("ERANGE", [good | {"period_us": 255000.5}]),
            ("ERANGE", [good | {"offset_us": 255000}]),
            ("ERANGE", [good | {"offset_us": -1}]),
            ("ERANGE", [good | {"lead_us": 255000}]),
            ("ERANGE", [good | {"lead_us": "5"}]),
            ("ERANGE", [good | {"dscp": 64}]),
            ("ERANGE", [good | {"dscp": -1}]),
            ("EINVAL", [{"job": 9, "period_us": 255000}]),
            ("EINVAL", [{"job": 9, "offset_us": 5}]),
            ("EINVAL", [{"job": 9, "lead_us": 5}]),
            ("EBUSY", [good, {"job": 10, "dscp": 8}]),
            ("EINVAL", [good, {"job": 11, "dscp": 8}]),
            ("EINVAL", [{"job": 9 + i} for i in range(257)]),
        ]
        for code, jobs in wrong:
            with self.unchanged():
                root.refused(code, "set-plan", jobs=jobs)
                root.refused(code, "set-plan", jobs=jobs, dry_run=True)
        with self.unchanged():
            root.refused("EINVAL", "set-plan")
            root.refused("EINVAL", "set-plan", jobs=[good], dry_run=1)
            root.refused("ENOENT", "open-ring", job=12)

    def a_plan_holds_for_all_jobs_or_none(self) -> None:
        """The second job's DSCP cannot be set: the first has its old plan again."""
        root = self.d.peer()
        root.ok("set-job", name="first", id=1, cgroup=self.c.make("a"))
        root.ok("set-job", name="second", id=2, cgroup=self.c.make("b"))
        root.ok("set-plan", jobs=[{"job": 1, "period_us": 5000, "offset_us": 1}])
        self.d.kill(signal.SIGTERM)
        self.d.start(MLCC_FAKE_NOTAG="1")
        root, ring = self.d.peer(), Ring()
        assert root.raw(b'{"op":"open-ring","job":1}', ring.fds)["ok"]
        jobs: list[JSON] = [
            {"job": 1, "period_us": 5000, "offset_us": 2},
            {"job": 2, "dscp": 8},
        ]
        seen = self.shift(ring)
        with self.unchanged():
            root.refused("EPERM", "set-plan", jobs=jobs)
        assert self.shift(ring) == seen
        self.d.kill(signal.SIGTERM)
        self.d.start()

    def users_plan_their_own_jobs(self) -> None:
        self.d.write_config("priority-classes = 2")
        self.reload()
        alice, bob, root = self.d.peer(ALICE), self.d.peer(BOB), self.d.peer()
        alice.ok("set-job", name="hers", cgroup=self.c.make("alice", ALICE))
        bob.ok("set-job", name="his", cgroup=self.c.make("bob", BOB))
        shift = {"period_us": 5000, "offset_us": 1}
        his = self.id_of("his")
        with self.unchanged():
            alice.refused("EPERM", "set-plan", jobs=[{"job": "hers"} | shift, {"job": his} | shift])
            alice.refused("ENOENT", "set-plan", jobs=[{"job": "his"} | shift])
            alice.refused("EPERM", "set-plan", jobs=[{"job": "hers", "dscp": 10}])
            alice.refused("EPERM", "open-ring", job=his)
        alice.ok("set-plan", jobs=[{"job": "hers", "dscp": 8} | shift])
        self.d.write_config("users = no")
        self.reload()
        with self.unchanged():
            alice.refused("EPERM", "set-plan", jobs=[{"job": "hers"}])
        root.ok("set-plan", jobs=[{"job": "hers", "dscp": 10}, {"job": "his"} | shift])

    def shift(self, ring: "Ring") -> tuple[int, ...]:
        return tuple(SHIFT.unpack(ring.memory[SHIFT_AT : SHIFT_AT + SHIFT.size]))

    def a_ring_shows_the_shift_of_its_job(self) -> None:
        alice, root = self.d.peer(ALICE), self.d.peer()
        alice.ok("set-job", name="hers", cgroup=self.c.make("alice", ALICE))
        number, ring, other = self.id_of("hers"), Ring(), Ring()
        assert alice.raw(b'{"op":"open-ring","job":"hers"}', ring.fds)["ok"]
        assert self.d.peer(ALICE).raw(b'{"op":"open-ring"}', other.fds)["ok"]
        assert self.shift(ring)[1:] == (0, 0, 0)
        plan = {"job": number, "period_us": 255000, "offset_us": 141000, "lead_us": 3}
        root.ok("set-plan", jobs=[plan])
        seq, *shown = self.shift(ring)
        assert shown == [255_000_000, 141_000_000, 3_000] and seq % 2 == 0, shown
        # what a process writes there disturbs neither mlccd nor anybody else
        ring.memory[SAID_AT : SAID_AT + SAID.size] = SAID.pack(1, 3, -4_000, 254_000_000)
        assert self.plan_of(number)["shift_state"] == "held", self.plan_of(number)
        said = [self.plan_of(number)[f"shift_{key}"] for key in ("waits", "error_us")]
        assert said == [3, -4] and self.plan_of(number)["shift_own_period_us"] == 254000
        ring.memory[SAID_AT : SAID_AT + SAID.size] = b"\xff" * SAID.size
        assert self.plan_of(number)["shift_state"] == "nonsense"
        ring.memory[SHIFT_AT : SHIFT_AT + SHIFT.size] = b"\xff" * SHIFT.size
        root.ok("set-plan", jobs=[plan | {"offset_us": 5}])
        seq, *shown = self.shift(ring)
        assert shown == [255_000_000, 5_000, 3_000] and seq % 2 == 0, shown
        # the next mlccd goes on where this one was
        self.d.kill()
        self.d.start()
        alice, root = self.d.peer(ALICE), self.d.peer()
        ring.renew()
        assert alice.raw(b'{"op":"open-ring","job":"hers"}', ring.fds)["ok"]
        after, *shown = self.shift(ring)
        assert shown == [255_000_000, 5_000, 3_000] and (after - seq) % (1 << 64) == 2, shown
        # another job, by the same number
        root.ok("del-job", job=number)
        assert self.shift(ring)[1:] == (0, 0, 0), "a shift without a job"
        root.ok("set-job", id=number, cgroup=self.c.make("roots"))
        root.ok("set-plan", jobs=[plan])
        assert self.shift(ring)[1:] == (0, 0, 0), "another user's shift"
        assert self.plan_of(number)["shift_state"] == "nobody-asks"
        assert self.shift(other) == (0, 0, 0, 0), "a shift that was not asked for"

    # metrics

    def http(self, text: bytes) -> tuple[str, str]:
        # an answer serves all who ask for a while
        time.sleep(0.1)
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(WAIT_S)
        peer.connect(str(self.d.run / "metrics.sock"))
        peer.sendall(text)
        reply = b""
        while data := peer.recv(65536):
            reply += data
        head, _, body = reply.decode().partition("\r\n\r\n")
        if m := re.search(r"Content-Length: (\d+)", head):
            assert text.startswith(b"HEAD") or len(body.encode()) == int(m[1]), head
        return head, body

    def metrics_parse(self) -> None:
        root = self.d.peer()
        root.ok("set-job", id=3, name="bert", phase_bytes=1000)
        root.ok("hint", job=3, phase="start", bytes=2000)
        head, body = self.http(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert head.startswith("HTTP/1.1 200 OK\r\n") and "application/openmetrics-text" in head
        samples = openmetrics(body)
        label = 'job="3",name="bert",uid="0"'
        assert samples[f"mlcc_job_d_phase_bytes{{{label}}}"] == 2000
        assert samples[f"mlcc_job_phases_total{{{label}}}"] == 1
        for name in ("flows", "sent_bytes_total", "retransmits_total", "ce_total"):
            assert f"mlcc_job_{name}{{{label}}}" in samples, name
        for name in ("progress_ratio", "iteration_seconds"):
            assert f"mlcc_job_{name}{{{label}}}" in samples, name
        assert samples["mlcc_jobs"] == 1

    def metrics(self) -> dict[str, float]:
        return openmetrics(self.http(b"GET /metrics HTTP/1.0\r\n\r\n")[1])

    def iterates(self, job: int, phases: int, ms: int, **more: int) -> JSON:
        """An iteration, half of it communication, which mlccd sees when it is asked."""
        us = {"iteration_us": ms * 1000, "comm_us": ms * 500, "phases": phases}
        self.d.measured(job, **{"flows": 2, "d_phase": 1000, **us, **more})
        shown: JSON = self.d.peer().ok("show", job=job)["jobs"][0]
        return shown

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
        self.wipe_carrier()
        self.d.gone.unlink()
        until(lambda: self.phases_or_none(7) is not None, "the job in the new carrier")
        assert phases() == 3, phases()
        root.ok("hint", job=7, phase="start", bytes=5)
        root.ok("set-job", id=7, name="counted", phase_bytes=9)
        assert phases() == 4, phases()
        assert root.ok("show", job=7)["jobs"][0]["phases"] == 4
        self.d.kill()
        self.d.start()
        assert phases() == 4, "what was lost is forgotten"
        self.d.kill(signal.SIGTERM)
        self.wipe_carrier()
        self.d.start()
        assert phases() == 4, "what was seen last is forgotten"
        self.d.kill()
        self.d.carrier.unlink()
        self.d.start()

    def wipe_carrier(self) -> None:
        with self.d.carrier.open("r+b") as kernel:
            size = self.d.carrier.stat().st_size
            kernel.truncate(0)
            kernel.truncate(size)

    def phases_or_none(self, job: int) -> int | None:
        value: int | None = self.d.peer().ok("show", job=job)["jobs"][0].get("phases")
        return value

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
        failed = subprocess.run(self.d.command(), capture_output=True, timeout=WAIT_S)
        assert failed.returncode == 2 and b"of 192.0.2.1: " in failed.stderr, failed
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
        assert " 200 " in head.partition("\r\n")[0], head
        # it did not have to wait until they timed out: those that came last are there still
        idle[-1].setblocking(False)
        with suppress(BlockingIOError):
            raise AssertionError(f"the last one has ended: {idle[-1].recv(1)!r}")
        for peer in idle:
            peer.close()

    # mlcc-ctl

    def ctl_sets_shows_and_deletes(self) -> None:
        path = self.c.make("a")
        done = self.d.run_ctl(
            "set-job", "--cgroup", path, "--name", "b", "--model", "resnet50", "--workers", "4"
        )
        assert done.returncode == 0, done
        shown = json.loads(self.d.run_ctl("-j", "show", "b").stdout)
        assert shown[0]["phase_bytes"] == 153342192, shown
        assert "b" in self.d.run_ctl("show").stdout
        assert json.loads(self.d.run_ctl("status", "-j").stdout)["jobs"] == 1
        assert self.d.run_ctl("hint", "b", "start", "1.5M").returncode == 0
        assert self.d.jobs()[0]["d_phase_bytes"] == 1500000
        assert self.d.run_ctl("--dry-run", "del-job", "b").returncode == 0
        assert len(self.d.jobs()) == 1
        assert self.d.run_ctl("del-job", "b").returncode == 0
        assert self.d.jobs() == []

    def ctl_shows_many(self) -> None:
        root = self.d.peer()
        wanted = [i * 3 // 2 for i in range(1, 131)]
        for i in wanted:
            root.ok("set-job", id=i, name=f"n{i:062d}")
        for words in (["show"], ["watch", "--count", "1"]):
            shown = json.loads(self.d.run_ctl("-j", *words).stdout)
            assert [j["id"] for j in shown] == wanted, words
            head, *lines = self.d.run_ctl(*words).stdout.splitlines()
            assert "NAME" in head and [int(x.split()[0]) for x in lines] == wanted, words
        again = self.d.run_ctl("-j", "watch", "--interval", "1ms", "--count", "2").stdout
        assert [len(json.loads(line)) for line in again.splitlines()] == [130, 130]

    def ctl_watch_fits_100_columns(self) -> None:
        """With the longest of everything; what is not known is called so."""
        most = 4294967295
        root = self.d.peer()
        for number, name, more in (
            (1, "n" * 63, {"period_us": most}),
            (2, "new", {}),
            (3, "bert", {"period_us": 200000, "phase_bytes": 5000000}),
        ):
            root.ok("set-job", id=number, name=name, **more)
        us = dict.fromkeys(("iteration_us", "comm_us", "flows", "phases"), most)
        self.d.measured(1, d_phase=1 << 47, **us)
        wrong = {"d_phase": 50000000, "d_learnt": 9000000, "neutral": True}
        self.iterates(3, 1, 250, **wrong, bytes=1000000)
        words = [self.d.ctl, "--socket", self.d.socket, "watch", "--interval", "300ms"]
        with subprocess.Popen([*words, "--count", "2"], stdout=subprocess.PIPE, text=True) as watch:
            assert watch.stdout
            first = [watch.stdout.readline() for _ in range(4)]
            self.d.measured(3, bytes=901000000, retrans=1800)
            self.d.measured(1, bytes=1 << 60, retrans=1 << 62)
            second = [watch.stdout.readline() for _ in range(4)]
        for line in first + second:
            assert len(line.rstrip("\n")) <= 100 and line.isascii(), (len(line), line)
        new, bert = (line.split() for line in first[2:])
        assert new == ["2", "new", "no", "flows", *["unknown"] * 6, "none"], new
        assert bert[2:8] == ["neutral", "250.0", "250.0", "200.0", "announced", "50.0"], bert
        assert bert[8:] == ["unknown", "unknown", "false"], bert
        bert = second[3].split()
        assert float(bert[8].replace("k", "e3")) > 9 and bert[9] == "2.0", bert
        assert second[1].split()[1] == "n" * 15 + "~"

    def ctl_shows_the_longest_paths(self) -> None:
        """The cgroups of users must not make a page of root's list too long."""
        alice, deep = self.d.peer(ALICE), "deep"
        self.c.make(deep, ALICE)
        while len(str(self.c.base)) + len(deep) < 3800:
            deep += "/" + "d" * 200
            self.c.make(deep, ALICE)
        for i in range(16):
            alice.ok("set-job", cgroup=self.c.make(f"{deep}/{i}", ALICE))
        assert len(json.loads(self.d.run_ctl("-j", "show").stdout)) == 16

    def ctl_explains(self) -> None:
        def explained(status: int) -> dict[str, tuple[str, str]]:
            done = self.d.run_ctl("-j", "explain", "bert")
            assert done.returncode == status, done
            assert self.d.run_ctl("explain", "bert").returncode == status
            return {x["check"]: (x["state"], x["text"]) for x in json.loads(done.stdout)}

        root, path = self.d.peer(), self.c.make("a")
        inner = self.c.make("a/inner")
        root.ok("set-job", name="bert", cgroup=path)
        found = explained(2)
        assert found["active"] == ("FAIL", "no process is in its cgroup"), found
        assert found["hints"][0] == found["d_phase"][0] == "note", found
        sleeper = subprocess.Popen(["sleep", "1000"])
        try:
            (self.c.mount / inner / "cgroup.procs").write_text(str(sleeper.pid))
            root.ok("hint", job="bert", phase="start", bytes=5000000)
            found = explained(0)
            assert found["active"][0] == "note", found
            assert found["hints"] == ("ok", "its phases are announced"), found
            assert found["d_phase"][0] == "ok" and "5M bytes" in found["d_phase"][1], found
        finally:
            sleeper.kill()
            sleeper.wait()

    def a_cgroup_of_services_is_warned_of(self) -> None:
        path = self.c.make("services")
        for name in ("a.service", "b.service"):
            assert "warning" not in self.d.peer().ok("set-job", cgroup=path), name
            self.c.make(f"services/{name}")
        assert "2 services" in self.d.peer().ok("set-job", cgroup=path)["warning"]
        done = self.d.run_ctl("set-job", "--cgroup", path)
        assert done.returncode == 0 and "2 services" in done.stderr, done

    def ctl_explain_does_not_know(self) -> None:
        """What a job takes alone, if it has met others; whether so many bytes are sent."""
        job: JSON = {
            **{"id": 1, "name": "bert", "class": "training", "flows": 2, "phases": 40},
            **{"d_phase_bytes": 50000000, "iteration_us": 210000, "comm_us": 110000},
            **{"best_us": 105000, "bytes": 200000000, "retrans": 0, "ce": 0},
        }
        other: JSON = {"id": 2, "name": "vgg", "flows": 2}
        false, hinted = {"phase_bytes": 50000000, "hits": 0}, {"hinted": True}
        announced = {"alone_us": 135000, "alone_from": "announced"}
        measured = {"alone_us": 209000, "alone_from": "measured"}
        for more, time_, hints in (
            (measured, "ok .* alone 209.0 .measured.: 1.00", "note none arrive"),
            ({}, "note an iteration took 210.0 ms.* alone unknown", "note none"),
            (announced, "note .* alone 135.0 .announced.: 1.56", "note none"),
            (false, "note", "note .* sent is unknown"),
            ({**false, "d_learnt_bytes": 5000000}, "note", "FAIL --phase-bytes .* 50M .* 5M"),
            # as the carrier has it once it no longer believes the announcement
            (
                {**false, "d_learnt_bytes": 5000000, "d_phase_bytes": 0},
                *("note", "FAIL --phase-bytes .* 50M .* 5M"),
            ),
            ({**false, **hinted}, "note", "FAIL --phase-bytes .* 50M .* 5M"),
            (hinted, "note", "FAIL 50M bytes are announced, 5M"),
            (
                {**false, **hinted, "d_phase_bytes": 5000000},
                *("note", "FAIL --phase-bytes .* 50M .* 5M"),
            ),
            (
                {**false, **hinted, "d_phase_bytes": 9000000, "phases": 2},
                *("note", "FAIL --phase-bytes .* 50M bytes, its processes 9M"),
            ),
            ({**hinted, "bytes": 2000000000}, "note", "ok its phases are announced"),
        ):
            found = self.explained_of([{**job, **more}, other])
            assert re.match(time_, found["time"]), (more, found)
            assert re.match(hints, found["hints"]), (more, found)

        for timeouts, said in ((0, None), (1, "waits less long"), (3, "keeps its window")):
            wait = self.explained_of([{**job, "timeouts": timeouts}]).get("wait")
            assert wait is None if said is None else said in (wait or ""), (timeouts, wait)

    def explained_of(self, jobs: list[JSON]) -> dict[str, str]:
        """explain, told this by one that plays mlccd."""
        path = self.d.run / "played.sock"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.bind(str(path))
            server.listen()

            def play() -> None:
                peer, _ = server.accept()
                with peer:
                    while text := peer.recv(65536):
                        asked = json.loads(text)
                        some = jobs[:1] if "job" in asked else jobs
                        peer.send(json.dumps({"ok": True, "jobs": some}).encode())

            player = threading.Thread(target=play, daemon=True)
            player.start()
            done = self.d.run_ctl("--socket", str(path), "-j", "explain", "bert")
            player.join(10)
        return {x["check"]: f"{x['state']} {x['text']}" for x in json.loads(done.stdout)}

    def the_daemon_stops_when_root_asks(self) -> None:
        user = self.d.peer(uid=ALICE)
        user.refused("EPERM", "stop")
        self.d.peer().ok("set-job", id=7, name="stays")
        self.d.peer().ok("stop")
        assert self.d.process is not None
        assert self.d.process.wait(10) == 0
        self.d.start()
        assert [j["name"] for j in self.d.peer().ok("show")["jobs"]] == ["stays"]

    def ctl_exit_statuses(self) -> None:
        for words, status in (
            ([], 1),
            (["nonsense"], 1),
            (["--help"], 0),
            (["set-job", "--nonsense"], 1),
            (["set-job", "--phase-bytes", "0", "--self"], 1),
            (["set-job", "--phase-bytes", "-1", "--self"], 1),
            (["set-job", "--phase-bytes", "1e99", "--self"], 1),
            (["set-job", "--model", "nonsense", "--workers", "2", "--self"], 1),
            (["set-job", "--model", "vgg16", "--self"], 1),
            (["set-job", "--model", "vgg16", "--workers", "1", "--self"], 1),
            (["set-job", "--model", "list"], 0),
            (["set-job", "--owner", "no such", "--self"], 1),
            (["set-job", "--owner", ":", "--self"], 1),
            (["set-job", "--owner", "root", "--self"], 1),
            (["set-job", "--cgroup", "no/such"], 2),
            (["del-job", "nobody"], 2),
            (["explain", "nobody"], 2),
            (["explain"], 1),
            (["hint", "nobody", "middle"], 1),
            (["profile", "set", "mltcp"], 1),
            (["run"], 1),
            # a mistake is one with and without mlccd, and nothing has run then
            (["run", "--name", "a b", "--", "true"], 1),
            (["run", "--name", "12", "--", "true"], 1),
            (["run", "--name", "x" * 64, "--", "true"], 1),
            (["run", "--profile", "nonsense", "--", "true"], 1),
            (["run", "--class", "nonsense", "--", "true"], 1),
            (["run", "--class", "latency", "--phase-bytes", "5", "--", "true"], 1),
            (["run", "--skip", "nonsense", "--", "true"], 1),
            (["run", "--priority", "1", "--", "true"], 1),
            (["run", "--priority", "2", "--dscp", "8", "--", "true"], 1),
            (["--socket", "/nonexistent", "run", "--profile", "nonsense", "--", "true"], 1),
            (["--socket", "/nonexistent", "status"], 3),
        ):
            done = self.d.run_ctl(*words)
            assert done.returncode == status, (words, done)
            assert status == 0 or done.stderr, words

    def waiting(self) -> int:
        """Ends of mlccd's control socket, those that it has not accepted too."""
        return Path("/proc/net/unix").read_text().count(f"{self.d.socket.resolve()}\n")

    def ctl_finds_a_container(self) -> None:
        """By what its runtime says, if that is true here."""
        number, folder = "0123456789abcdef" * 4, self.d.base / "runtimes"
        folder.mkdir()
        path = self.c.make(f"docker-{number}.scope")
        sleeper = subprocess.Popen(["sleep", "1000"])
        (self.c.mount / path / "cgroup.procs").write_text(str(sleeper.pid))

        def asked(says: str) -> subprocess.CompletedProcess[str]:
            (folder / "docker").write_text(f"#!/bin/sh\n{says}\n")
            (folder / "docker").chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:/usr/bin:/bin"}
            words = ("set-job", "--container", "train")
            return self.d.run_ctl(*words, env=environment, preexec_fn=ignore_children)

        try:
            done = asked(f'[ "$5" = train ] && echo {sleeper.pid} {number}')
            assert done.returncode == 0, done
            assert [job["cgroup"] for job in self.d.jobs()] == [path]
            self.d.reset()
            for says, why in (
                (f"echo {os.getpid()} {number}", "no cgroup of its own"),
                (f"echo 0 {number}", "does not run"),
                ("exit 1", "apptainer"),
                ("echo nonsense", "apptainer"),
            ):
                done = asked(says)
                assert done.returncode == 2 and why in done.stderr, (says, done)
            # no longer the container's once mlccd looks
            parser = self.d.parser()
            with ThreadPoolExecutor(1) as pool:
                os.kill(parser, signal.SIGSTOP)
                try:
                    until(lambda: status_of(parser)["State"][0] == "T", "the stop")
                    before = self.waiting()
                    late = pool.submit(asked, f"echo {sleeper.pid} {number}")
                    until(lambda: self.waiting() > before, "the request")
                    elsewhere = self.c.mount / self.c.make("other") / "cgroup.procs"
                    elsewhere.write_text(str(sleeper.pid))
                finally:
                    os.kill(parser, signal.SIGCONT)
                done = late.result()
            assert done.returncode == 2 and "has ended" in done.stderr, done
            assert self.d.jobs() == []
        finally:
            sleeper.kill()
            sleeper.wait()

    def ctl_takes_units(self) -> None:
        """Python's tools have the same numbers, and words for what is none."""

        said: list[str] = []

        def told(option: str, text: str, *more: str) -> str:
            words = ("--dry-run", "run", option, text, *more, "--", "true")
            done = self.d.run_ctl(*words)
            if done.returncode == 1:
                assert " is wanted" in done.stderr and not done.stdout, done
                said.append(done.stderr.strip().partition(f"{option} ")[2])
                return ""
            return done.stdout

        for text, wanted in (
            *(("1000", 1000), ("1e6", 10**6), ("250k", 250000), ("250K", 250000)),
            ("1.5G", 15 * 10**8),
            *(("250M", 25 * 10**7), ("250MB", 25 * 10**7), ("250 MB", 25 * 10**7), ("1T", 10**12)),
            *(("64Mi", 64 << 20), ("250MiB", 250 << 20), ("1KiB", 1024), (str(LIMIT), LIMIT)),
        ):
            assert f'"phase_bytes":{wanted},' in told("--phase-bytes", text), text
            assert units.nbytes(text) == wanted, text
        wrong = ["", "0", "0.4", "-1", "k", "0x10", "250Mb", "250MBB", "1Bi", "1.2.3", "inf", "nan"]
        for text in [*wrong, "1,5", str(LIMIT + 1), "1e99", " 1", "1 "]:
            assert not told("--phase-bytes", text), text
            with suppress(ValueError):
                raise AssertionError(f"{text!r} is {units.nbytes(text)}")
        parsers: tuple[tuple[str, str, Callable[[str], float]], ...] = (
            ("--phase-bytes", "250Mb", units.nbytes),
            ("--period", "250m", lambda text: units.time_us(text, 1, 4294967295)),
            ("--priority", "9", lambda text: units.whole(text, 0, 8)),
        )
        for option, text, parse in parsers:
            told(option, text)
            try:
                parsed = f"it is {parse(text)}"
            except ValueError as error:
                parsed = str(error)
            assert parsed == said[-1], (parsed, said[-1])
        for text in ("7b", "7B", "7G", "7000M", "7000000000"):
            answer = told("--parameters", text, "--workers", "4")
            assert '"phase_bytes":42000000000,' in answer, text
        for text in ("250ms", "0.25s", "250000us"):
            assert '"period_us":250000,' in told("--period", text), text
        assert not told("--period", "250") and not told("--period", "250m")
        for text in ("100", "40", "-1", "x", "nan"):
            done = self.d.run_ctl("profile", "set", "mltcp", f"--slope={text}")
            assert done.returncode == 1 and "from 0 to 32 is wanted" in done.stderr, done
        self.d.peer().refused("ERANGE", "profile-set", name="mltcp", slope=40)

    def ctl_runs_a_command_as_a_job(self) -> None:
        def run(*words: str) -> subprocess.CompletedProcess[str]:
            return self.d.run_ctl("run", "--strict", "--name", "train", "--", *words)

        inside = run("sh", "-c", f"tail -1 /proc/self/cgroup; {self.d.ctl} --socket "
                     f"{self.d.socket} -j show train; exit 7")  # fmt: skip
        assert inside.returncode == 7, inside
        where, shown = inside.stdout.splitlines()
        assert where == "0::/" + json.loads(shown)[0]["cgroup"], inside
        until(lambda: not (self.c.mount / where[4:]).exists(), "the end of its cgroup")
        assert self.d.jobs() == []
        assert run("/nonexistent").returncode == 127
        assert run("/dev/null").returncode == 126
        assert run("sh", "-c", "kill -KILL $$").returncode == -signal.SIGKILL
        left = run("sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!")
        pid = int(left.stdout)
        until(lambda: not Path(f"/proc/{pid}").exists(), "the end of what was left")

    def ctl_run_gives_rdma_its_class(self) -> None:
        names = ("NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS")
        print_both = "; ".join(f"echo ${{{name}-none}}" for name in names)

        def classes(*words: str, **chosen: str) -> subprocess.CompletedProcess[str]:
            environment = {k: v for k, v in os.environ.items() if k not in names} | chosen
            command = ["run", *words, "--", "sh", "-c", print_both]
            return self.d.run_ctl(*command, env=environment)

        assert classes().stdout == classes("-v").stdout == "none\nnone\n"
        assert classes("--dscp", "0").stdout == "0\n0\n"
        done = classes("--strict", "--name", "bert", "--dscp", "32", "--verbose")
        assert done.stdout == "128\n128\n", done
        assert done.stderr.count("=128\n") == 2, done
        done = classes("--strict", "-v", "--dscp", "63", NCCL_IB_TC="96")
        assert done.stdout == "96\n252\n" and "NCCL_IB_TC=96, as it was" in done.stderr, done
        # while it runs mlccd has it, too
        shown = self.d.run_ctl("run", "--name", "gpt", "--dscp", "8", "--", "sh", "-c",
                               f"{self.d.ctl} --socket {self.d.socket} -j show gpt")  # fmt: skip
        assert json.loads(shown.stdout)[0]["dscp"] == 8, shown
        for word in ("64", "-1", "x", ""):
            assert classes("--dscp", word).returncode == 1, word
        assert classes("--dry-run", "--dscp", "32").stdout.count("traffic class 128") == 1
        until(lambda: self.d.jobs() == [], "the end of the jobs")

    def ctl_run_passes_signals_on(self) -> None:
        words = [self.d.ctl, "--socket", self.d.socket, "run", "--", "sh", "-c"]
        script = "trap 'exit 42' TERM; echo ready; while :; do sleep 0.05; done"
        process = subprocess.Popen([*words, script], stdout=subprocess.PIPE)
        assert process.stdout and process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.wait(WAIT_S) == 42
        until(lambda: self.d.jobs() == [], "the end of the job")

    def ctl_run_becomes_the_command(self) -> None:
        """Whoever ends what they have started has ended the training, and what that started."""
        words = [self.d.ctl, "--socket", self.d.socket, "run", "--name", "train", "--"]
        process = subprocess.Popen(
            [*words, "sh", "-c", "sleep 1000 >/dev/null & echo $$ $!; wait"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        itself, child = map(int, process.stdout.readline().split())
        assert itself == process.pid
        taken = self.d.run_ctl("run", "--name", "train", "--", "echo", "ran")
        assert (taken.returncode, taken.stdout) == (1, ""), taken
        environment = {**os.environ, "MLCC_JOB_ID": "train"}
        taken = self.d.run_ctl("run", "--name", "train", "--any-name", "--", "sh", "-c",
                               f"{self.d.ctl} --socket {self.d.socket} show --self; "
                               "echo $MLCC_JOB_ID", env=environment)  # fmt: skip
        assert taken.stdout.split()[-1] != "train" and "no name" in taken.stderr, taken
        assert re.search(rf"^id +{taken.stdout.split()[-1]}$", taken.stdout, re.MULTILINE), taken
        process.kill()
        process.wait(WAIT_S)
        until(lambda: not Path(f"/proc/{child}").exists(), "the end of what it has started")
        # the name is free for the next one, however soon that comes
        for _ in range(5):
            done = self.d.run_ctl("run", "--strict", "--name", "train", "--", "true")
            assert done.returncode == 0, done
        until(lambda: self.d.jobs() == [], "the end of the jobs")
        until(lambda: not (self.own_cgroup() / f"mlcc-run-{itself}").exists(), "its cgroup's end")

    def own_cgroup(self) -> Path:
        (own,) = re.findall(r"^0::/(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
        return self.c.mount / own

    def ctl_run_takes_any_state(self) -> None:
        """What a launcher may have chosen reaches the command, and keeps nobody from it."""
        command = [str(self.d.ctl), "--socket", str(self.d.socket), "run", "--", "sh", "-c"]
        for before in (
            "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
            "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
            "os.umask(0o777)",
            "os.closerange(0, 3)",
            "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))",
            "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
            "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
        ):
            words = [sys.executable, "-c", f"import os; {before}; os.execv({command[0]!r}, "
                     f"[*{command!r}, 'exit 7'])"]  # fmt: skip
            done = subprocess.run(words, cwd=self.d.base, timeout=WAIT_S * 2, check=False)
            assert done.returncode == 7, (before, done)
        until(lambda: self.d.jobs() == [], "the end of the jobs")

    def ctl_run_survives_each_failure(self) -> None:
        words = [REPO / "tests/each_call.py", self.d.ctl, "--socket", self.d.socket]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        if done.stderr.startswith("no filter"):
            raise Skip(done.stderr.strip())
        assert done.returncode == 0, done
        until(lambda: self.d.jobs() == [], "the end of the jobs")

    # RDMA

    QPS = (
        "# qpn on rate target alpha cnps sent job progress\n"
        "17 1 40000 50000 100 3 1000000 7 500\n"
        "18 1 30000 50000 100 2 500000 7 -\n"
        "19 0 0 0 0 0 70000 8 -\n"
        "20 1 50000 50000 0 0 9 0 -\n"
    )

    def rdma_file(self, name: str, text: str) -> Path:
        path = self.d.sysroot / name
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @contextmanager
    def rdma(self) -> Iterator["Follow"]:
        """A soft-RoCE device with QPs of jobs 7 and 8, and a follow of job 7."""
        self.rdma_file("sys/kernel/debug/rxe/rxe0/qps", self.QPS)
        counters = "sys/class/infiniband/rxe0/ports/1/hw_counters"
        self.rdma_file(f"{counters}/np_ecn_marked_roce_packets", "11\n")
        self.rdma_file(f"{counters}/rp_cnp_handled", "5\n")
        self.rdma_file("sys/class/infiniband/bnxt_re0/ports/1/hw_counters/rx_cnp_pkts", "4\n")
        follow = Follow(self.rdma_file(f"run/mlcc/follow/{Follow.NAME}", ""))
        try:
            yield follow
        finally:
            follow.stop()
            for name in ("sys", "run"):
                shutil.rmtree(self.d.sysroot / name)

    def rdma_of(self, job: int, uid: int = 0) -> list[JSON]:
        shown = self.d.peer(uid).ok("show", job=job)["jobs"][0]
        assert ("rdma" in shown) == ("rdma" in shown.get("transports", [])), shown
        return shown.get("rdma", [])

    def rdma_is_shown_beside_tcp(self) -> None:
        root = self.d.peer()
        root.ok("set-job", id=7, name="bert")
        root.ok("set-job", id=9)
        assert "transports" not in root.ok("show", job=9)["jobs"][0]
        with self.rdma():
            until(lambda: len(self.rdma_of(7)) == 2, "both devices")
            qps, follow = sorted(self.rdma_of(7), key=lambda u: "knob" in u)
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
            assert self.rdma_of(9) == []
            lines = self.d.run_ctl("show").stdout.splitlines()
            text = "\n".join(line.strip() for line in lines)
            assert "rdma rxe0: 2 QPs, 1.5M sent, 5 CNPs, at 70Mb/s (slowest 30Mb/s)" in text, text
            assert (
                "rdma mlx5_0: mlx5:0000:03:00.0 rp_ai_rate 8 Mb/s, gain 1.50, base 5 Mb/s" in text
            ), text
            watched = self.d.run_ctl("-j", "watch", "--count", "1").stdout
            assert [len(j.get("rdma", [])) for j in json.loads(watched)] == [2, 0]
            assert "rdma rxe0: 2 QPs" in self.d.run_ctl("show", "bert").stdout
        until(lambda: self.rdma_of(7) == [], "the end of the devices")

    def rdma_without_dcqcn_has_no_rate(self) -> None:
        self.d.peer().ok("set-job", id=8)
        with self.rdma():
            until(lambda: self.rdma_of(8), "the device")
            (use,) = self.rdma_of(8)
            assert use["qps"] == 1 and "rate_kbps" not in use, use

    def rxe_rules(self, device: str, text: str = "") -> Path:
        """A file of a driver's rules; a plain one keeps what was written last."""
        return self.rdma_file(f"sys/kernel/debug/rxe/{device}/jobs", text)

    def soft_roce_is_told_of_jobs(self) -> None:
        root = self.d.peer()
        path = self.c.make("rxe")
        group = (self.c.mount / path).stat().st_ino
        with self.rdma():
            rules = self.rxe_rules("rxe0")
            root.ok("set-job", id=7, cgroup=path, dry_run=True)
            root.ok("set-job", id=6)
            assert rules.read_text() == "", "no job has a cgroup yet"
            root.ok("set-job", id=7, cgroup=path)
            assert rules.read_text() == f"cgroup {group} 7"
            late = self.rxe_rules("rxe1")
            until(late.read_text, "a device that comes later")
            assert late.read_text() == f"cgroup {group} 7"
            self.rxe_rules("rxe1", f"tclass 8 5\ncgroup {group} 7\n")
            time.sleep(0.1)
            assert late.read_text().startswith("tclass"), "what is right is not written again"
            other = self.c.make("rxe-2")
            root.ok("set-job", id=7, cgroup=other)
            moved = (self.c.mount / other).stat().st_ino
            until(lambda: rules.read_text() == f"cgroup {moved} 7", "the job's other cgroup")
            root.ok("del-job", job=7)
            assert rules.read_text() == f"cgroup {moved} 0"
            root.ok("del-job", job=6)

    def soft_roce_is_told_by_the_next_daemon(self) -> None:
        root = self.d.peer()
        path = self.c.make("rxe")
        group = (self.c.mount / path).stat().st_ino
        root.ok("set-job", id=7, cgroup=path)
        with self.rdma():
            self.d.kill()
            rules = self.rxe_rules("rxe0", "nonsense\n\ncgroup 1\n")
            theirs = self.rxe_rules("rxe1", f"cgroup {group} 9")
            self.d.start()
            until(lambda: rules.read_text().startswith(f"cgroup {group} 7"), "its rule")
            assert theirs.read_text() == f"cgroup {group} 7", "a cgroup is of one job"
            theirs.write_text(f"cgroup {group} 8")
            self.d.peer().ok("del-job", job=7)

    def what_a_dead_follow_has_left_is_not_shown(self) -> None:
        self.d.peer().ok("set-job", id=7)
        with self.rdma() as follow:
            until(lambda: len(self.rdma_of(7)) == 2, "follow")
            follow.stop()
            follow.write(follow.text(age_us=6_000_000))
            until(lambda: len(self.rdma_of(7)) == 1, "its end")

    def a_device_that_is_away_has_no_value(self) -> None:
        self.d.peer().ok("set-job", id=7)
        with self.rdma() as follow:
            follow.told.pop("value")
            follow.told.pop("gain")
            follow.told.update(state="away", sent_bytes=12)
            until(lambda: any(u.get("state") == "away" for u in self.rdma_of(7)), "away")
            (use,) = [u for u in self.rdma_of(7) if "knob" in u]
            assert "value" not in use and use["sent_bytes"] == 12, use

    def broken_rdma_files_are_left_out(self) -> None:
        """Among them a good one of each, which is shown."""
        self.d.peer().ok("set-job", id=7)
        with self.rdma() as follow:
            texts = ["", "{", "[]", "null", "{" * 500, "x" * 5000]
            for key, value in (
                *(("version", 2), ("updated_us", -1), ("updated_us", 2**63), ("base", -1)),
                *(("base", "5"), ("knob", "a b"), ("knob", 'a"b'), ("knob", "k" * 64)),
                *(("rdma", "\u001b[2J"), ("device", None), ("unit", "u" * 16), ("high", 2**32)),
            ):
                texts.append(follow.text(**{key: value}))
            for i, text in enumerate(texts):
                self.rdma_file(f"run/mlcc/follow/bad{i}", text)
            head = "# qpn on rate target alpha cnps sent job progress\n"
            for i, text in enumerate(
                (
                    *("", "nonsense\n", "# qpn on rate\n17 1 1\n"),
                    *("17 1 40000 5 1 3 1 7 500\n", f"{head}17 1 1 1 1 1 1\n"),
                    *(f"{head}17 1 x 1 1 1 1 7 -\n", f"{head}17 1 1 1 1 1 -1 7 -\n"),
                    f"{head}17 1 1 1 1 1 99999999999999999999999 7 -\n" + "9" * 2000,
                )
            ):
                self.rdma_file(f"sys/kernel/debug/rxe/bad{i}/qps", text)
            # what was looked at before is forgotten when a new value shows
            follow.told.update(value=9)
            until(lambda: any(u.get("value") == 9 for u in self.rdma_of(7)), "a later look")
            uses = self.rdma_of(7)
            assert sorted(u["device"] for u in uses) == ["mlx5_0", "rxe0"], uses

    def a_folder_that_others_may_write_is_not_believed(self) -> None:
        self.d.peer().ok("set-job", id=7)
        with self.rdma():
            (self.d.sysroot / "run/mlcc/follow").chmod(0o777)
            until(lambda: [u["device"] for u in self.rdma_of(7)] == ["rxe0"], "soft-RoCE alone")

    def many_rdma_devices_fit_into_a_reply(self) -> None:
        self.d.peer().ok("set-job", id=7)
        with self.rdma() as follow:
            for i in range(100):
                name = f"{i:02}" + "d" * 61
                text = follow.text(rdma=name, device=name, knob="k" * 63, backend="b" * 63)
                self.rdma_file(f"run/mlcc/follow/{name}", text)
            until(lambda: len(self.rdma_of(7)) == 12, "as many as there is room for")
            shown = self.d.peer().ok("show", job=7)["jobs"][0]
            assert shown["rdma_more"] == 102 - 12, shown["rdma_more"]
            assert "rdma: 90 more" in self.d.run_ctl("show").stdout

    def rdma_metrics_parse(self) -> None:
        before = openmetrics(self.http(b"GET /metrics HTTP/1.0\r\n\r\n")[1])
        assert not [name for name in before if "rdma" in name], before
        self.d.peer().ok("set-job", id=7, name="bert")
        with self.rdma():
            samples = openmetrics(self.http(b"GET /metrics HTTP/1.0\r\n\r\n")[1])
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
        with self.rdma():
            for name in ("np_cnp_sent", "rp_cnp_ignored"):
                self.rdma_file(f"sys/class/infiniband/rxe0/ports/1/hw_counters/{name}", "1\n")
            body = self.http(b"GET /metrics HTTP/1.0\r\n\r\n")[1]
        there = {sample.partition("{")[0] for sample in openmetrics(body)}
        text = (REPO / "Documentation/mlccd-grafana.json").read_text()
        wanted = set(re.findall(r"\bmlcc_[a-z_]+", text))
        assert wanted and wanted <= there, wanted - there
        ids = [panel["id"] for panel in json.loads(text)["panels"]]
        assert len(ids) == len(set(ids)), ids

    def a_covered_hierarchy_is_none(self) -> None:
        """The mount table has it still."""
        cover = (
            'while read -r _ where kind _; do [ "$kind" != cgroup2 ] || mount -t tmpfs x "$where"; '
            'done </proc/self/mounts; exec "$@"'
        )
        words = ["unshare", "-m", "sh", "-c", cover, "sh"]
        ctl = [*words, self.d.ctl, "--socket", "/nonexistent", "-j", "doctor"]
        done = subprocess.run(ctl, capture_output=True, text=True, timeout=60)
        (found,) = [line for line in json.loads(done.stdout) if line["check"] == "cgroup"]
        assert found["state"] == "FAIL", found
        self.d.kill(signal.SIGTERM)
        self.d.start(before=words)
        assert self.d.status()["cgroup_mount"] == ""
        self.d.kill(signal.SIGTERM)
        self.d.start()

    def ctl_doctor_needs_no_daemon(self) -> None:
        done = self.d.run_ctl("--socket", "/nonexistent", "-j", "doctor")
        checks = {c["check"]: c for c in json.loads(done.stdout)}
        assert done.returncode == 2 and checks["mlccd"]["state"] == "FAIL"
        assert {"kernel", "module", "btf", "bpf", "cgroup", "carrier"} <= checks.keys()
        assert all(c["text"] for c in checks.values())

    def doctor(self, check: str, before: Sequence[str] = (), **env: str) -> list[str]:
        """The states that it gives to what is called @check."""
        done = subprocess.run(
            [*before, self.d.ctl, "--socket", self.d.socket, "-j", "doctor"],
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        return [line["state"] for line in json.loads(done.stdout) if line["check"] == check]

    def ctl_doctor_misses_what_is_taken_away(self) -> None:
        bpf_fs = "mount -t bpf bpf /sys/fs/bpf"
        places = (
            ("kernel", "", 'exec setarch --uname-2.6 "$@"', "note"),
            ("btf", "", "mount -t tmpfs x /sys/kernel/btf", "FAIL"),
            ("bpffs", bpf_fs, f"{bpf_fs}; mount -o remount,ro,bind /sys/fs/bpf", "FAIL"),
            ("bpffs", bpf_fs, "while umount /sys/fs/bpf; do :; done 2>/dev/null", "FAIL"),
            ("permission", "", f'exec setpriv --reuid {ALICE} --clear-groups "$@"', "note"),
        )
        for check, there, away, state in places:
            for shell, wanted in ((there, "ok"), (away, state)):
                words = ["unshare", "-m", "sh", "-c", shell + '\nexec "$@"', "sh"]
                assert self.doctor(check, words) == [wanted], (check, shell)
        for check in ("btf", "bpf"):
            assert self.doctor(check, [sys.executable, "-c", WITHOUT_BPF]) == ["FAIL"], check
        place = "/sys/kernel/security"
        hide, locked = f"mount -t tmpfs x {place}", f"; echo '[confidentiality]' >{place}/lockdown"
        for tell, state in (("", "note"), (locked, "FAIL")):
            words = ["unshare", "-m", "sh", "-c", f'{hide}{tell}\nexec "$@"', "sh"]
            assert self.doctor("lockdown", words) == [state], (tell, state)

    def ctl_doctor_misses_what_mlccd_has_lost(self) -> None:
        self.d.peer().ok("set-job", cgroup=self.c.make("a"))
        procs = self.c.base / "a/cgroup.procs"
        assert self.doctor("hints") == ["note"] and self.doctor("tagger") == ["ok"]
        inside = ["sh", "-c", f'echo 0 >{procs}; exec "$@"', "sh"]
        assert self.doctor("hints", inside) == ["ok"]
        # a carrier that is only memory marks nothing
        assert self.doctor("connection") == ["FAIL"]
        self.d.kill(signal.SIGTERM)
        self.d.start(MLCC_FAKE_NOTAGGER="1")
        assert self.doctor("tagger") == ["FAIL"]
        assert self.doctor("orphans") == ["note"], "nothing can be told of the carrier's jobs"
        self.d.kill(signal.SIGTERM)
        self.d.start()

    def ids_avoid_marks_of_policy_rules(self) -> None:
        rules = "ip rule add fwmark 1 lookup main; ip -6 rule add fwmark 0x3/0x3 lookup main"
        more = "ip rule add fwmark 0/0xff lookup main; ip rule add fwmark 0x104 lookup main"
        shell = f'ip link set lo up; {rules}; {more}; exec "$@"'
        self.d.kill(signal.SIGTERM)
        self.d.start(before=["unshare", "-n", "sh", "-c", shell, "sh"])
        # who is in another network namespace is no administrator
        alice = self.d.peer(ALICE)
        places = [self.c.make(f"m{i}", ALICE) for i in range(4)]
        ids = [alice.ok("set-job", cgroup=place)["job"]["id"] for place in places]
        assert ids == [2, 4, 5, 6], ids
        # root may choose one all the same, and is told
        ctl = ["nsenter", "-t", str(self.d.keeper()), "-n", self.d.ctl, "--socket", self.d.socket]
        for number, told in ((8, False), (7, True)):
            words = [*ctl, "set-job", "--id", str(number)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S)
            assert done.returncode == 0 and ("policy rule" in done.stderr) == told, done
        self.d.kill(signal.SIGTERM)
        self.d.start()

    def flows_of_an_unloaded_carrier_are_shown(self) -> None:
        self.d.kill(signal.SIGTERM)
        self.d.start(MLCC_FAKE_ORPHANS="3")
        self.d.peer().ok("set-job", id=8)
        assert self.doctor("orphans") == ["ok"]
        assert "unloaded" not in self.d.run_ctl("show").stdout
        self.d.peer().ok("set-job", id=7)
        assert [job["orphans"] for job in self.d.jobs()] == [3, 0]
        assert (
            self.d.run_ctl("show").stdout.count("3 connections more, of an unloaded carrier") == 1
        )
        assert self.doctor("orphans") == ["FAIL"]
        assert "FAIL  orphans" in self.d.run_ctl("explain", "7").stdout
        self.d.kill(signal.SIGTERM)
        self.d.start()

    def ctl_doctor_names_others_marks(self) -> None:
        """Policy rules of a network namespace, and packet filters as nft tells them."""
        mark, other = {"meta": {"key": "mark"}}, {"meta": {"key": "iifname"}}
        match, mangle = {"op": "==", "left": mark, "right": 5}, {"key": mark, "value": 5}
        masked = {"&": [mark, 0x4000]}
        cases: tuple[tuple[str, JSON | None, list[str]], ...] = (
            ("", {"counter": None}, ["ok"]),
            ("ip rule add fwmark 5 lookup main", {"counter": None}, ["FAIL"]),
            ("ip -6 rule add fwmark 0x5/0xf lookup main", {"counter": None}, ["FAIL"]),
            ("ip rule add fwmark 0x4005 lookup main", {"counter": None}, ["ok"]),
            ("ip rule add fwmark 0/0xff lookup main", {"counter": None}, ["ok"]),
            ("", {"match": match}, ["FAIL"]),
            ("", {"match": {**match, "right": {"range": [1, 9]}}}, ["FAIL"]),
            ("", {"match": {**match, "right": 0x4005}}, ["ok"]),
            ("", {"match": {**match, "left": masked, "right": 0x4000}}, ["ok"]),
            ("", {"match": {**match, "left": other, "right": "lo"}}, ["ok"]),
            ("", {"vmap": {"key": mark, "data": {"set": [[5, {"drop": None}]]}}}, ["FAIL"]),
            ("", {"mangle": mangle}, ["note"]),
            ("", {"mangle": {**mangle, "value": {"|": [mark, 0x4000]}}}, ["ok"]),
            ("", {"mangle": {**mangle, "value": {"^": [{"&": [mark, 0xFF]}, 0x4000]}}}, ["ok"]),
            ("", {"mangle": {**mangle, "value": {"|": [mark, 5]}}}, ["note"]),
            ("", {"xt": {"type": "match", "name": "mark"}}, ["note"]),
            ("", None, ["note"]),
        )
        nft = self.d.base / "bin/nft"
        nft.parent.mkdir()
        for rule, statement, states in cases:
            place = {"family": "inet", "table": "t", "chain": "c", "handle": 4}
            told = {"nftables": [{"metainfo": {}}, {"rule": {**place, "expr": [statement]}}]}
            nft.write_text(f"#!/bin/sh\necho '{json.dumps(told)}'; exit {int(statement is None)}\n")
            nft.chmod(0o755)
            words = ["unshare", "-n", "sh", "-c", rule + '\nexec "$@"', "sh"]
            said = self.doctor("marks", words, PATH=f"{nft.parent}:{os.environ['PATH']}")
            assert said == states, (rule, statement, said)


class Follow:
    """A follow of mlcc-dcqcn as mlccd sees it: it tells again and again, until it is stopped."""

    NAME = "mlx5:0000:03:00.0"

    def __init__(self, file: Path) -> None:
        self.file = file
        self.told: JSON = {
            **{"version": 1, "backend": "mlx5", "device": "0000:03:00.0", "rdma": "mlx5_0"},
            **{"scope": "port", "state": "runs", "job": 7, "knob": "rp_ai_rate"},
            **{"unit": "Mb/s", "drive": "ai", "base": 5, "low": 5, "high": 10},
            **{"value": 8, "gain": 1.5},
        }
        self.over = threading.Event()
        self.write(self.text())
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def text(self, age_us: int = 0, **other: Any) -> str:
        now = time.monotonic_ns() // 1000
        return json.dumps({"updated_us": now - age_us, **self.told, **other})

    def write(self, text: str) -> None:
        new = self.file.with_name(".new")
        new.write_text(text)
        new.rename(self.file)

    def run(self) -> None:
        while not self.over.wait(0.2):
            self.write(self.text())

    def stop(self) -> None:
        self.over.set()
        self.thread.join()


class Ring:
    """The producer's side of a ring, as wrong as wanted."""

    def __init__(
        self,
        slots: int = 64,
        seals: int = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW,
        size: int | None = None,
        magic: int = MAGIC,
        version: int = 1,
        told: int | None = None,
        record: int = 64,
        mapped: bool = True,
        written: bool = True,
    ) -> None:
        self.slots, self.sent = slots, 0
        self.size = RECORDS_AT + 64 * slots if size is None else size
        head = HEAD.pack(magic, version, slots if told is None else told, record)
        self.fds = [self.memfd(head if written else b"", seals), os.eventfd(0)]
        if mapped:
            self.memory = mmap.mmap(self.fds[0], self.size)

    def memfd(self, text: bytes, seals: int) -> int:
        fd = os.memfd_create("ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.write(fd, text)
        os.ftruncate(fd, self.size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        return fd

    def renew(self) -> None:
        """Another one with the same in it, as the one that an mlccd had is sealed."""
        os.close(self.fds[0])
        self.fds[0] = self.memfd(self.memory[:], fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.memory = mmap.mmap(self.fds[0], self.size)

    def number(self, at: int) -> int:
        return int(ctypes.c_uint64.from_buffer(self.memory, at).value)

    def set_number(self, at: int, value: int) -> None:
        ctypes.c_uint64.from_buffer(self.memory, at).value = value

    def wake(self) -> None:
        os.eventfd_write(self.fds[1], 1)

    def put(
        self,
        job: int,
        kind: int = 1,
        bytes: int = 0,
        version: int = 1,
        time: int = 0,
        seq: int | None = None,
        zero: bytes = b"",
    ) -> None:
        at = RECORDS_AT + 64 * (self.sent % self.slots)
        seq = self.sent if seq is None else seq
        self.memory[at : at + 64] = RECORD.pack(version, kind, job, bytes, time, seq, zero)
        self.sent += 1
        self.set_number(HEAD_AT, self.sent)
        self.wake()


def openmetrics(text: str) -> dict[str, float]:
    """A strict reader of what mlccd uses of the format."""
    samples: dict[str, float] = {}
    types: dict[str, str] = {}
    family = ""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], "no end"
    for line in lines[:-2]:
        if m := re.fullmatch(r"# TYPE ([a-z_]+) (gauge|counter|info|histogram)", line):
            family = m[1]
            assert family not in types, f"{family} twice"
            types[family] = m[2]
        elif m := re.fullmatch(r"# UNIT ([a-z_]+) ([a-z]+)", line):
            assert m[1] == family and family.endswith("_" + m[2]), line
        elif m := re.fullmatch(r"# HELP ([a-z_]+) \S.*", line):
            assert m[1] == family, line
        else:
            m = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? (\S+)', line)
            assert m, f"no sample: {line}"
            suffixes = {"gauge": "", "counter": "_total", "info": "_info"}
            suffix = suffixes.get(types[family], "_(bucket|sum|count)")
            assert re.fullmatch(family + suffix, m[1]), line
            key = m[1] + (m[2] or "")
            assert key not in samples, f"{key} twice"
            samples[key] = float(m[4])
    return samples


CASES = (
    "root_may_do_everything",
    "a_job_is_set_as_a_whole",
    "dry_run_changes_nothing",
    "bad_requests_change_nothing",
    "what_is_no_request_is_refused",
    "a_user_may_use_delegated_cgroups",
    "a_user_may_use_nothing_else",
    "a_process_stands_for_its_cgroup",
    "anothers_job_cannot_be_touched",
    "root_without_capabilities_is_nobody",
    "owners_announce_and_do_nothing_else",
    "only_root_names_owners",
    "a_name_has_one_job",
    "processes_of_a_job_announce_it",
    "a_process_is_told_its_job",
    "a_cgroup_whose_name_is_no_text_is_refused",
    "users_have_limits",
    "a_number_of_another_pid_namespace_is_refused",
    "who_gets_no_job_is_logged_once",
    "a_path_of_another_cgroup_namespace_is_what_it_means_there",
    "a_container_of_version_1_has_no_cgroup_of_its_own",
    "what_needs_a_restart_is_said_at_reload",
    "a_peer_that_never_reads_is_dropped",
    "a_peer_that_floods_is_told_then_dropped",
    "too_many_connections_are_refused",
    "who_reads_requests_has_no_rights",
    "without_the_user_it_is_a_number_of_nobodys",
    "who_may_not_be_another_user_stays_root",
    "processes_that_are_hidden_are_found",
    "either_ends_with_the_other",
    "a_cgroup_that_is_closed_to_others_is_a_jobs",
    "jobs_survive_kill_9",
    "what_was_begun_is_completed",
    "a_cgroup_that_went_while_nobody_looked",
    "a_job_ends_with_its_cgroup",
    "without_a_carrier_nothing_is_set",
    "a_tag_that_fails_undoes_the_job",
    "a_wrong_configuration_is_refused_whole",
    "connections_are_skipped_as_the_job_or_the_site_says",
    "a_configuration_that_is_away_for_a_moment_stays",
    "root_of_a_user_namespace_is_no_administrator",
    "a_second_daemon_is_refused",
    "systemd_may_bring_the_sockets",
    "hints_come_by_a_ring",
    "a_ring_hints_its_users_jobs_only",
    "a_ring_goes_on_with_the_next_mlccd",
    "ranks_of_a_host_have_one_phase",
    "a_phase_that_was_over_before_it_was_read_is_one",
    "what_ranks_have_sent_is_added_up",
    "hints_age_by_the_clock_of_their_process",
    "garbage_in_a_ring_is_counted_and_dropped",
    "wrong_rings_are_refused",
    "a_ring_ends_with_its_connection",
    "a_ring_that_floods_hurts_nobody",
    "a_plan_is_kept_and_shown",
    "wrong_plans_change_nothing",
    "a_plan_holds_for_all_jobs_or_none",
    "users_plan_their_own_jobs",
    "a_ring_shows_the_shift_of_its_job",
    "metrics_parse",
    "iterations_are_seen",
    "alone_is_said_where_it_was_seen",
    "histograms_are_of_so_many_jobs",
    "counters_of_a_job_never_fall",
    "metrics_have_an_address",
    "http_errors",
    "http_slow",
    "ctl_sets_shows_and_deletes",
    "ctl_shows_many",
    "ctl_watch_fits_100_columns",
    "ctl_shows_the_longest_paths",
    "ctl_explains",
    "a_cgroup_of_services_is_warned_of",
    "ctl_explain_does_not_know",
    "the_daemon_stops_when_root_asks",
    "ctl_exit_statuses",
    "ctl_finds_a_container",
    "ctl_takes_units",
    "ctl_runs_a_command_as_a_job",
    "ctl_run_gives_rdma_its_class",
    "ctl_run_passes_signals_on",
    "ctl_run_becomes_the_command",
    "ctl_run_takes_any_state",
    "ctl_run_survives_each_failure",
    "rdma_is_shown_beside_tcp",
    "rdma_without_dcqcn_has_no_rate",
    "soft_roce_is_told_of_jobs",
    "soft_roce_is_told_by_the_next_daemon",
    "what_a_dead_follow_has_left_is_not_shown",
    "a_device_that_is_away_has_no_value",
    "broken_rdma_files_are_left_out",
    "a_folder_that_others_may_write_is_not_believed",
    "many_rdma_devices_fit_into_a_reply",
    "rdma_metrics_parse",
    "the_dashboard_asks_for_what_there_is",
    "a_covered_hierarchy_is_none",
    "ctl_doctor_needs_no_daemon",
    "ctl_doctor_misses_what_is_taken_away",
    "ctl_doctor_misses_what_mlccd_has_lost",
    "ctl_doctor_names_others_marks",
    "ids_avoid_marks_of_policy_rules",
    "flows_of_an_unloaded_carrier_are_shown",
)


RunCase = Callable[[int, str], str]
Prepare = Callable[[ExitStack, Cgroups], RunCase]


def run_case(number: int, name: str, cases: Cases) -> str:
    """One result; the next case finds a daemon that runs, without jobs, with the defaults."""
    d = cases.d
    try:
        getattr(cases, name)()
        error = skip = ""
    except Skip as why:
        error, skip = "", f" # SKIP {why}"
    except Exception:
        error, skip = traceback.format_exc(), ""
    if d.process is None or d.process.poll() is not None:
        error = error or f"mlccd has ended:\n{d.log.read_text()[-2000:]}"
        d.gone.unlink(missing_ok=True)
        d.start()
    d.write_config("")
    cases.reload()
    d.reset()
    return say_result(number, name, error, skip)


def say_result(number: int, name: str, error: str, skip: str = "") -> str:
    """Also in one word, as the totals have it."""
    for line in error.splitlines():
        print(f"# {line}")
    print(f"{'not ok' if error else 'ok'} {number} {name.replace('_', ' ')}{skip}", flush=True)
    return "fail" if error else "skip" if skip else "pass"


def run_all(names: Sequence[str], prepare: Prepare) -> int:
    """Runs the cases, or those of MLCCD_CASES; the exit status."""
    print("KTAP version 1", flush=True)
    mount = cgroup_mount()
    if mount is None:
        print("1..0 # SKIP no cgroup2 file system is mounted")
        return 4
    only = os.environ.get("MLCCD_CASES", "").split() or names
    with ExitStack() as stack:
        cgroups = Cgroups(mount)
        stack.callback(cgroups.clean)
        run = prepare(stack, cgroups)
        counts = Counter(run(number, name) for number, name in enumerate(only, 1))
    print(f"1..{len(only)}")
    print("# Totals:", *(f"{word}:{counts[word]}" for word in ("pass", "fail", "skip")))
    return 1 if counts["fail"] else 0


def main(build: str, directory: str) -> int:
    def prepare(stack: ExitStack, cgroups: Cgroups) -> RunCase:
        daemon = Daemon(Path(build), Path(directory))
        stack.callback(lambda: daemon.process and daemon.kill(signal.SIGTERM))
        daemon.start()
        cases = Cases(daemon, cgroups)
        return lambda number, name: run_case(number, name, cases)

    return run_all(CASES, prepare)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
