# SPDX-License-Identifier: GPL-2.0
"""Rings: hints, and the shifts of a plan; what libmlcc-hint makes of one is in tests/torch."""

import fcntl
import os
import time
from typing import Any

from mlccd_driver import (
    ALICE,
    BOB,
    JSON,
    LIMIT,
    RECORDS_AT,
    Cases,
    Peer,
    Ring,
)

from memory_mlccd import until

F_SEAL_FUTURE_WRITE = 0x10


class Rings(Cases):
    def _given(self, count: int) -> tuple[list[Peer], list[Ring]]:
        """As many connections, each with a ring."""
        peers, rings = [self.d.peer() for _ in range(count)], [Ring() for _ in range(count)]
        for peer, ring in zip(peers, rings, strict=True):
            peer.give(ring)
        return peers, rings

    def a_ring_hints_its_users_jobs_only(self) -> None:
        alice, root = self.d.peer(ALICE), self.d.peer()
        alice.ok("set-job", name="hers", cgroup=self.c.make("alice", ALICE))
        job = self.id_of("hers")
        root.ok("set-job", id=job + 100)
        ring = Ring(slots=16)
        alice.give(ring)
        for _ in range(3 * ring.slots):
            ring.put(job=job, bytes=99)
            ring.wait_until_read()
        assert self.phases(job) == 3 * ring.slots
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
        peer.give(ring)
        ring.put(job=7, bytes=100)
        until(lambda: self.phases(7) == 1, "the phase before")
        self.d.kill()
        for size in (200, 300):
            ring.put(job=7, bytes=size)
        self.d.start()
        assert self.phases(7) == 1, "taken without the ring"
        peer = self.d.peer()
        ring.renew()
        peer.give(ring)
        ring.wait_until_read()
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
            rings[rank].wait_until_read()
            assert shown() == wanted, (shown(), wanted)

        root = self.d.peer()
        root.ok("set-job", id=7)
        peers, rings = self._given(3)
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
        _, rings = self._given(4)
        for phase in range(1, 4):
            with self.stopped():
                for kind in (1, 2):
                    for ring in rings:
                        ring.put(job=7, kind=kind, bytes=100 if kind == 1 else 0)
            for ring in rings:
                ring.wait_until_read()
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
            peer.give(ring)
            ring.put(job=7, bytes=1000)
            until(lambda n=number: shown() == {"ranks": n}, "a rank")
        for ring in rings:
            ring.set_number(Ring.SENT_AT, 5000)
            ring.set_number(Ring.START_AT, 4400)
        wanted = {"ranks": 8, "ranks_sent_bytes": 40000, "ranks_phase_bytes": 4800}
        assert shown() == wanted, shown()
        rings[0].put(job=7, kind=2)
        until(lambda: shown()["ranks_phase_bytes"] == 7 * 600, "the end of a part")
        for sent, start in ((1 << 64) - 1, 0), (0, (1 << 64) - 1), ((1 << 63), 1):
            rings[1].set_number(Ring.SENT_AT, sent)
            rings[1].set_number(Ring.START_AT, start)
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
            peer.give(ring)
            now = max(time.monotonic_ns() + offset_ns, 10**10)
            with self.stopped():
                # what has waited for longer than the last one is late, the first one, too
                for age_s in (5, 3, 0):
                    ring.put(job=job, bytes=5, time=now - age_s * 10**9)
            ring.wait_until_read()
            after = self.d.status()
            counts = [after[key] - before[key] for key in ("ring_records_bad", "ring_records_late")]
            assert counts == [0, 2], (offset_ns, counts)
            assert self.phases(job) == 1, self.phases(job)
        assert "hints of process" in self.d.log.read_text()

    def garbage_in_a_ring_is_counted_and_dropped(self) -> None:
        root = self.d.peer()
        root.ok("set-job", id=7)
        ring = Ring(slots=64)
        root.give(ring)
        before = self.d.status()
        wrong: list[JSON] = [
            {"kind": 2, "bytes": 1},
            *({"version": n} for n in (0, 2, 65535)),
            *({"kind": n} for n in (0, 3, 65535)),
            *({"job": n} for n in (0, 8, 65536, 0xFFFFFFFF)),
            *({"bytes": n} for n in (LIMIT + 1, (1 << 64) - 1)),
            {"time": (1 << 64) - 1},
            *({"seq": n} for n in (0xFFFFFFFF, (1 << 64) - 1)),
            *({"zero": zero} for zero in (b"\x01", b"\x00" * 31 + b"\x80")),
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
            ring.set_number(Ring.HEAD_AT, head)
            ring.wake()
            until(lambda n=overruns: self.d.status()["ring_overruns"] == n + 1, f"head {head}")
            assert ring.number(Ring.TAIL_AT) == head
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
        root.give(good)
        root.refused("EBUSY", "open-ring")

    def a_ring_ends_with_its_connection(self) -> None:
        before = self.open_files()
        for _ in range(20):
            peer, ring = self.d.peer(), Ring()
            peer.give(ring)
            ring.wake()
            peer.socket.close()
            ring.wake()
        until(lambda: self.open_files() <= before, "the end of the rings")

    def a_ring_that_floods_hurts_nobody(self) -> None:
        self.configure("hints-per-second = 100\nhints-burst = 10")
        alice, root = self.d.peer(ALICE), self.d.peer()
        alice.ok("set-job", name="hers", cgroup=self.c.make("alice", ALICE))
        ring = Ring(slots=4096)
        alice.give(ring)
        before = self.d.status()["ring_records"]
        for _ in range(4000):
            ring.put(job=1, bytes=5)
        for _ in range(50):
            root.ok("status")
        until(lambda: self.d.status()["ring_records_limited"] > 0, "the limit")
        assert self.d.status()["ring_records"] - before < 4000

    def _plan_of(self, job: int | str) -> dict[str, Any]:
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
        assert self._plan_of("bert") == bert and self._plan_of("gpt") == gpt, self.d.jobs()
        before = self.d.snapshot()
        self.d.again()
        assert self.d.snapshot() == before, "not as it was"
        root = self.d.peer()
        root.ok("set-job", name="bert", id=9, cgroup=self.c.make("a"), phase_bytes=7)
        assert self._plan_of("bert") == bert, "set-job has changed the plan"
        root.ok("set-job", name="gpt", cgroup=self.c.make("b"), priority_classes=2)
        assert "dscp" not in self._plan_of("gpt"), "both a DSCP and many"
        root.ok("set-plan", jobs=[{"job": "bert"}])
        assert self._plan_of("bert") == {} and self._plan_of("gpt"), self.d.jobs()

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
            *(
                ("ERANGE", [good | {key: value}])
                for key, values in (
                    ("period_us", [0, 999, 60_000_001, (1 << 64) - 1, -255000, 255000.5]),
                    ("offset_us", [255000, -1]),
                    ("lead_us", [255000, "5"]),
                    ("dscp", [64, -1]),
                )
                for value in values
            ),
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
        with self.started(MLCC_FAKE_NOTAG="1"):
            root, ring = self.d.peer(), Ring()
            root.give(ring, job=1)
            jobs: list[JSON] = [
                {"job": 1, "period_us": 5000, "offset_us": 2},
                {"job": 2, "dscp": 8},
            ]
            seen = ring.shift()
            with self.unchanged():
                root.refused("EPERM", "set-plan", jobs=jobs)
            assert ring.shift() == seen

    def users_plan_their_own_jobs(self) -> None:
        self.configure("priority-classes = 2")
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
        self.configure("users = no")
        with self.unchanged():
            alice.refused("EPERM", "set-plan", jobs=[{"job": "hers"}])
        root.ok("set-plan", jobs=[{"job": "hers", "dscp": 10}, {"job": "his"} | shift])

    def a_ring_shows_the_shift_of_its_job(self) -> None:
        alice, root = self.d.peer(ALICE), self.d.peer()
        alice.ok("set-job", name="hers", cgroup=self.c.make("alice", ALICE))
        number, ring, other = self.id_of("hers"), Ring(), Ring()
        alice.give(ring, job="hers")
        self.d.peer(ALICE).give(other)
        assert ring.shift()[1:] == (0, 0, 0)
        plan = {"job": number, "period_us": 255000, "offset_us": 141000, "lead_us": 3}
        root.ok("set-plan", jobs=[plan])
        seq, *shown = ring.shift()
        assert shown == [255_000_000, 141_000_000, 3_000] and seq % 2 == 0, shown
        # what a process writes there disturbs neither mlccd nor anybody else
        ring.write(Ring.SAID_AT, Ring.SAID.pack(1, 3, -4_000, 254_000_000))
        assert self._plan_of(number)["shift_state"] == "held", self._plan_of(number)
        said = [self._plan_of(number)[f"shift_{key}"] for key in ("waits", "error_us")]
        assert said == [3, -4] and self._plan_of(number)["shift_own_period_us"] == 254000
        ring.write(Ring.SAID_AT, b"\xff" * Ring.SAID.size)
        assert self._plan_of(number)["shift_state"] == "nonsense"
        ring.write(Ring.SHIFT_AT, b"\xff" * Ring.SHIFT.size)
        root.ok("set-plan", jobs=[plan | {"offset_us": 5}])
        seq, *shown = ring.shift()
        assert shown == [255_000_000, 5_000, 3_000] and seq % 2 == 0, shown
        # the next mlccd goes on where this one was
        self.d.again()
        alice, root = self.d.peer(ALICE), self.d.peer()
        ring.renew()
        alice.give(ring, job="hers")
        after, *shown = ring.shift()
        assert shown == [255_000_000, 5_000, 3_000] and (after - seq) % (1 << 64) == 2, shown
        # another job, by the same number
        root.ok("del-job", job=number)
        assert ring.shift()[1:] == (0, 0, 0), "a shift without a job"
        root.ok("set-job", id=number, cgroup=self.c.make("roots"))
        root.ok("set-plan", jobs=[plan])
        assert ring.shift()[1:] == (0, 0, 0), "another user's shift"
        assert self._plan_of(number)["shift_state"] == "nobody-asks"
        assert other.shift() == (0, 0, 0, 0), "a shift that was not asked for"
