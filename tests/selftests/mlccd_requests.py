# SPDX-License-Identifier: GPL-2.0
"""Requests, and who may ask for what."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mlccd_driver import (
    ALICE,
    BOB,
    CLONE_NEWCGROUP,
    GROUP,
    JSON,
    LIBC,
    Cases,
    Peer,
    Ring,
    assert_refused,
    become,
    root_peer,
    run,
)

from memory_mlccd import until


class Requests(Cases):
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

    def a_job_is_neutral_while_somebody_measures_it(self) -> None:
        root, other = self.d.peer(), self.d.peer()
        job = root.ok("set-job", name="bert", cgroup=self.c.make("a"), phase_bytes=7)["job"]["id"]
        root.ok("set-job", id=job + 1, name="other")
        for neutral in (True, True, False, False, True):
            root.ok("neutral", job="bert", neutral=neutral)
            assert self.d.conf(job) == (("latency", 0) if neutral else ("training", 7))
            shown = root.ok("show", job="bert")["jobs"][0]
            assert (shown["class"], shown["phase_bytes"]) == ("training", 7), shown
            assert shown.get("measured", False) == neutral, shown
        other.refused("EBUSY", "neutral", job="bert")
        other.refused("EBUSY", "neutral", job="bert", neutral=False)
        root.refused("EBUSY", "neutral", job="other")
        other.ok("neutral", job="other")
        self.d.peer(BOB).refused("ENOENT", "neutral", job="bert")
        self.d.peer(BOB).refused("EPERM", "neutral", job=job)
        root.socket.close()
        until(lambda: self.d.conf(job) == ("training", 7), "the job is as it was set")
        assert self.d.conf(job + 1)[0] == "latency"
        other.ok("set-job", id=job + 1, name="other", phase_bytes=5)
        assert self.d.conf(job + 1) == ("training", 5)
        other.ok("neutral", job="other")
        other.ok("neutral", job="other", neutral=False)
        self.d.peer(BOB).refused("EPERM", "neutral")
        other.ok("neutral")
        assert [self.d.conf(n) for n in (job, job + 1)] == [("latency", 0)] * 2
        self.d.peer().refused("EBUSY", "neutral")
        self.d.peer().refused("EBUSY", "neutral", job="bert")
        late = other.ok("set-job", name="late", cgroup=self.c.make("b"), phase_bytes=9)["job"]["id"]
        assert self.d.conf(late) == ("latency", 0)
        other.socket.close()
        until(lambda: self.d.conf(job) == ("training", 7), "all are as they were set")
        assert (self.d.conf(job + 1), self.d.conf(late)) == (("training", 5), ("training", 9))
        other = self.d.peer()
        other.ok("del-job", job="other")
        other.ok("set-job", id=job + 1, **{"class": "background"})
        other.refused("EINVAL", "neutral", job=job + 1)
        other.refused("ENOENT", "neutral", job=99)

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
        # of the job of a fresh cgroup
        wrong_values: tuple[tuple[str, str, Sequence[Any]], ...] = (
            ("EINVAL", "colour", ["red"]),
            ("EINVAL", "name", ["a\x1b[2J", "a b", "a\x00b", "ä", 7]),
            ("ENAMETOOLONG", "name", ["n" * 64]),
            ("EINVAL", "profile", ["nonsense"]),
            ("EINVAL", "class", ["bulk", "", 1]),
            ("ENAMETOOLONG", "class", ["x" * 64]),
            ("ERANGE", "phase_bytes", [0, -1, 1 << 48, (1 << 64) - 1, -(1 << 63), 1.5, "1", None]),
            ("ERANGE", "period_us", [1 << 32]),
            ("ERANGE", "priority_classes", [9, 1, -1]),
            ("EINVAL", "skip", [7, "0", "65536", "9-8", "a", "1.2.3", "::1/129"]),
            ("EINVAL", "skip", ["lo,", "none,lo", "ä"]),
            ("E2BIG", "skip", ["1,2,3,4,5,6,7,8,9"]),
            ("ENAMETOOLONG", "skip", ["1," * 128]),
            *(("EINVAL", key, [1]) for key in ("create", "limited")),
            ("ERANGE", "id", [0, 65536]),
            ("EINVAL", "pid", [1]),
            ("EINVAL", "cgroup", ["", 5, "/", ".", f"{fresh}/../a", "../../etc"]),
            ("EINVAL", "cgroup", [f"{fresh}\n", f"{fresh}\x00"]),
            ("ENOENT", "cgroup", ["no/such/cgroup"]),
            ("ENOTDIR", "cgroup", [f"{fresh}/cgroup.procs"]),
            ("ENAMETOOLONG", "cgroup", ["x" * 5000]),
        )
        cases: list[tuple[str, str, JSON]] = [
            *(
                (code, "set-job", {"cgroup": fresh, key: value})
                for code, key, values in wrong_values
                for value in values
            ),
            ("EOPNOTSUPP", "nonsense", {}),
            ("EOPNOTSUPP", "", {}),
            ("ENAMETOOLONG", "x" * 100, {}),
            ("EPROTONOSUPPORT", "status", {"version": 2}),
            ("EPROTONOSUPPORT", "status", {"version": 0}),
            ("ERANGE", "status", {"version": "1"}),
            ("EINVAL", "status", {"unknown": 1}),
            ("EINVAL", "status", {"a\x00b\n": 1}),
            ("EINVAL", "set-job", {}),
            ("EINVAL", "set-job", {"name": "x"}),
            ("EINVAL", "set-job", {"cgroup": fresh, "class": "latency", "phase_bytes": 5}),
            ("EINVAL", "set-job", {"cgroup": fresh, "class": "background", "period_us": 5}),
            ("ERANGE", "show", {"after": -1}),
            ("EINVAL", "set-job", {"id": 5, "priority_classes": 2}),
            ("EBUSY", "set-job", {"cgroup": path, "id": 10}),
            ("ERANGE", "set-job", {"pid": 0}),
            ("ESRCH", "set-job", {"pid": 0x7FFFFFFF}),
            ("EINVAL", "del-job", {}),
            ("ENOENT", "del-job", {"job": "nobody"}),
            *(("ERANGE", "del-job", {"job": job}) for job in (0, (1 << 64) - 1, [9])),
            *(("ENOENT", op, {"job": 10}) for op in ("del-job", "show")),
            ("ENOENT", "hint", {"job": 10, "phase": "start"}),
            ("EINVAL", "hint", {"job": 9}),
            ("EINVAL", "hint", {"job": 9, "phase": "middle"}),
            ("EINVAL", "hint", {"job": 9, "phase": "end", "bytes": 5}),
            *(("ERANGE", "hint", {"job": 9, "phase": "start", "bytes": n}) for n in (0, 1 << 48)),
            ("EINVAL", "profile-set", {}),
            ("ENOENT", "profile-set", {"name": "nonsense", "floor": 1}),
            *(("ERANGE", "profile-set", {"name": "mltcp", "floor": n}) for n in (-1, 1e300)),
            ("ERANGE", "profile-set", {"name": "mltcp", "hold": 1.5}),
            ("ERANGE", "profile-set", {"name": "mltcp", "shape": 5}),
            ("EINVAL", "open-ring", {}),
            ("EINVAL", "open-ring", {"slots": 8}),
        ]
        for code, op, fields in cases:
            with self.unchanged():
                root.refused(code, op, **fields)
        # to json-c that is the next number, or since 0.18 none
        for number in (1 << 64, -(1 << 64)):
            with self.unchanged():
                assert not root.ask("set-job", cgroup=fresh, phase_bytes=number)["ok"], number

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

    def latency_is_for_those_who_may(self) -> None:
        path = self.c.make("alice", ALICE)
        alice = self.d.peer(ALICE)
        latency: JSON = {"cgroup": path, "class": "latency"}
        with self.unchanged():
            alice.refused("EPERM", "set-job", **latency)
            # a launcher of root's has them from a user
            root = self.d.peer()
            root.refused("EPERM", "set-job", limited=True, owner_uid=ALICE, **latency)
            root.refused("EPERM", "set-job", limited=True, cgroup=path, profile="hotnets22")
            root.refused("EPERM", "set-job", limited=True, cgroup=path, priority_classes=2)
            root.ok("set-job", dry_run=True, owner_uid=ALICE, **latency)
        job = alice.ok("set-job", cgroup=path, **{"class": "background"})["job"]["id"]
        self.configure("latency-class = yes")
        assert alice.ok("set-job", **latency)["job"]["class"] == "latency"
        alice.ok("del-job", job=job)
        root.ok("set-job", limited=True, owner_uid=ALICE, **latency)

    def a_class_has_its_dscp_where_there_are_some(self) -> None:
        """That is no progress, so a plan's may take its place."""
        root, path = self.d.peer(), self.c.make("a")
        background: JSON = {"cgroup": path, "class": "background"}
        assert root.ok("set-job", **background)["job"]["priority_classes"] == 0
        self.configure("priority-classes = 4")
        job = root.ok("set-job", limited=True, **background)["job"]
        assert job["priority_classes"] == 4
        root.ok("set-plan", jobs=[{"job": job["id"], "dscp": 8}])
        root.ok("set-job", **background)
        assert root.ok("show", job=job["id"])["jobs"][0]["dscp"] == 8
        assert root.ok("set-job", priority_classes=0, **background)["job"]["priority_classes"] == 0
        assert root.ok("set-job", cgroup=path)["job"]["priority_classes"] == 0
        assert root.ok("set-job", id=9, **{"class": "latency"})["job"]["priority_classes"] == 0

    def a_user_may_use_nothing_else(self) -> None:
        alice, root = self.d.peer(ALICE), self.d.peer()
        mine = self.c.make("alice", ALICE)
        half, roots = self.c.make("half", ALICE), self.c.make("roots")
        os.chown(self.c.base / "half" / "cgroup.procs", 0, 0)
        with self.unchanged():
            for fields in (
                *({"cgroup": roots}, {"cgroup": half}, {"id": 5}, {"name": "x"}),
                *({"cgroup": mine, "id": 5}, {"cgroup": mine, "profile": "hotnets22"}),
                *({"cgroup": mine, "priority_classes": 2}, {"cgroup": mine, "owner_uid": BOB}),
                {"cgroup": mine, "owner_gid": ALICE},
            ):
                alice.refused("EPERM", "set-job", **fields)
            alice.refused("EPERM", "profile-set", name="mltcp", floor=0.5)
            for field in ("owner_uid", "owner_gid"):
                for wrong in (0, (1 << 32) - 1):
                    root.refused("ERANGE", "set-job", cgroup=mine, **{field: wrong})

    def a_process_stands_for_its_cgroup(self) -> None:
        mine, roots = self.c.make("alice", ALICE), self.c.make("roots")
        with self.sleeper(mine) as hers, self.sleeper(roots) as not_hers:
            alice = self.d.peer(ALICE)
            job = alice.ok("set-job", pid=hers, phase_bytes=6)["job"]
            assert job["cgroup"] == mine
            with self.unchanged():
                alice.refused("EPERM", "set-job", pid=not_hers)
                alice.refused("EINVAL", "set-job", pid=not_hers, self=True)

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
            for cgroup in (path, below, above, roots):
                bob.refused("EPERM", "set-job", cgroup=cgroup)
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
        alice.give(ring, job="batch")
        ring.put(job=job, bytes=99)
        until(lambda: self.phases(job) == 2, "the phase's start")
        self.d.again()
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

    def _ctl_in(self, cgroup: str, uid: int, *words: str) -> subprocess.CompletedProcess[str]:
        def enter() -> None:
            (self.c.mount / cgroup / "cgroup.procs").write_text("0")
            # as in a container, where its path is another one
            assert not LIBC.unshare(CLONE_NEWCGROUP)
            become(uid)

        return self.d.run_ctl(*words, preexec_fn=enter)

    def processes_of_a_job_announce_it(self) -> None:
        """Whoever they run as, and as long as they are in its cgroup."""
        root = self.d.peer()
        train, inner, other = (self.c.make(name) for name in ("train", "train/inner", "other"))
        job = str(root.ok("set-job", name="bert", cgroup=train)["job"]["id"])
        for cgroup, status in ((train, 0), (inner, 0), (other, 1)):
            for name in (job, "bert"):
                done = self._ctl_in(cgroup, ALICE, "hint", name, "start", "5")
                assert done.returncode == status, (cgroup, done)
        for words in (["del-job", job], ["set-job", "--self"], ["set-job", "--cgroup", train]):
            assert self._ctl_in(inner, ALICE, *words).returncode == 1, words
        assert json.loads(self._ctl_in(inner, ALICE, "-j", "show").stdout) == []
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
            done = self._ctl_in(cgroup, uid, "-j", "show", "--self")
            assert done.returncode == 0, done
            assert [j["name"] for j in json.loads(done.stdout)] == [name], cgroup
        for uid in (0, ALICE):
            assert self._ctl_in(elsewhere, uid, "-j", "show", "--self").returncode == 1, uid

    def a_cgroup_whose_name_is_no_text_is_refused(self) -> None:
        path = os.fsencode(self.c.base) + b"/\xff\xc0"
        os.mkdir(path)
        with self.sleeper(os.fsdecode(path)) as pid, self.unchanged():
            self.d.peer().refused("EINVAL", "set-job", pid=pid)

    def users_have_limits(self) -> None:
        self.configure("jobs-per-user = 2\nprofiles = mltcp\npriority-classes = 2")
        alice = self.d.peer(ALICE)
        paths = [self.c.make(f"alice{i}", ALICE) for i in range(3)]
        alice.ok("set-job", cgroup=paths[0], profile="mltcp", priority_classes=2)
        alice.ok("set-job", cgroup=paths[1])
        with self.unchanged():
            alice.refused("EDQUOT", "set-job", cgroup=paths[2])
            alice.refused("EPERM", "set-job", cgroup=paths[1], priority_classes=3)
            alice.refused("EPERM", "set-job", cgroup=paths[1], profile="interleave")
        alice.ok("set-job", cgroup=paths[1], phase_bytes=7)
        self.configure("users = no")
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
                command = ("setpriv", "--bounding-set", "-all", self.d.ctl)
                done = run(*command, "--socket", self.d.socket, *words)
                assert done.returncode == 1, done

    def a_number_of_another_pid_namespace_is_refused(self) -> None:
        words = [*("unshare", "--pid", "--fork", "--mount-proc"), self.d.ctl]
        words += ["--socket", self.d.socket, "set-job", "--pid", "1"]
        with self.unchanged():
            done = run(*words)
        assert done.returncode and "namespace" in done.stderr, done
        place = self.c.make("inside")
        (self.c.mount / place / "cgroup.procs").write_text("0")
        try:
            words[-2:] = ["--self"]
            done = run(*words)
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
            return run(*words)

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
        if run(*mount).returncode:
            print("# not tried: cgroups of version 1 cannot be mounted")
            return
        try:
            with self.sleeper(place) as first, self.sleeper(place) as second:
                root.ok("set-job", pid=first, dry_run=True)
                (older / "container").mkdir()
                (older / "container" / "cgroup.procs").write_text(str(first))
                with self.unchanged():
                    reply = root.refused("EINVAL", "set-job", pid=first)
                assert f"with process {second}, which" in reply["error"], reply
        finally:
            with suppress(OSError):
                until(lambda: not (older / "container" / "cgroup.procs").read_text(), "its end")
                (older / "container").rmdir()
            subprocess.run(["umount", older], check=False)

    def what_needs_a_restart_is_said_at_reload(self) -> None:
        lines = ("mark-mask = 0xfff", "metrics-port = 9", "metrics-address = 127.0.0.2")
        self.d.config.write_text("\n".join(["[daemon]", "cgroup-poll-ms = 20", *lines, ""]))
        before = len(self.d.log.read_text())
        self.reload()
        said = self.d.log.read_text()[before:]
        assert all(f"{line} needs a restart" in said for line in lines), said
        assert self.d.status()["mark_mask"] == 0xFF

    def too_many_connections_are_refused(self) -> None:
        self.d.write_config("connections-per-user = 3")
        self.reload()
        peers = [self.d.peer(ALICE) for _ in range(3)]
        for peer in peers:
            peer.ok("status")
        assert_refused(self.d.peer(ALICE).reply(), "EAGAIN", "the fourth connection")
        self.d.peer(BOB).ok("status")
        self.d.peer().ok("status")

    def a_peer_that_floods_is_told_then_dropped(self) -> None:
        self.d.write_config("")
        text = self.d.config.read_text()
        self.d.config.write_text(re.sub("= 100000", "= 5", text))
        self.reload()
        until(lambda: self._floods(self.d.peer(BOB)), "the bucket's end")
        root = self.d.peer()
        for _ in range(50):
            root.ok("status")

    def _floods(self, peer: Peer) -> bool:
        codes = []
        try:
            for _ in range(500):
                reply = peer.ask("status")
                codes.append(reply.get("code", "ok"))
        except (AssertionError, OSError):
            return codes.count("EAGAIN") > 10
        return False
