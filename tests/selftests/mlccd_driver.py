# SPDX-License-Identifier: GPL-2.0
"""What the cases of mlccd.sh share: mlccd with a carrier that is only memory, peers and rings."""

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
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlcc_client import Client

from fake_carrier import Carrier, Job
from fake_mlccd import RECORD, RECORDS_AT
from memory_mlccd import ROOT, WAIT_S, MemoryMlccd, until

ALICE, BOB, GROUP = 61001, 61002, 61003
NOBODYS = 61009  # whom mlccd reads requests as
LIMIT = (1 << 48) - 1
VERSION = "0.1"
CLONE_NEWCGROUP, CLONE_NEWUSER = 0x02000000, 0x10000000
LIBC = ctypes.CDLL(None, use_errno=True)
JSON = dict[str, Any]


class Peer:
    """A connection to mlccd, as any user."""

    def __init__(
        self,
        path: Path,
        uid: int = 0,
        groups: Sequence[int] = (),
        made: socket.socket | None = None,
    ) -> None:
        if uid == 0:
            self.socket = made or connect(path)
        else:
            with connected_child(path, lambda: become(uid, groups)) as self.socket:
                pass
        self.socket.settimeout(WAIT_S)

    def raw(self, data: bytes, fds: Sequence[int] = ()) -> JSON:
        socket.send_fds(self.socket, [data], fds)
        return self.reply()

    def reply(self) -> JSON:
        data = self.socket.recv(70000)
        assert data, "mlccd has closed the connection"
        return dict(json.loads(data))

    def ask(self, op: str, /, **fields: Any) -> JSON:
        return self.raw(json.dumps({"op": op, **fields}).encode())

    def give(self, ring: "Ring", **fields: Any) -> None:
        reply = self.raw(json.dumps({"op": "open-ring", **fields}).encode(), ring.fds)
        assert reply["ok"], reply

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


def become(uid: int, groups: Sequence[int] = ()) -> None:
    os.setgroups(groups)
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


