# SPDX-License-Identifier: GPL-2.0
"""Two processes, configurations, restarts, and what is left after each end."""

import os
import re
import signal
import time
from pathlib import Path

from mlccd_driver import ALICE, BOB, NOBODYS, Cases, children, has_ended, run, status_of, unshared

from memory_mlccd import WAIT_S, until


class Life(Cases):
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
        assert not {"bpf", "net", "user", "mlcc"} & self._kinds_open(self.d.parser())

    def _kinds_open(self, pid: int) -> set[str]:
        """Of what is open, for all that is no file: bpf-map, net:[1] and such."""
        folder = Path(f"/proc/{pid}/fd")
        links = [os.readlink(folder / fd) for fd in os.listdir(folder)]
        return {re.split(r"[-:]", link.removeprefix("anon_inode:"))[0] for link in links}

    def without_the_user_it_is_a_number_of_nobodys(self) -> None:
        with self.started(user="mlcc-no-such-user") as said:
            assert said["Uid"][0] not in ("0", str(NOBODYS)), said
        assert "there is no user mlcc-no-such-user" in self.d.log.read_text()

    def who_may_not_be_another_user_stays_root(self) -> None:
        self.d.peer().ok("set-job", name="bert", cgroup=self.c.make("a"))
        before = self.d.snapshot()
        # nor may this one read what is another user's
        less = "--bounding-set=-setuid,-dac_override,-dac_read_search"
        with self.started("setpriv", less) as said:
            assert said["Uid"][0] == "0" and int(said["CapEff"][0], 16) == 0, said
            assert self.d.snapshot() == before, "not as it was"

    def processes_that_are_hidden_are_found(self) -> None:
        path = self.c.make("a")
        hidden = unshared("-m", "mount -t proc -o hidepid=2 proc /proc")
        with self.sleeper(path, user=ALICE) as pid, self.started(*hidden):
            job = self.d.peer().ok("set-job", pid=pid)["job"]
            assert job["cgroup"] == path, job

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

    def jobs_survive_kill_9(self) -> None:
        root = self.d.peer()
        path, users = self.c.make("a"), self.c.make("alice", ALICE)
        root.ok("set-job", name="bert", cgroup=path, phase_bytes=1000, priority_classes=3)
        root.ok("set-job", name="saves", cgroup=self.c.make("b"), **{"class": "background"})
        root.ok("set-job", name="marked", id=77, skip="2049, fd00::/8")
        self.d.peer(ALICE).ok("set-job", name="hers", cgroup=users)
        root.ok("hint", job="bert", phase="start")
        before = self.d.snapshot()
        for _ in range(5):
            self.d.again()
            assert self.d.snapshot() == before, "not as it was"
        self.d.peer(BOB).refused("EPERM", "del-job", job=self.id_of("hers"))
        self.d.peer(ALICE).ok("del-job", job="hers")

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
        with self.started(MLCC_FAKE_NOTAG="1"):
            root = self.d.peer()
            with self.unchanged():
                root.refused("EPERM", "set-job", cgroup=path, phase_bytes=5)
            root.ok("set-job", id=5, name="marked", phase_bytes=8)
            with self.unchanged():
                root.refused("EPERM", "set-job", id=5, cgroup=path, phase_bytes=9)

    def _keeps_the_old(self, wrong: str) -> None:
        assert self.d.process
        told = self.d.log.read_text().count("keeps the old")
        self.d.process.send_signal(signal.SIGHUP)
        until(
            lambda: self.d.log.read_text().count("keeps the old") > told,
            f"the refusal of {wrong!r}",
        )

    def a_configuration_that_is_away_for_a_moment_stays(self) -> None:
        self.configure("users = no")
        self.d.config.unlink()
        self._keeps_the_old("nothing")
        assert not self.d.status()["limits"]["users"]

    def connections_are_skipped_as_the_job_or_the_site_says(self) -> None:
        root, path = self.d.peer(), self.c.make("a")
        assert root.ok("set-job", cgroup=path)["job"]["skip"] == "lo"
        assert root.ok("set-job", cgroup=path, skip="none")["job"]["skip"] == "none"
        skip = "lo, 2049, 6000-6100, 10.9.0.0/16, fd00::/8"
        self.configure(f"[jobs]\nskip = {skip}")
        assert root.ok("set-job", cgroup=path)["job"]["skip"] == skip
        assert root.ok("set-job", cgroup=path, skip="lo")["job"]["skip"] == "lo"

    def connections_are_background_as_the_site_says(self) -> None:
        """Of all jobs that there are: those are one job more, which goes with the line."""

        def classes() -> dict[str, str]:
            return {job["name"]: job["class"] for job in self.d.jobs()}

        self.configure("[jobs]\nbackground = 2049, 10.9.0.0/16")
        assert classes() == {}, "nobody needs it yet"
        alice = self.d.peer(ALICE)
        alice.ok("set-job", name="bert", cgroup=self.c.make("alice", ALICE))
        want = {"bert": "training", "conf/background": "background"}
        assert classes() == want and len(alice.ok("show")["jobs"]) == 1
        self.d.again()
        before = self.d.jobs()
        self.reload()
        assert self.d.jobs() == before and classes() == want
        self.configure("")
        assert classes() == {"bert": "training"}

    def a_wrong_configuration_is_refused_whole(self) -> None:
        self.configure("jobs-per-user = 3")
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
            "[jobs]\nbackground = lo,",
            "[daemon]\nmetrics-address = localhost",
            "[daemon]\nmetrics-address = 1.2.3.4.5",
            "[daemon]\nlink = up down",
        ):
            self.d.config.write_text(f"[limits]\njobs-per-user = 9\n\n{wrong}\n")
            self._keeps_the_old(wrong)
            line = 4 + wrong.count("\n")
            assert f"mlccd.conf:{line}: " in self.d.log.read_text().splitlines()[-1]
            assert self.d.status()["limits"] == before
            check = run(*self.d.command(), "--check")
            assert check.returncode == 1 and f":{line}: " in check.stderr, check
        self.d.config.write_text(good)
        assert run(*self.d.command(), "--check").returncode == 0

    def a_second_daemon_is_refused(self) -> None:
        with self.unchanged():
            second = run(*self.d.command())
            assert second.returncode == 1 and "another mlccd" in second.stderr, second

    def the_daemon_stops_when_root_asks(self) -> None:
        user = self.d.peer(uid=ALICE)
        user.refused("EPERM", "stop")
        self.d.peer().ok("set-job", id=7, name="stays")
        self.d.peer().ok("stop")
        assert self.d.process is not None
        assert self.d.process.wait(10) == 0
        self.d.start()
        assert [j["name"] for j in self.d.peer().ok("show")["jobs"]] == ["stays"]

    def ids_avoid_marks_of_policy_rules(self) -> None:
        rules = "ip rule add fwmark 1 lookup main; ip -6 rule add fwmark 0x3/0x3 lookup main"
        more = "ip rule add fwmark 0/0xff lookup main; ip rule add fwmark 0x104 lookup main"
        with self.started(*unshared("-n", f"ip link set lo up; {rules}; {more}")):
            # who is in another network namespace is no administrator
            alice = self.d.peer(ALICE)
            places = [self.c.make(f"m{i}", ALICE) for i in range(4)]
            ids = [alice.ok("set-job", cgroup=place)["job"]["id"] for place in places]
            assert ids == [2, 4, 5, 6], ids
            # root may choose one all the same, and is told
            enter = ("nsenter", "-t", str(self.d.keeper()), "-n")
            for number, told in ((8, False), (7, True)):
                words = ("--socket", self.d.socket, "set-job", "--id", str(number))
                done = run(*enter, self.d.ctl, *words)
                assert done.returncode == 0 and ("policy rule" in done.stderr) == told, done
