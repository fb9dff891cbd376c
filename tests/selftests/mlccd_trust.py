# SPDX-License-Identifier: GPL-2.0
"""What local users, containers and processes that hang can do to mlccd: SECURITY.md names these."""

import ctypes
import errno
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import SkipTest

from mlccd_driver import (
    ALICE,
    BOB,
    CLONE_NEWCGROUP,
    CLONE_NEWUSER,
    JSON,
    LIBC,
    Cases,
    Peer,
    Ring,
    become,
    children,
    connect,
    status_of,
)

from memory_mlccd import WAIT_S, until

LINGER_S = 60
SOON_S = 10.0 if os.environ.get("KSFT_MACHINE_SLOW") else 1.0
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
CAP_NET_ADMIN = 12
SO_PASSRIGHTS = 83
PUNCH_HOLE, OFF_T = 3, ctypes.c_int64
PORT = 18793
MANY = 200000  # where a crowd of users begins
FAST = "[limits]\nrequests-per-second = 100000\nrequests-burst = 100000\n"
STATUS, OPEN_RING = b'{"op":"status"}', b'{"op":"open-ring"}'
END = b"# EOF\n"


def check(result: int, what: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def drop_capabilities(kept_ones: int) -> None:
    """All but these, as a container's runtime does."""
    low, high = kept_ones & 0xFFFFFFFF, kept_ones >> 32
    head = struct.pack("<Ii", 0x20080522, 0)
    data = struct.pack("<6I", low, low, 0, high, high, 0)
    check(LIBC.capset(head, data), "capset")


class Child:
    """Runs @body(say, wait) as another user; what it says are objects of JSON."""

    def __init__(
        self,
        body: Callable[[Callable[..., None], Callable[[], None]], None],
        uid: int | None = None,
        cgroup: Path | None = None,
    ) -> None:
        heard, says = os.pipe()
        waits, self.goes = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            self.run(body, uid, cgroup, says, waits)
        os.close(says)
        os.close(waits)
        self.heard = os.fdopen(heard)

    def run(self, body: Any, uid: int | None, cgroup: Path | None, says: int, waits: int) -> None:
        def say(**words: Any) -> None:
            os.write(says, (json.dumps(words) + "\n").encode())

        try:
            os.setpgid(0, 0)
            os.close(self.goes)
            if cgroup:
                (cgroup / "cgroup.procs").write_text("0")
            if uid is not None:
                become(uid)
                LIBC.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its files in /proc are its own
            body(say, lambda: os.read(waits, 1))
        except BaseException as e:
            say(error=repr(e))
        finally:
            os._exit(0)

    def hear(self) -> JSON:
        line = self.heard.readline()
        assert line, "the other process has ended"
        words: JSON = json.loads(line)
        assert "error" not in words, words
        return words

    def go(self) -> None:
        os.write(self.goes, b"x")

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(OSError):
            os.waitpid(self.pid, 0)
        os.close(self.goes)
        self.heard.close()


def lingering() -> socket.socket:
    """A TCP socket whose last close waits: its peer takes nothing, and it has more to send."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    one = socket.create_connection(listener.getsockname())
    kept.append((listener, listener.accept()))
    one.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            one.send(b"x" * 65536)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_S))
    return one


kept: list[Any] = []


def cpu_s(call: Callable[[], object]) -> float:
    """What sixty of them cost us."""
    before = time.process_time()
    for _ in range(60):
        call()
    return time.process_time() - before


FUSE_IN = struct.Struct("<IIQQIIIHH")
FUSE_LOOKUP, FUSE_GETATTR, FUSE_OPEN, FUSE_FLUSH, FUSE_INIT, FUSE_FORGET = 1, 3, 14, 25, 26, 2
FUSE_SETATTR, FUSE_READ, FUSE_WRITE = 4, 15, 16
FUSE_WRITEBACK_CACHE = 1 << 16


def fuse_attr(node: int) -> bytes:
    mode = 0o040755 if node == 1 else 0o100666
    return struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def fuse_serve(dev: int, never: int, said: Callable[[], None]) -> None:
    """A file system of one file, which never answers what is asked with these bits."""
    init = struct.pack("<4I2H2I", 7, 31, 0, FUSE_WRITEBACK_CACHE, 0, 0, 4096, 1)
    replies = {
        FUSE_INIT: lambda node: init[:64].ljust(64, b"\0"),
        FUSE_LOOKUP: lambda node: struct.pack("<4Q2I", 2, 0, 3600, 3600, 0, 0) + fuse_attr(2),
        FUSE_GETATTR: lambda node: struct.pack("<QII", 3600, 0, 0) + fuse_attr(node),
        FUSE_OPEN: lambda node: struct.pack("<QII", 1, 0, 0),
        FUSE_READ: lambda node: bytes(4096),
        FUSE_FLUSH: lambda node: b"",
    }
    while True:
        request = os.read(dev, 1 << 17)
        _, op, unique, node, *_ = FUSE_IN.unpack_from(request)
        if never >> op & 1:
            said()
        elif op in replies:
            body = replies[op](node)
            os.write(dev, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
        elif op != FUSE_FORGET:
            os.write(dev, struct.pack("<IiQ", 16, -38, unique))


def userns(flags: int) -> None:
    uid, gid = os.getuid(), os.getgid()
    check(LIBC.unshare(CLONE_NEWUSER | flags), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def fuse_mount(dev_path: Path, where: Path, never: int, said: Callable[[], None]) -> None:
    """A child serves it, without any right on the host, and keeps the device."""
    userns(CLONE_NEWNS)
    dev = os.open(dev_path, os.O_RDWR)
    options = f"fd={dev},rootmode=40000,user_id=0,group_id=0".encode()
    check(LIBC.mount(b"x", str(where).encode(), b"fuse", 6, options), "mount")
    if not os.fork():
        with suppress(OSError):
            fuse_serve(dev, never, said)
        os._exit(0)
    # else the file system would outlive who serves it
    os.close(dev)


def has_a_plan(ring: Ring) -> bool:
    return ring.shift()[1] > 0


class Trust(Cases):
    """Each has a daemon of its own, with the limits that there are without a configuration."""

    def _configure(self, text: str) -> None:
        """Another daemon, with this file."""
        self.d.kill()
        self.d.config.write_text(text)
        self.d.start()

    def _soon(self, what: str) -> None:
        begin = time.monotonic()
        self.d.status()
        took = time.monotonic() - begin
        assert took < SOON_S, f"{what}: root's status took {took:.2f} s"

    # descriptors

    def _sends_what_lingers(self, peer: Peer, text: bytes) -> None:
        one = lingering()
        socket.send_fds(peer.socket, [text], [one.fileno()])
        one.close()

    def what_lingers_keeps_nobody_waiting(self) -> None:
        for text in (STATUS, OPEN_RING, b"", b"nonsense"):
            peers = [self.d.peer(ALICE) for _ in range(12)]
            with self.stopped():
                for peer in peers:
                    self._sends_what_lingers(peer, text)
            self._soon(f"descriptors with {text!r}")
            until(lambda: self.d.status()["peers"] <= 14, "the end of those before")
        for peer in peers:
            peer.socket.close()
        self._soon("the ends of the connections")

    def what_lingers_behind_a_refusal_keeps_nobody_waiting(self) -> None:
        held = [self.d.peer(ALICE) for _ in range(32)]
        with self.stopped():
            for _ in range(12):
                held.append(self.d.peer(ALICE))
                self._sends_what_lingers(held[-1], STATUS)
        self._soon("connections that are refused")
        until(lambda: self.d.status()["peers"] <= 34, "the end of refused connections")

    def what_is_never_closed_has_an_end(self) -> None:
        """Of connections that are refused, which no account counts."""
        with socket.socket(socket.AF_UNIX) as one:
            try:
                one.getsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS)
            except OSError:
                raise SkipTest("before Linux 6.16 descriptors cannot be refused") from None
        self._configure("[limits]\nconnections-per-user = 1\n")
        with self._nothing_is_closed():
            self.d.again()
            self._takes_rings("the next mlccd")
        with self._nothing_is_closed() as files:
            pass
        until(lambda: self.open_files() < files + 20, "the end of them")
        self.d.status()
        self._takes_rings("when they have an end")

    def _takes_rings(self, when: str, uid: int = BOB) -> None:
        kept.append(ring := Ring())
        assert self.d.peer(uid).raw(OPEN_RING, ring.fds)["ok"], when

    @contextmanager
    def _nothing_is_closed(self) -> Iterator[int]:
        """And Alice sends as much as she can. How many files mlccd had before."""

        def sends() -> bool:
            with connect(self.d.socket) as peer:
                try:
                    socket.send_fds(peer, [b"x"], [0])
                except PermissionError:
                    return False
                return True

        def alice(say: Callable[..., None], wait: Callable[[], None]) -> None:
            held = Peer(self.d.socket)
            say(ok=held.ok("status")["ok"])
            while True:
                wait()
                say(sent=sum(sends() for _ in range(64)))

        porter = self._process("mlccd-porter")
        with Child(alice, uid=ALICE) as it:
            os.kill(porter, signal.SIGSTOP)
            it.hear()
            files, sent = self.open_files(), []
            for _ in range(6):
                with self.stopped():
                    it.go()
                    sent.append(it.hear()["sent"])
                self._soon("connections that nobody closes")
            assert sent[0] == 64 and not sent[-1], sent
            assert self.open_files() < files + 300, "mlccd keeps them"
            assert self.d.peer(BOB).ok("status")
            yield files
            with suppress(ProcessLookupError):
                os.kill(porter, signal.SIGCONT)

    def rings_are_left_to_the_next_user(self) -> None:
        """Where what others have sent is never closed."""
        users = [[self.d.peer(MANY + i) for _ in range(5)] for i in range(30)]
        porter = self._process("mlccd-porter")
        os.kill(porter, signal.SIGSTOP)
        with self.stopped():
            for user in users:
                for peer in user:
                    socket.send_fds(peer.socket, [OPEN_RING], [0])
        # what is asked next is answered when all of these are
        self._soon("descriptors that nobody closes")
        os.kill(porter, signal.SIGCONT)
        taken = []
        for user in users:
            replies = [json.loads(peer.socket.recv(70000))["error"] for peer in user]
            taken.append(sum("not closed" not in reply for reply in replies))
        assert max(taken) == 4 and min(taken) == 1, taken

    @contextmanager
    def _fuse(self, body: Callable[..., None], never: int) -> Iterator[Child]:
        """A process of Alice's, with a file system of her own."""
        device, where = self.d.base / f"fuse-{never}", self.d.base / f"mount-{never}"
        where.mkdir()
        os.mknod(device, 0o020666, os.makedev(10, 229))
        device.chmod(0o666)

        def alice(say: Callable[..., None], wait: Callable[[], None]) -> None:
            try:
                fuse_mount(device, where, never, lambda: say(asked=True))
            except OSError as e:
                say(cannot=str(e))
                return
            say(cannot="")
            body(where / "f", say, wait)

        with Child(alice, uid=ALICE) as it:
            if why := it.hear()["cannot"]:
                raise SkipTest(f"no FUSE in a user namespace: {why}")
            yield it

    def what_is_never_flushed_keeps_nobody_waiting(self) -> None:
        def alice(path: Path, say: Callable[..., None], wait: Callable[[], None]) -> None:
            one = os.open(path, os.O_RDWR)
            for text in (STATUS, OPEN_RING):
                peer = connect(self.d.socket)
                socket.send_fds(peer, [text], [one, one])
                say(reply=json.loads(peer.recv(70000)))
            wait()

        with self._fuse(alice, 1 << FUSE_FLUSH) as it:
            said = [it.hear() for _ in range(3)]
            # the porter's process is at it
            assert {"asked": True} in said, said
            assert not any(word["reply"]["ok"] for word in said if "reply" in word), said
            self._soon("a file that is never flushed")
            self.d.again()

    def what_is_never_written_back_keeps_nobody_waiting(self) -> None:
        """The last close of a file writes back what others have written into it."""

        def alice(path: Path, say: Callable[..., None], wait: Callable[[], None]) -> None:
            peers = [connect(self.d.socket) for _ in range(20)]
            writer = os.open(path, os.O_RDWR)
            say(ready=True)
            wait()
            for peer, text in zip(peers, [STATUS, b"", b"nonsense", OPEN_RING] * 5, strict=True):
                one = os.open(path, os.O_RDWR)
                socket.send_fds(peer, [text], [one])
                os.close(one)
            os.write(writer, bytes(4096))
            say(sent=True)
            time.sleep(1000)

        never = 1 << FUSE_WRITE | 1 << FUSE_SETATTR
        with self._fuse(alice, never) as it:
            it.hear()
            with self.stopped():
                it.go()
                said = [it.hear()]
            # a worker is at it, and would be for ever
            while {"asked": True} not in said:
                said.append(it.hear())
            self._soon("a file that is never written back")
            for _ in range(3):
                self._soon("and then")
                self._takes_rings("and then")
            self.d.again()
            self._soon("the next mlccd")

    def a_porter_that_dies_is_replaced(self) -> None:
        for _ in range(3):
            before = self._process("mlccd-porter")
            os.kill(before, signal.SIGKILL)
            self._process("mlccd-porter", other=before)
            self._takes_rings("the next porter", ALICE)

    def _process(self, name: str, other: int = 0) -> int:
        """Its child of that name, and not that other: a child has its name soon after its start."""

        def find() -> int:
            for child in children(self.d.parser()):
                with suppress(OSError):
                    if child != other and Path(f"/proc/{child}/comm").read_text() == f"{name}\n":
                        return child
            return 0

        return until(find, f"a process {name}")

    # locks and walks

    def _with_a_lock(self) -> Path:
        """That of the pins."""
        lock = self.d.base / "lock"
        lock.touch()
        self.d.kill()
        self.d.start(MLCC_FAKE_LOCK=str(lock))
        return lock

    def who_holds_the_pins_keeps_nobody_waiting(self) -> None:
        """As a process does that is stopped while it changes the carrier."""
        lock = self._with_a_lock()
        root, path = self.d.peer(), self.c.make("a")
        job = root.ok("set-job", cgroup=path)["job"]["id"]
        with lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            begin = time.monotonic()
            root.refused("EAGAIN", "set-job", cgroup=self.c.make("b"))
            root.ok("del-job", job=job)
            for _ in range(20):
                root.refused("EAGAIN", "set-job", cgroup=self.c.make("b"))
            assert time.monotonic() - begin < SOON_S, "mlccd waits for the lock"
            self._soon("a lock that is held")
            root.refused("EAGAIN", "set-job", id=job)
            # which tries again, for some seconds
            ctl = subprocess.Popen(
                [self.d.ctl, "--socket", self.d.socket, "set-job", "--id", "200"],
                stdout=subprocess.DEVNULL,
            )
            time.sleep(0.5)
        assert not ctl.wait(WAIT_S), "mlcc-ctl gives up"
        root.ok("del-job", job=200)
        until(lambda: root.ask("set-job", cgroup=path)["ok"], "the end of the lock")
        # what could not be deleted then is deleted now, and not found again
        time.sleep(1.5)
        self.d.again()
        assert job not in [one["id"] for one in self.d.jobs()] and len(self.d.jobs()) == 1

    def who_measured_leaves_no_job_neutral_for_good(self) -> None:
        """Whoever changes the carrier just then."""
        lock = self._with_a_lock()
        root = self.d.peer()
        for number in range(1, 41):
            root.ok("set-job", id=number)
        root.ok("neutral")
        assert self.d.conf(7)[0] == self.d.conf(40)[0] == "latency"
        with lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            root.socket.close()
            time.sleep(0.2)
            self._soon("a lock that is held")
            assert self.d.conf(7)[0] == "latency"
        until(lambda: {self.d.conf(n)[0] for n in range(1, 41)} == {"training"}, "all as they were")

    def a_long_walk_keeps_nobody_waiting(self) -> None:
        """As over the sockets of a user's many network namespaces."""
        self.d.kill()
        self.d.start(MLCC_FAKE_WALK_MS="3000")
        alice, begin = self.d.peer(ALICE), time.monotonic()
        for i in range(4):
            alice.ok("set-job", cgroup=self.c.make(f"walk{i}", ALICE))
        alice.ok("del-job", job=1)
        self._soon("a long walk")
        assert time.monotonic() - begin < 2 * SOON_S, "set-job waits for the walk"

    # pools

    def a_part_of_the_ids_is_roots(self) -> None:
        self._configure(FAST)
        had = []
        for uid in range(MANY, MANY + 24):
            paths = [self.c.make(f"u{uid}-{i}", uid) for i in range(16)]
            peer = self.d.peer(uid)
            had.append(sum(peer.ask("set-job", cgroup=path)["ok"] for path in paths))
        assert had[:10] == [16] * 10, f"few users are in nobody's way: {had}"
        for i in range(255 // 8):
            self.d.peer().ok("set-job", cgroup=self.c.make(f"root{i}"))
        for uid in range(MANY, MANY + 24):
            for i in range(16):
                self.c.remove(f"u{uid}-{i}")
        assert sum(had) <= 255 - 255 // 8, had

    def connections_are_left_to_the_next_user(self) -> None:
        def hold(say: Callable[..., None], wait: Callable[[], None]) -> None:
            held = [connect(self.d.socket) for _ in range(32)]
            say(done=len(held))
            wait()

        with ExitStack() as all_of_them:
            for uid in range(MANY, MANY + 31):
                all_of_them.enter_context(Child(hold, uid=uid)).hear()
            self.d.peer(ALICE).ok("status")
            self._soon("many connections")

    def subordinate_ids_are_their_users(self) -> None:
        (self.d.sysroot / "etc").mkdir()
        (self.d.sysroot / "etc" / "subuid").write_text(f"alice:{MANY}:65536\n")
        self._configure(FAST + "connections-per-user = 8\njobs-per-user = 4\n")
        for i in range(4):
            self.d.peer(MANY + i).ok("set-job", cgroup=self.c.make(f"sub{i}", MANY + i))
        path = self.c.make("sub5", MANY + 5)
        self.d.peer(MANY + 5).refused("EDQUOT", "set-job", cgroup=path)
        kept.extend(peers := [self.d.peer(MANY + i) for i in range(9)])
        assert peers[0].ok("status") and not peers[8].reply()["ok"]
        self.d.peer(BOB).ok("set-job", cgroup=self.c.make("bobs", BOB))

    def a_ring_is_its_owners_memory(self) -> None:
        """Whoever makes its pages is charged for them: mlccd makes none, nor can they be taken."""
        alice, ring = self.d.peer(ALICE), Ring(slots=16384)
        ring.set_number(Ring.HEAD_AT, 4096)
        ring.set_number(Ring.TAIL_AT, 4096)
        pages = os.fstat(ring.fds[0]).st_blocks
        assert alice.raw(OPEN_RING, ring.fds)["ok"]
        for head in range(4097, 16384, 1024):
            ring.set_number(Ring.HEAD_AT, head)
            ring.wake()
            until(lambda n=head: ring.number(Ring.TAIL_AT) == n, f"the tail at {head}")
        assert self.d.status()["ring_records_bad"] > 0, "nothing was read"
        assert os.fstat(ring.fds[0]).st_blocks == pages, "mlccd fills what is not there"
        assert LIBC.fallocate(ring.fds[0], PUNCH_HOLE, OFF_T(0), OFF_T(4096)), "a page is taken"
        assert ctypes.get_errno() == errno.EPERM

    def who_is_refused_is_so_for_a_moment(self) -> None:
        """Without being looked at; another process of the user is not concerned."""
        self._configure("[limits]\nrequests-per-second = 1000\nrequests-burst = 2\n")

        def served() -> bool:
            with suppress(OSError), connect(self.d.socket) as peer:
                peer.send(STATUS)
                return bool(json.loads(peer.recv(70000))["ok"])
            return False

        def alice(say: Callable[..., None], wait: Callable[[], None]) -> None:
            for _ in range(1000):
                while served():
                    pass
                time.sleep(0.005)
                # he has enough to be served again by now
                if not served():
                    break
            else:
                say(error="is served at once")
            with Child(lambda say, wait: say(served=served())) as other:
                say(**other.hear())

        with Child(alice, uid=ALICE) as it:
            assert it.hear() == {"served": True}

    def replies_that_nobody_takes_are_few(self) -> None:
        """They are mlccd's memory."""
        deaf, before = self.d.peer(), self.d.status()["requests"]
        deaf.socket.setblocking(False)
        for _ in range(200):
            with suppress(BlockingIOError):
                deaf.socket.send(STATUS)
            # by then mlccd has answered that one, if it would
            handled = self.d.status()["requests"] - before
        assert 0 < handled - 200 < 60, f"{handled - 200} replies are queued"

    def a_user_has_few_replies_kept(self) -> None:
        self._configure(FAST)
        deaf = [self.d.peer(ALICE).socket for _ in range(12)]

        def closed() -> int:
            count = 0
            for peer in deaf:
                try:
                    peer.send(STATUS, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    pass
                except OSError:
                    count += 1
            return count

        until(lambda: closed() == len(deaf) - 4, "the end of all but four of them")

    def metrics_that_nobody_takes_are_short(self) -> None:
        self._configure(f"[daemon]\nmetrics-port = {PORT}\nmark-mask = 0xfff\n")
        root, peers = self.d.peer(), []
        for i in range(1, 601):
            root.ok("set-job", id=i)
        for _ in range(8):
            peers.append(peer := socket.socket())
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            peer.connect(("127.0.0.1", PORT))
            peer.send(b"GET /metrics HTTP/1.0\r\n\r\n")

        def queued() -> list[int]:
            lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
            ours = [words[4] for words in lines if words[1].endswith(f":{PORT:04X}")]
            return [bytes_ for words in ours if (bytes_ := int(words.partition(":")[0], 16))]

        until(lambda: len(queued()) == len(peers), "answers")
        time.sleep(0.5)
        assert max(queued()) < 200000, queued()
        # each would keep an answer of its own, for as long as it likes
        taken = {peer: b"" for peer in peers}

        def are_over() -> bool:
            with socket.create_connection(("127.0.0.1", PORT)) as quick:
                quick.send(b"GET /metrics HTTP/1.0\r\n\r\n")
                assert b"".join(iter(lambda: quick.recv(1 << 20), b"")).endswith(END)
            for peer in list(peers):
                part = b""
                with suppress(ConnectionResetError):
                    part = peer.recv(1500)
                taken[peer] += part
                if not part:
                    peers.remove(peer)
                    peer.close()
            return not peers

        until(are_over, "the end of who takes his slowly")
        assert not [text for text in taken.values() if text.endswith(END)], "nobody was ended"

    def groups_of_a_process_keep_nobody_waiting(self) -> None:
        """What may be long: /proc/PID/status, which nothing has to read, and what the peer has."""
        root, path = self.d.peer(), self.c.make("groups", ALICE)
        for i in range(20):
            root.ok("set-job", cgroup=self.c.make(f"of-a-group{i}"), owner_gid=7)

        def container(say: Callable[..., None], wait: Callable[[], None]) -> None:
            check(LIBC.unshare(CLONE_NEWUSER), "unshare")
            say(pid=os.getpid())
            wait()
            os.setgroups(range(65536))
            peer, before = Peer(self.d.socket), self._cpu_s()
            asked = [peer.ask("set-job", pid=os.getpid(), dry_run=True)["ok"] for _ in range(20)]
            asked += [peer.ask("show")["ok"] for _ in range(20)]
            took = self._cpu_s() - before
            own = cpu_s(Path("/proc/self/status").read_bytes) / 3
            say(asked=all(asked), cheap=took < own / 2)

        with Child(container, uid=ALICE, cgroup=self.c.mount / path) as it:
            pid = it.hear()["pid"]
            Path(f"/proc/{pid}/uid_map").write_text(f"0 {ALICE} 1")
            Path(f"/proc/{pid}/gid_map").write_text("0 100000 65536")
            it.go()
            assert it.hear() == {"asked": True, "cheap": True}

    def cgroups_in_a_job_keep_nobody_waiting(self) -> None:
        root, path = self.d.peer(), self.c.make("crowded")
        folder = self.c.mount / path
        for i in range(8000):
            (folder / str(i)).mkdir()
        before = self._cpu_s()
        for _ in range(60):
            root.ok("set-job", cgroup=path)
        took, own = self._cpu_s() - before, cpu_s(lambda: os.listdir(folder))
        for i in range(8000):
            (folder / str(i)).rmdir()
        assert took < own, f"{took} s for what is listed in {own} s"

    def a_process_deep_down_keeps_nobody_waiting(self) -> None:
        """Ten thousand cgroups deep the kernel takes a second to write down where it is."""
        top = self.c.make("deep", ALICE)
        job = self.d.peer().ok("set-job", cgroup=top)["job"]["id"]
        deep = self.c.mount / top
        for _ in range(1200):
            deep /= "d"
            deep.mkdir()

        def alice(say: Callable[..., None], wait: Callable[[], None]) -> None:
            held = Peer(self.d.socket)

            def asks() -> None:
                Peer(self.d.socket).ask("status")
                held.ask("hint", job=job, phase="start")
                held.ask("set-job", **{"self": True}, dry_run=True)

            before = self._cpu_s()
            for _ in range(30):
                asks()
            took, own = self._cpu_s() - before, cpu_s(Path("/proc/self/cgroup").read_bytes)
            say(hint=held.ask("hint", job=job, phase="start")["ok"], cheap=took < own / 2)

        try:
            with Child(alice, uid=ALICE, cgroup=deep) as it:
                assert it.hear() == {"hint": True, "cheap": True}
        finally:
            while deep.name == "d":
                deep.rmdir()
                deep = deep.parent

    def mounts_on_mounts_keep_nobody_waiting(self) -> None:
        """Of each the kernel looks at all below it, to say where it is: so nobody asks it."""
        path, folders = self.c.make("mounts", ALICE), (self.d.base / "own", self.d.base / "stack")
        for folder in folders:
            folder.mkdir()

        def container(say: Callable[..., None], wait: Callable[[], None]) -> None:
            userns(CLONE_NEWNS | CLONE_NEWCGROUP)
            own, what = (str(folder).encode() for folder in folders)
            check(LIBC.mount(b"own", own, b"cgroup2", 0, None), "mount")
            asked = [Peer(self.d.socket).ask("set-job", cgroup=own.decode(), dry_run=True)]
            for _ in range(8000):
                check(LIBC.mount(what, what, None, MS_BIND, None), "mount")
            for _ in range(2):
                asked.append(Peer(self.d.socket).ask("set-job", cgroup=own.decode(), dry_run=True))
            asked.append(Peer(self.d.socket).ask("set-job", **{"self": True}, dry_run=True))
            say(asked=[one.get("code", "fine") for one in asked])

        with Child(container, uid=ALICE, cgroup=self.c.mount / path) as it:
            assert it.hear() == {"asked": [*["EINVAL"] * 3, "fine"]}

    def a_pod_does_not_use_up_what_another_has(self) -> None:
        """Root of containers, without capabilities, in jobs that root has set for them."""
        root, paths = self.d.peer(), [self.c.make("pod1"), self.c.make("pod2")]
        for path in paths:
            root.ok("set-job", cgroup=path)

        def pod(say: Callable[..., None], wait: Callable[[], None]) -> None:
            drop_capabilities(0)
            peers = [connect(self.d.socket) for _ in range(32)]
            said: list[bool] = []
            for peer in peers:
                for _ in range(12):
                    peer.send(b'{"op":"show","self":true}')
                    said.append(json.loads(peer.recv(70000))["ok"])
            say(first=said[0], all=all(said))
            wait()

        where = [self.c.mount / path for path in paths]
        with Child(pod, cgroup=where[0]) as one:
            assert one.hear() == {"first": True, "all": False}, "all that one pod has"
            with Child(pod, cgroup=where[1]) as other:
                assert other.hear()["first"], "another pod's"

    def crowds_at_full_speed_keep_nobody_waiting(self) -> None:
        """Who connects again and again, asks again and again, asks what is long."""
        long = b'{"op":"show","x":[' + b"1," * 32000 + b"1]}"

        def crowd(text: bytes, requests: int) -> Any:
            def run(say: Callable[..., None], wait: Callable[[], None]) -> None:
                say(ready=True)
                while True:
                    with suppress(OSError):
                        peer = connect(self.d.socket)
                        for _ in range(requests):
                            peer.send(text)
                            if not peer.recv(70000):
                                break
                        peer.close()

            return run

        kinds = [(STATUS, 0), (STATUS, 1 << 30), (long, 1 << 30)]
        with ExitStack() as all_of_them:
            for i in range(9):
                it = Child(crowd(*kinds[i % 3]), uid=MANY + i)
                all_of_them.enter_context(it).hear()
            begin, busy = time.monotonic(), self._cpu_s()
            for _ in range(10):
                time.sleep(0.1)
                self._soon("a crowd")
            busy = (self._cpu_s() - busy) / (time.monotonic() - begin)
            assert busy < 0.4, f"mlccd takes {busy:.2f} of a processor"

    def _cpu_s(self) -> float:
        ticks = 0
        for pid in (self.d.keeper(), self.d.parser()):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def jobs_that_do_nothing_wake_nobody(self) -> None:
        """However many there are: once a second some are looked at."""
        self._configure("[daemon]\nmark-mask = 0xffff\n")
        root = self.d.peer()
        for i in range(600):
            root.ok("set-job", cgroup=self.c.make(f"idle{i}"))
        before = self._wakes()
        time.sleep(3)
        assert self._wakes() - before < 45, "more than 15 wake-ups a second"

    def _wakes(self) -> int:
        pids = (self.d.keeper(), self.d.parser())
        return sum(int(status_of(pid)["voluntary_ctxt_switches"][0]) for pid in pids)

    # who is the administrator

    def root_of_another_network_is_no_administrator(self) -> None:
        self._configure("[limits]\nusers = no\n")
        job = self.d.peer().ok("set-job", cgroup=self.c.make("other"))["job"]["id"]

        def container(say: Callable[..., None], wait: Callable[[], None]) -> None:
            check(LIBC.unshare(CLONE_NEWNET), "unshare")
            drop_capabilities(1 << CAP_NET_ADMIN)
            peer = Peer(self.d.socket)
            say(admin=peer.ask("status")["admin"], deletes=peer.ask("del-job", job=job)["ok"])

        def administrator(say: Callable[..., None], wait: Callable[[], None]) -> None:
            drop_capabilities(1 << CAP_NET_ADMIN)
            say(admin=Peer(self.d.socket).ask("status")["admin"])

        with Child(container) as it:
            assert it.hear() == {"admin": False, "deletes": False}
        with Child(administrator) as it:
            assert it.hear() == {"admin": True}

    # a plan's leader

    def mlccd_says_which_process_waits(self) -> None:
        """What another user binds or opens changes nothing, and who hangs is replaced."""
        root, rings = self.d.peer(), [Ring() for _ in range(3)]
        job = root.ok("set-job", cgroup=self.c.make("bob", BOB), owner_uid=BOB)["job"]["id"]
        root.ok("set-plan", jobs=[{"job": job, "period_us": 5000, "offset_us": 1}])
        text = json.dumps({"op": "open-ring", "job": job}).encode()
        self.d.peer(ALICE).refused("EPERM", "open-ring", job=job)
        peers = [self.d.peer(BOB) for _ in rings]
        for peer, ring in zip(peers, rings, strict=True):
            assert peer.raw(text, ring.fds)["ok"]
        assert [has_a_plan(ring) for ring in rings] == [True, False, False]
        for _ in range(3):
            rings[1].put(job=job, bytes=5)
        until(lambda: has_a_plan(rings[1]), "the plan of who begins phases")
        assert [has_a_plan(ring) for ring in rings] == [False, True, False]
        peers[1].socket.close()
        until(lambda: has_a_plan(rings[0]), "the plan of the next one")
        root.ok("del-job", job=job)
        assert not any(has_a_plan(ring) for ring in (rings[0], rings[2]))

    # names and paths

    def a_users_name_is_not_in_roots_way(self) -> None:
        root, path = self.d.peer(), self.c.make("alice", ALICE)
        hers = self.d.peer(ALICE).ok("set-job", cgroup=path, name="slurm-1")["job"]["id"]
        self.d.peer(BOB).ok("set-job", cgroup=self.c.make("bob", BOB), name="slurm-1")
        root.refused("ENOTUNIQ", "show", job="slurm-1")
        job = root.ok("set-job", cgroup=self.c.make("a"), name="slurm-1")["job"]["id"]
        plan = {"period_us": 5000, "offset_us": 1}
        assert root.ok("set-plan", jobs=[{"job": "slurm-1"} | plan])["ids"] == [job]
        assert self.d.peer(ALICE).ok("show", job="slurm-1")["jobs"][0]["id"] == hers
        assert root.ok("del-job", job="slurm-1")["id"] == job

    def a_path_that_a_terminal_does_not_show_is_refused(self) -> None:
        alice = self.d.peer(ALICE)
        for letter in "\u0085\u009b\u202e\u2066\u200f\u061c\u200b\U000e0041\x7f":
            reply = alice.refused("EINVAL", "set-job", cgroup=self.c.make(f"a{letter}b", ALICE))
            assert "not shown" in reply["error"], reply
            self.c.remove(f"a{letter}b")
        alice.ok("set-job", cgroup=self.c.make("aüb 中", ALICE))

    def a_cgroup_made_anew_has_no_rights(self) -> None:
        """Before mlccd has looked whether the old one is there still."""
        self._configure("[daemon]\ncgroup-poll-ms = 60000\n")
        root, path = self.d.peer(), self.c.make("a")
        job = root.ok("set-job", cgroup=path)["job"]["id"]

        def process(say: Callable[..., None], wait: Callable[[], None]) -> None:
            drop_capabilities(0)
            peer = Peer(self.d.socket)
            replies = (
                peer.ask("hint", job=job, phase="start", bytes=5),
                peer.ask("open-ring", job=job),
                peer.ask("show", self=True),
            )
            say(codes=[reply.get("code") for reply in replies])

        with Child(process, cgroup=self.c.mount / path) as it:
            assert it.hear() == {"codes": [None, "EINVAL", None]}
        self.c.remove("a")
        self.c.make("a")
        with Child(process, cgroup=self.c.mount / path) as it:
            assert it.hear() == {"codes": ["EPERM", "EPERM", "ENOENT"]}

    # what honest ones need

    def a_container_finds_the_next_mlccd(self) -> None:
        """Also one that has mounted the socket itself, where no service manager keeps it."""
        mounted, alone = self.d.base / "mounted", self.d.base / "alone.sock"
        mounted.mkdir()
        alone.touch()

        def container(say: Callable[..., None], wait: Callable[[], None]) -> None:
            check(LIBC.unshare(CLONE_NEWNS), "unshare")
            check(LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount")
            for what, where in ((self.d.run / "socket", mounted), (self.d.socket, alone)):
                names = (str(what).encode(), str(where).encode())
                check(LIBC.mount(*names, None, MS_BIND, None), "mount")
            say(ok=Peer(mounted / "mlccd.sock").ask("status")["ok"], there=os.listdir(mounted))
            wait()
            say(ok=[Peer(path).ask("status")["ok"] for path in (mounted / "mlccd.sock", alone)])

        with Child(container) as it:
            assert it.hear() == {"ok": True, "there": ["mlccd.sock"]}
            for how in (signal.SIGTERM, signal.SIGKILL):
                self.d.kill(how)
                waits = self.d.peer()
                waits.socket.send(b'{"op": "status"}')
                self.d.start()
                assert json.loads(waits.socket.recv(70000))["ok"], "who came in meanwhile"
            it.go()
            assert it.hear() == {"ok": [True, True]}
        # and who takes all of it away takes that away, too
        with os.fdopen(os.pidfd_open(self._process("mlccd-holder"))) as holder:
            self.d.kill()
            shutil.rmtree(self.d.run)
            until(lambda: select.select([holder], [], [], 0)[0], "the end of who has the socket")