@contextmanager
def connected_child(path: Path, prepare: Callable[[], None]) -> Iterator[socket.socket]:
    """The credentials are those of the process that connects: of one that lives as long as this."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            ours.close()
            prepare()
            peer = connect(path)
            socket.send_fds(theirs, [b"x"], [peer.fileno()])
            theirs.recv(1)
        finally:
            os._exit(0)
    theirs.close()
    try:
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
        assert fds, "it cannot connect, or become who is wanted"
        yield socket.socket(fileno=fds[0])
    finally:
        ours.close()
        os.waitpid(child, 0)


@contextmanager
def root_peer(path: Path, userns: bool) -> Iterator[Peer]:
    """Root, in a user namespace of its own if that is wanted."""

    def prepare() -> None:
        if userns and LIBC.unshare(CLONE_NEWUSER):
            os._exit(1)

    with connected_child(path, prepare) as made:
        yield Peer(path, made=made)


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def status_of(pid: int) -> dict[str, list[str]]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {key: value.split() for key, _, value in (line.partition(":") for line in lines)}


def has_ended(pid: int) -> bool:
    try:
        return status_of(pid)["State"][0] == "Z"
    except (OSError, KeyError):
        return True


def run(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """What it says, and its status."""
    options = {"timeout": WAIT_S * 2, **options}
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def unshared(what: str, shell: str) -> list[str]:
    """Before a command: it runs in a namespace of its own, in which that was done."""
    return ["unshare", what, "sh", "-c", f'{shell}\nexec "$@"', "sh"]


class Daemon(MemoryMlccd):
    """One with a configuration of its own, that is started and ended in every way."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        # where ordinary users may run it: the tree may be below /root
        self.ctl = Path(shutil.copy(ROOT / "build/userspace/mlcc-ctl/mlcc-ctl", base))
        self.base = base
        self.gone = base / "gone"
        # where RDMA devices would be: plain files, all of a test's own
        self.sysroot = base / "sysroot"
        self.sysroot.mkdir(mode=0o755)
        self.user = str(NOBODYS)
        self.write_config("")

    def write_config(self, limits: str) -> None:
        self.config.write_text(
            "[daemon]\ncgroup-poll-ms = 20\npeer-timeout-ms = 300\n"
            f"[limits]\nrequests-per-second = 100000\nrequests-burst = 100000\n{limits}\n"
        )

    def command(self) -> list[str]:
        return [*super().command(), "--sysroot", str(self.sysroot), "--user", self.user]

    def start(self, before: Sequence[str] = (), user: str = str(NOBODYS), **env: str) -> None:
        self.user = user
        super().start(before, MLCC_FAKE_GONE=str(self.gone), **env)

    def kill(self, number: int = signal.SIGKILL) -> int:
        assert self.process
        self.process.send_signal(number)
        status = self.process.wait(WAIT_S)
        self.process = None
        return status

    def again(self) -> None:
        """As after a kill -9, by the service manager."""
        self.kill()
        self.start()

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
        with Client(self.socket, WAIT_S) as client:
            return list(client.jobs())

    def snapshot(self) -> tuple[Any, ...]:
        files = sorted((f.name, f.read_text()) for f in (self.run / "jobs").iterdir())
        profiles = self.peer().ok("profile-list")["profiles"]
        return self.jobs(), files, profiles, self.carrier.read_bytes()

    def kernel(self, job: int) -> Job:
        """What the carrier has of it."""
        return Carrier(self.carrier).jobs[job]

    def measured(self, job: int, **values: int) -> None:
        """What the carrier says of it from now on."""
        info = self.kernel(job)
        assert info.conf.id == job, info.conf.id
        for name, value in values.items():
            setattr(info, name, value)

    def conf(self, job: int) -> tuple[str, int]:
        """Class and bytes of a phase, as the carrier has them."""
        conf = self.kernel(job).conf
        return conf.job_class.decode(), conf.phase_bytes

    def status(self) -> JSON:
        return self.peer().ok("status")

    def reset(self) -> None:
        """One whose processes end goes by itself, it may be while these are deleted."""
        for job in self.jobs():
            reply = self.peer().ask("del-job", job=job["id"])
            assert reply["ok"] or reply["code"] == "ENOENT", reply

    def run_ctl(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return run(self.ctl, "--socket", self.socket, *words, **options)


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
    """What the cases share; those of a subject are a class of its own."""

    def __init__(self, daemon: Daemon, cgroups: Cgroups) -> None:
        self.d = daemon
        self.c = cgroups
        self.answer_s = 0.0

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        before = self.d.snapshot()
        yield
        assert self.d.snapshot() == before, "something has changed"

    def reload(self) -> None:
        assert self.d.process
        before = self.d.log.read_text().count("has read")
        self.d.process.send_signal(signal.SIGHUP)
        until(lambda: self.d.log.read_text().count("has read") > before, "the reload")

    def configure(self, limits: str) -> None:
        self.d.write_config(limits)
        self.reload()

    def id_of(self, name: str) -> int:
        return next(j["id"] for j in self.d.jobs() if j["name"] == name)

    def phases(self, job: int) -> int:
        return self.d.peer().ok("show", job=job)["jobs"][0]["phases"]

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.d.parser()}/fd"))

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """mlccd finds all that has come meanwhile."""
        parser = self.d.parser()
        os.kill(parser, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(parser, signal.SIGCONT)

    def http(self, text: bytes) -> tuple[str, str]:
        # an answer serves all who ask for ten times as long as it took
        time.sleep(0.1 + 10 * self.answer_s)
        begun = time.monotonic()
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(WAIT_S)
        peer.connect(str(self.d.run / "metrics.sock"))
        peer.sendall(text)
        reply = b""
        while data := peer.recv(65536):
            if not reply and data.startswith(b"HTTP/1.1 200"):
                self.answer_s = time.monotonic() - begun
            reply += data
        head, _, body = reply.decode().partition("\r\n\r\n")
        if m := re.search(r"Content-Length: (\d+)", head):
            assert text.startswith(b"HEAD") or len(body.encode()) == int(m[1]), head
        return head, body

    def metrics(self) -> dict[str, float]:
        return openmetrics(self.http(b"GET /metrics HTTP/1.0\r\n\r\n")[1])

    def iterates(self, job: int, phases: int, ms: int, **more: int) -> JSON:
        """An iteration, half of it communication, which mlccd sees when it is asked."""
        us = {"iteration_us": ms * 1000, "comm_us": ms * 500, "phases": phases}
        self.d.measured(job, **{"flows": 2, "d_phase": 1000, **us, **more})
        shown: JSON = self.d.peer().ok("show", job=job)["jobs"][0]
        return shown

    @contextmanager
    def started(
        self, *before: str, user: str = str(NOBODYS), **env: str
    ) -> Iterator[dict[str, list[str]]]:
        """The daemon started otherwise: what is said of who reads requests."""
        self.d.kill(signal.SIGTERM)
        self.d.start(before, user, **env)
        yield status_of(self.d.parser())
        self.d.kill(signal.SIGTERM)
        self.d.start()

    @contextmanager
    def sleeper(self, cgroup: str | Path, **options: Any) -> Iterator[int]:
        """The process id of one that does nothing there."""
        with subprocess.Popen(["sleep", "1000"], **options) as process:
            try:
                (self.c.mount / cgroup / "cgroup.procs").write_text(str(process.pid))
                yield process.pid
            finally:
                process.kill()


class Ring:
    """The producer's side of a ring, as wrong as wanted."""

    HEAD, SAID, SHIFT = struct.Struct("<IIII"), struct.Struct("<IIqQ"), struct.Struct("<QQQQ")
    MAGIC, HEAD_AT, SAID_AT, SENT_AT, START_AT = 0x6D6C6363, 64, 80, 104, 112
    TAIL_AT, SHIFT_AT = 128, 136

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
        head = self.HEAD.pack(magic, version, slots if told is None else told, record)
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

    def shift(self) -> tuple[int, ...]:
        """What mlccd says of the plan, first how often it did."""
        return self.SHIFT.unpack_from(self.memory, self.SHIFT_AT)

    def write(self, at: int, text: bytes) -> None:
        self.memory[at : at + len(text)] = text

    def wait_until_read(self) -> None:
        until(lambda: self.number(self.TAIL_AT) == self.sent, "the ring's tail")

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
        self.set_number(self.HEAD_AT, self.sent)
        self.wake()


def openmetrics(text: str) -> dict[str, float]:
    """What is told; whether Prometheus takes it, tests/prometheus asks a Prometheus."""
    assert text.endswith("\n# EOF\n"), "no end"
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    samples = {name: float(value) for name, _, value in lines}
    assert len(samples) == len(lines), "a sample twice"
    return samples
