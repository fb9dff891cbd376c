# SPDX-License-Identifier: GPL-2.0
"""mlcc-ctl: its verbs, run, explain and doctor."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest import SkipTest

from mlcc_client import units
from mlccd_driver import ALICE, JSON, LIMIT, Cases, run, unshared

from fake_mlccd import Listener
from memory_mlccd import ROOT, WAIT_S, ignore_children, until

# Runs its arguments under a filter of system calls that refuses bpf().
WITHOUT_BPF = """
import ctypes, os, struct, sys
call = {"x86_64": 321}.get(os.uname().machine, 280)
code = ((0x20, 0, 0, 0), (0x15, 0, 1, call), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000))
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text))
libc = ctypes.CDLL(None)
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, program)
os.execv(sys.argv[1], sys.argv[1:])
"""
# of the variables that EFI itself has
EFI_GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"


# What is not exactly a question gets no answer: the first one is the last one's.
PROBES = """
import socket
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.connect(("192.0.2.2", 4793))
rest = b"\\1\\x22" + bytes(6)
for wrong in b"", rest[1:], rest + b"x", b"\\2" + rest[1:], b"\\1\\x40" + rest[2:]:
    peer.send(b"mlccdscpother   " + wrong)
peer.send(b"Mlccdscpother   " + rest)
peer.send(b"mlccdscpours    " + rest)
answer = peer.recv(2048)
print(len(answer), answer[16], answer[8:16])
"""
# Runs its arguments in a namespace whose only link is to another one.
BESIDE = """
unshare -n sleep 600 & kids=$!; net=/proc/$!/ns/net
trap 'kill $kids 2>/dev/null' EXIT
until [ "$(readlink $net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add v1 type veth peer v2 netns $kids; ip link set v1 up
ip addr add 192.0.2.1/24 dev v1; ip addr add fd00::1/64 dev v1 nodad
nsenter --net=$net sh -c 'ip link set v2 up; ip addr add 192.0.2.2/24 dev v2
ip addr add fd00::2/64 dev v2 nodad'
nsenter --net=$net sh -c "$THERE" & kids="$kids $!"
[ -z "$THERE" ] || until nsenter --net=$net ss -Hlun | grep -q :4793; do sleep 0.01; done
eval "$HERE"
"$@"
"""


def beside_another(here: str, there: str, *command: str | Path) -> str:
    """What a command says after @here, beside a namespace in which @there runs."""
    environment = os.environ | {"HERE": here, "THERE": there}
    words = ["unshare", "-nm", "sh", "-c", BESIDE, "sh", *command]
    return run(*words, env=environment, timeout=60).stdout


def script(path: Path, text: str) -> str:
    """A program of ours; the search path on which it is found before others."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"{path.parent}:{os.environ['PATH']}"


class Ctl(Cases):
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
        root, most = self.d.peer(), 4294967295
        root.ok("set-job", id=1, name="n" * 63, period_us=most)
        root.ok("set-job", id=2, name="new")
        root.ok("set-job", id=3, name="bert", period_us=200000, phase_bytes=5000000)
        us = dict.fromkeys(("iteration_us", "comm_us", "flows", "phases"), most)
        self.d.measured(1, d_phase=1 << 47, bytes=1 << 60, retrans=1 << 62, **us)
        wrong = {"d_phase": 50000000, "d_learnt": 9000000, "neutral": True}
        self.iterates(3, 1, 250, **wrong, bytes=1000000)
        lines = self.d.run_ctl("watch", "--count", "1").stdout.splitlines()
        assert len(lines) == 4 and all(len(x) <= 100 and x.isascii() for x in lines), lines
        longest, new, bert = (line.split() for line in lines[1:])
        assert longest[1] == "n" * 15 + "~", longest
        assert new == ["2", "new", "no", "flows", *["unknown"] * 6, "none"], new
        assert bert[2:8] == ["neutral", "250.0", "250.0", "200.0", "announced", "50.0"], bert
        assert bert[8:] == ["unknown", "unknown", "false"], bert

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
        found = explained(1)
        assert found["active"] == ("FAIL", "no process is in its cgroup"), found
        assert found["hints"][0] == found["d_phase"][0] == "note", found
        with self.sleeper(inner):
            root.ok("hint", job="bert", phase="start", bytes=5000000)
            found = explained(0)
            assert found["active"][0] == "note", found
            assert found["hints"] == ("ok", "its phases are announced"), found
            assert found["d_phase"][0] == "ok" and "5M bytes" in found["d_phase"][1], found

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
            # as the carrier has it once it no longer believes the announcement
            (
                {**false, "d_learnt_bytes": 5000000, "d_phase_bytes": 0},
                *("note", "FAIL --phase-bytes .* 50M .* 5M"),
            ),
            (hinted, "note", "FAIL 50M bytes are announced, 5M"),
            (
                {**false, **hinted, "d_phase_bytes": 9000000, "phases": 2},
                *("note", "FAIL --phase-bytes .* 50M bytes, its processes 9M"),
            ),
            ({**hinted, "bytes": 2000000000}, "note", "ok its phases are announced"),
        ):
            found = self._explained_of([{**job, **more}, other])
            assert re.match(time_, found["time"]), (more, found)
            assert re.match(hints, found["hints"]), (more, found)

        for timeouts, said in ((0, None), (1, "waits less long"), (3, "keeps its window")):
            wait = self._explained_of([{**job, "timeouts": timeouts}]).get("wait")
            assert wait is None if said is None else said in (wait or ""), (timeouts, wait)

    def _explained_of(self, jobs: list[JSON]) -> dict[str, str]:
        """explain, told this by one that plays mlccd."""
        mlccd = Listener(jobs)
        done = self.d.run_ctl("--socket", str(mlccd.path), "-j", "explain", "bert")
        mlccd.close()
        return {x["check"]: f"{x['state']} {x['text']}" for x in json.loads(done.stdout)}

    def ctl_exit_statuses(self) -> None:
        for words, status in (
            ([], 2),
            (["nonsense"], 2),
            (["--help"], 0),
            (["set-job", "--nonsense"], 2),
            (["set-job", "--phase-bytes", "0", "--self"], 2),
            (["set-job", "--phase-bytes", "-1", "--self"], 2),
            (["set-job", "--phase-bytes", "1e99", "--self"], 2),
            (["set-job", "--model", "nonsense", "--workers", "2", "--self"], 2),
            (["set-job", "--model", "vgg16", "--self"], 2),
            (["set-job", "--model", "vgg16", "--workers", "1", "--self"], 2),
            (["set-job", "--model", "list"], 0),
            (["set-job", "--owner", "no such", "--self"], 2),
            (["set-job", "--owner", ":", "--self"], 2),
            (["set-job", "--owner", "root", "--self"], 2),
            (["set-job", "--cgroup", "no/such"], 1),
            (["del-job", "nobody"], 1),
            (["explain", "nobody"], 1),
            (["explain"], 2),
            (["hint", "nobody", "middle"], 2),
            (["profile", "set", "mltcp"], 2),
            (["run"], 2),
            # a mistake is one with and without mlccd, and nothing has run then
            (["run", "--name", "a b", "--", "true"], 2),
            (["run", "--name", "12", "--", "true"], 2),
            (["run", "--name", "x" * 64, "--", "true"], 2),
            (["run", "--profile", "nonsense", "--", "true"], 2),
            (["run", "--class", "nonsense", "--", "true"], 2),
            (["run", "--class", "latency", "--phase-bytes", "5", "--", "true"], 2),
            (["run", "--skip", "nonsense", "--", "true"], 2),
            (["run", "--priority", "1", "--", "true"], 2),
            *((["run", "--dscp", word, "--", "true"], 2) for word in ("64", "-1", "x", "")),
            *((["run", "--paths", word, "--", "true"], 2) for word in ("0", "129", "x", "")),
            (["run", "--priority", "2", "--dscp", "8", "--", "true"], 2),
            (["--socket", "/nonexistent", "run", "--profile", "nonsense", "--", "true"], 2),
            (["--socket", "/nonexistent", "status"], 3),
        ):
            done = self.d.run_ctl(*words)
            assert done.returncode == status, (words, done)
            assert status == 0 or done.stderr, words

    def ctl_finds_a_container(self) -> None:
        """By what its runtime says, if that is true here."""
        number = "0123456789abcdef" * 4
        path = self.c.make(f"docker-{number}.scope")

        def asked(says: str, *where: str) -> subprocess.CompletedProcess[str]:
            environment = {**os.environ, "PATH": script(self.d.base / "runtimes/docker", says)}
            words = (*where, "set-job", "--container", "train")
            return self.d.run_ctl(*words, env=environment, preexec_fn=ignore_children)

        with self.sleeper(path) as sleeper:
            done = asked(f'[ "$5" = train ] && echo {sleeper} {number}')
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
                assert done.returncode == 1 and why in done.stderr, (says, done)
            # no longer the container's once mlccd has looked
            mlccd = Listener([])
            mlccd.reply = b'{"ok":true,"job":{"id":9,"name":"","cgroup":"other","phase_bytes":0}}'
            done = asked(f"echo {sleeper} {number}", "--socket", str(mlccd.path))
            mlccd.close()
            assert done.returncode == 1 and "has ended" in done.stderr, done
            assert [(x["op"], x.get("job")) for x in mlccd.requests][1:] == [("del-job", "9")]

    def ctl_takes_units(self) -> None:
        """Python's tools have the same numbers, and words for what is none."""

        def told(option: str, text: str, *more: str) -> str:
            """What a dry run would do, or why the text is refused."""
            done = self.d.run_ctl("--dry-run", "run", option, text, *more, "--", "true")
            return done.stdout or done.stderr.strip().partition(f"{option} ")[2]

        for text, wanted in (
            *(("1e6", 10**6), ("250k", 250000), ("250K", 250000), ("1.5G", 15 * 10**8)),
            *(("250MB", 25 * 10**7), ("250 MB", 25 * 10**7), ("1T", 10**12)),
            *(("64Mi", 64 << 20), ("1KiB", 1024), (str(LIMIT), LIMIT)),
        ):
            assert f'"phase_bytes":{wanted},' in told("--phase-bytes", text), text
            assert units.nbytes(text) == wanted, text
        wrong = ["", "0", "0.4", "-1", "k", "0x10", "250Mb", "250MBB", "1Bi", "1.2.3", "inf", "nan"]
        wrong += ["1,5", str(LIMIT + 1), "1e99", " 1", "1 "]
        parsers: tuple[tuple[str, Sequence[str], Callable[[str], float]], ...] = (
            ("--phase-bytes", wrong, units.nbytes),
            ("--period", ["250", "250m"], lambda text: units.time_us(text, 1, 4294967295)),
            ("--priority", ["9"], lambda text: units.whole(text, 0, 8)),
        )
        for option, texts, parse in parsers:
            for text in texts:
                try:
                    parsed = f"{text} is {parse(text)}"
                except ValueError as error:
                    parsed = str(error)
                assert " is wanted" in parsed and told(option, text) == parsed, (text, parsed)
        for text in ("7b", "7B", "7G", "7000M", "7000000000"):
            answer = told("--parameters", text, "--workers", "4")
            assert '"phase_bytes":42000000000,' in answer, text
        for text in ("250ms", "0.25s", "250000us"):
            assert '"period_us":250000,' in told("--period", text), text
        for text in ("100", "-1", "x", "nan"):
            done = self.d.run_ctl("profile", "set", "mltcp", f"--slope={text}")
            assert done.returncode == 2 and "from 0 to 32 is wanted" in done.stderr, done
        self.d.peer().refused("ERANGE", "profile-set", name="mltcp", slope=40)

    def ctl_runs_a_command_as_a_job(self) -> None:
        def job(*words: str) -> subprocess.CompletedProcess[str]:
            return self.d.run_ctl("run", "--strict", "--name", "train", "--", *words)

        inside = job("sh", "-c", f"tail -1 /proc/self/cgroup; {self.d.ctl} --socket "
                     f"{self.d.socket} -j show train; exit 7")  # fmt: skip
        assert inside.returncode == 7, inside
        where, shown = inside.stdout.splitlines()
        assert where == "0::/" + json.loads(shown)[0]["cgroup"], inside
        until(lambda: not (self.c.mount / where[4:]).exists(), "the end of its cgroup")
        assert self.d.jobs() == []
        assert job("/nonexistent").returncode == 127
        assert job("/dev/null").returncode == 126
        assert job("sh", "-c", "kill -KILL $$").returncode == -signal.SIGKILL
        left = job("sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!")
        pid = int(left.stdout)
        until(lambda: not Path(f"/proc/{pid}").exists(), "the end of what was left")

    def ctl_run_says_the_class(self) -> None:
        """Of one that a user may not have a line; a part of a job may have another than the job."""
        place = self.c.mount / self.c.make("alice", ALICE)
        enter = f'echo 0 >{place}/cgroup.procs && exec setpriv --reuid {ALICE} --clear-groups "$@"'
        ctl = [str(self.d.ctl), "--socket", str(self.d.socket)]

        def of_class(*words: str) -> subprocess.CompletedProcess[str]:
            return run("sh", "-c", enter, "sh", *ctl, "run", "--class", *words)

        shows = " ".join([*ctl, "-j", "show", "--self"])
        inside = " ".join([*ctl, "run", "--strict", "--class", "background", "--"])
        done = of_class("training", "--strict", "--", "sh", "-c", f"{inside} {shows}; {shows}")
        shown = [json.loads(line)[0]["class"] for line in done.stdout.splitlines()]
        assert shown == ["background", "training"], done
        done = of_class("latency", "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (0, "ran\n"), done
        assert done.stderr.count("\n") == 1 and "latency-class = no" in done.stderr, done
        path = script(self.d.base / "bin/mlcc-ctl", f'exec {" ".join(ctl)} "$@"')
        launcher = shutil.copy(ROOT / "userspace/launchers/mlcc-run", self.d.base)
        as_told = os.environ | {"MLCC_CLASS": "latency", "PATH": path}
        told = run("sh", "-c", enter, "sh", launcher, "echo", "ran", env=as_told)
        assert (told.returncode, told.stdout, told.stderr) == (0, "ran\n", done.stderr), told
        done = of_class("latency", "--strict", "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (125, ""), done
        until(lambda: self.d.jobs() == [], "the end of the jobs")

    def _finds(self, names: Sequence[str], wanted: str, *words: str, **chosen: str) -> str:
        """A command run so has these variables, of which some were chosen: what is said."""
        environment = {k: v for k, v in os.environ.items() if k not in names} | chosen
        shown = "; ".join(f"echo ${{{name}-none}}" for name in names)
        done = self.d.run_ctl("run", *words, "--", "sh", "-c", shown, env=environment)
        assert done.stdout.split() == wanted.split(), (words, done)
        return done.stderr

    def ctl_run_gives_rdma_its_class(self) -> None:
        given = partial(self._finds, ("NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS"))
        given("none none")
        given("0 0", "--dscp", "0")
        said = given("128 128", "--strict", "--name", "bert", "--dscp", "32", "--verbose")
        assert said.count("=128\n") == 2, said
        said = given("96 252", "--strict", "-v", "--dscp", "63", NCCL_IB_TC="96")
        assert "NCCL_IB_TC=96, as it was" in said, said
        # while it runs mlccd has it, too
        shown = self.d.run_ctl("run", "--name", "gpt", "--dscp", "8", "--", "sh", "-c",
                               f"{self.d.ctl} --socket {self.d.socket} -j show gpt")  # fmt: skip
        assert json.loads(shown.stdout)[0]["dscp"] == 8, shown
        given("none none", "--class", "background")
        self.configure("priority-classes = 8")
        given("4 8", "--class", "background", UCX_IB_TRAFFIC_CLASS="8")
        given("136 136", "--class", "latency")
        self._finds(("MLCC_CLASS",), "latency", "--class", "latency")
        self._finds(("MLCC_CLASS",), "none")
        until(lambda: self.d.jobs() == [], "the end of the jobs")

    def ctl_run_gives_nccl_its_paths(self) -> None:
        """What its starter has chosen stays, and is told."""
        names = (
            *("NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_SPLIT_DATA_ON_QPS"),
            *("NCCL_NSOCKS_PERTHREAD", "NCCL_SOCKET_NTHREADS", "NCCL_IBVERBS_LIB"),
        )
        cannot, built = self.d.base / "cannot", ROOT / "build/userspace/ibverbs"
        cannot.mkdir()
        (cannot / "libmlcc-ibverbs.so").touch()
        given = partial(self._finds, names, LD_LIBRARY_PATH=str(cannot))
        given("none none none none none")
        assert not given("128 1 64 1 none", "--strict", "--paths", "128")
        said = given("1 1 1 1 none", "--paths", "1", "-v")
        assert said.count("NCCL_") == 5 and "NCCL_IBVERBS_LIB is not set: " in said, said
        given("8 1 8 1 own", "--paths", "8", NCCL_IBVERBS_LIB="own")
        if built.exists():
            given("8 1 8 1 libmlcc-ibverbs.so", "--paths", "8", LD_LIBRARY_PATH=str(built))
        for i, name in enumerate(names[:4]):
            found = ["8", "1", "8", "1", "none"]
            found[i], found[i ^ 1] = "4", "none"
            said = given(" ".join(found), "--paths", "8", **{name: "4"})
            wanted = f"mlcc-ctl: {name}=4, as it was, and --paths leaves {names[i ^ 1]}\n"
            assert said == wanted, said
        # nobody has to be asked for them
        said = given("8 1 8 1 none", "--socket", "/nonexistent", "--paths", "8")
        assert "without a job" in said, said
        until(lambda: self.d.jobs() == [], "the end of the jobs")

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
        assert (taken.returncode, taken.stdout) == (2, ""), taken
        environment = {**os.environ, "MLCC_JOB_ID": "train"}
        taken = self.d.run_ctl("run", "--name", "train", "--any-name", "--", "sh", "-c",
                               f"{self.d.ctl} --socket {self.d.socket} show --self; "
                               "echo $MLCC_JOB_ID", env=environment)  # fmt: skip
        assert taken.stdout.split()[-1] != "train" and "no name" in taken.stderr, taken
        assert re.search(rf"^id +{taken.stdout.split()[-1]}$", taken.stdout, re.MULTILINE), taken
        process.terminate()
        assert process.wait(WAIT_S) == -signal.SIGTERM
        until(lambda: not Path(f"/proc/{child}").exists(), "the end of what it has started")
        # the name is free for the next one, however soon that comes
        for _ in range(5):
            done = self.d.run_ctl("run", "--strict", "--name", "train", "--", "true")
            assert done.returncode == 0, done
        until(lambda: self.d.jobs() == [], "the end of the jobs")
        until(lambda: not (self._own_cgroup() / f"mlcc-run-{itself}").exists(), "its cgroup's end")

    def _own_cgroup(self) -> Path:
        (own,) = re.findall(r"^0::/(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
        return self.c.mount / own

    def ctl_run_takes_any_state(self) -> None:
        """What a launcher may have chosen reaches the command, and keeps nobody from it."""
        command = [str(self.d.ctl), "--socket", str(self.d.socket), "run", "--", "sh", "-c"]
        # a launcher ends when it has no more children, and may be the first process of a container
        alone = "try:\n  while True: os.wait()\nexcept ChildProcessError: os._exit(7)"
        waits = f"exec {sys.executable} -SEc 'import os\n{alone}'"
        box = self.c.mount / self.c.make("box")
        first = f"open('{box}/cgroup.procs', 'w').write('0'); libc.unshare(0x20000000); "
        first += "os.fork() and os._exit(os.waitstatus_to_exitcode(os.wait()[1]))"
        for before in (
            "libc.prctl(36, 1)",  # PR_SET_CHILD_SUBREAPER
            first,
            "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
            "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
            "os.umask(0o777)",
            "os.closerange(0, 3)",
            "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))",
            "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
            "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
        ):
            code = f"import ctypes, os; libc = ctypes.CDLL(None); {before}; "
            code += f"os.execv({command[0]!r}, [*{command!r}, {waits!r}])"
            words = [sys.executable, "-c", code]
            done = subprocess.run(words, cwd=self.d.base, timeout=WAIT_S * 2, check=False)
            assert done.returncode == 7, (before, done)
        # of a namespace, whose processes end with its first one: the next run removes it
        assert (box / "mlcc-run-1").exists()
        enter = f'echo 0 >{box}/cgroup.procs; exec "$@"'
        words = ["sh", "-c", enter, "sh", *command[:-4], "run", "--strict", "--", "true"]
        for _ in range(20):
            subprocess.run(["unshare", "-pf", *words], timeout=WAIT_S, check=True)
            assert [path.name for path in box.glob("mlcc-run-*")] == ["mlcc-run-1"]
        subprocess.run(words, timeout=WAIT_S, check=True)
        until(lambda: not [*box.glob("mlcc-run-*")], "the end of its cgroups")
        until(lambda: self.d.jobs() == [], "the end of the jobs")

    def what_is_closed_is_no_socket(self) -> None:
        """Else mlccd is asked what was meant for a terminal, and logs to somebody."""
        closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
        self.d.peer().ok("set-job", id=7, name="bert")
        before = self.d.status()["requests_refused"]
        for words in (("show",), ("-j", "status"), ("explain", "bert")):
            subprocess.run([*closed, self.d.ctl, "--socket", self.d.socket, *words])
        assert self.d.status()["requests_refused"] == before
        full = ["sh", "-c", 'exec "$@" >/dev/full', "sh", self.d.ctl, "--socket", self.d.socket]
        done = run(*full, "show")
        assert done.returncode == 1 and "cannot write" in done.stderr, done
        with self.started(*closed):
            for pid in (self.d.keeper(), self.d.parser()):
                files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in range(3)]
                assert files == ["/dev/null"] * 3, files

    def ctl_run_survives_each_failure(self) -> None:
        words = [ROOT / "tests/each_call.py", self.d.ctl, "--socket", self.d.socket]
        done = run(sys.executable, *words, timeout=None)
        if done.stderr.startswith("no filter"):
            raise SkipTest(done.stderr.strip())
        assert done.returncode == 0, done
        until(lambda: self.d.jobs() == [], "the end of the jobs")

    def a_covered_hierarchy_is_none(self) -> None:
        """The mount table has it still."""
        words = unshared(
            "-m",
            'while read -r _ where kind _; do [ "$kind" != cgroup2 ] || mount -t tmpfs x "$where"; '
            "done </proc/self/mounts",
        )
        assert self._doctor("cgroup", words) == ["FAIL"]
        with self.started(*words):
            assert self.d.status()["cgroup_mount"] == ""

    def ctl_doctor_needs_no_daemon(self) -> None:
        done = self.d.run_ctl("--socket", "/nonexistent", "-j", "doctor")
        checks = {c["check"]: c for c in json.loads(done.stdout)}
        assert done.returncode == 1 and checks["mlccd"]["state"] == "FAIL"
        assert {"kernel", "module", "btf", "bpf", "cgroup", "carrier"} <= checks.keys()
        assert all(c["text"] for c in checks.values())

    def _findings(self, check: str, before: Sequence[str] = (), **env: str) -> list[JSON]:
        """What it finds of what is called @check."""
        words = (*before, self.d.ctl, "--socket", self.d.socket, "-j", "doctor")
        done = run(*words, env={**os.environ, **env}, timeout=60)
        return [line for line in json.loads(done.stdout) if line["check"] == check]

    def _doctor(self, check: str, before: Sequence[str] = (), **env: str) -> list[str]:
        """The states of that."""
        return [line["state"] for line in self._findings(check, before, **env)]

    def ctl_doctor_misses_what_is_taken_away(self) -> None:
        bpf_fs = "mount -t bpf bpf /sys/fs/bpf"
        modules = "mount -t tmpfs x /sys/module"
        places = (
            ("module", f"{modules}; mkdir /sys/module/tcp_mlcc", modules, "note"),
            ("kernel", "", 'exec setarch --uname-2.6 "$@"', "note"),
            ("btf", "", "mount -t tmpfs x /sys/kernel/btf", "FAIL"),
            ("bpffs", bpf_fs, f"{bpf_fs}; mount -o remount,ro,bind /sys/fs/bpf", "FAIL"),
            ("bpffs", bpf_fs, "while umount /sys/fs/bpf; do :; done 2>/dev/null", "FAIL"),
            ("permission", "", f'exec setpriv --reuid {ALICE} --clear-groups "$@"', "note"),
        )
        for check, there, away, state in places:
            for shell, wanted in ((there, "ok"), (away, state)):
                words = unshared("-m", shell)
                assert self._doctor(check, words) == [wanted], (check, shell)
        for check in ("btf", "bpf"):
            assert self._doctor(check, [sys.executable, "-c", WITHOUT_BPF]) == ["FAIL"], check
        place = "/sys/kernel/security"
        none, locked = (
            f"echo '[{mode}]' >{place}/lockdown" for mode in ("none", "confidentiality")
        )
        efi = "/sys/firmware/efi/efivars"
        unread = f"{none}; mount -t tmpfs x /sys/firmware; mkdir -p {efi}"
        signed = f"{unread}; printf '\\0\\0\\0\\0\\1' >{efi}/SecureBoot-{EFI_GLOBAL}"
        for tell, state in (
            (":", "note"),
            (none, "ok"),
            (unread, "note"),
            (signed, "note"),
            (locked, "FAIL"),
        ):
            words = unshared("-m", f"mount -t tmpfs x {place}; {tell}")
            assert self._doctor("lockdown", words) == [state], (tell, state)

    def ctl_doctor_misses_what_mlccd_has_lost(self) -> None:
        self.d.peer().ok("set-job", cgroup=self.c.make("a"))
        procs = self.c.base / "a/cgroup.procs"
        assert self._doctor("hints") == ["note"] and self._doctor("tagger") == ["ok"]
        inside = ["sh", "-c", f'echo 0 >{procs}; exec "$@"', "sh"]
        assert self._doctor("hints", inside) == ["ok"]
        # a carrier that is only memory marks nothing
        assert self._doctor("connection") == ["FAIL"]
        with self.started(MLCC_FAKE_NOTAGGER="1"):
            assert self._doctor("tagger") == ["FAIL"]
            assert self._doctor("orphans") == ["note"], "nothing can be told of the carrier's jobs"

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
        for rule, statement, states in cases:
            place = {"family": "inet", "table": "t", "chain": "c", "handle": 4}
            told = {"nftables": [{"metainfo": {}}, {"rule": {**place, "expr": [statement]}}]}
            nft = f"echo '{json.dumps(told)}'; exit {int(statement is None)}"
            path = script(self.d.base / "bin/nft", nft)
            said = self._doctor("marks", unshared("-n", rule), PATH=path)
            assert said == states, (rule, statement, said)

    def ctl_doctor_asks_a_peer(self) -> None:
        """Between two namespaces, of which one may change DSCPs."""
        if not shutil.which("nft"):
            raise SkipTest("no nft here: make deps")
        change = (
            "nft 'add table inet t; add chain inet t c { type filter hook output priority 0; }'; "
            "for i in ip ip6; do nft add rule inet t c $i dscp %s $i dscp set %s; done; "
        )
        nic = "nic=/sys/class/infiniband/mlx5_0/tc/1; mount -t tmpfs x /sys/class; mkdir -p $nic; "
        listens = f"exec {self.d.ctl} doctor --peer-listen 2>/dev/null"
        fine = "dscp ok (to|from) %s 64 of 64 DSCPs arrive as they were sent;"
        for here, there, *wanted in (
            ("", listens, fine, fine),
            (change % (34, 8), listens, "dscp FAIL to %s .*: 34 as 8;.*filter", fine),
            ("", change % ("!= 0", 0) + listens, fine, "dscp FAIL from %s .*: 1-63 as 0;.*guess"),
            (nic + "echo Global tclass=96 >$nic/traffic_class", listens, fine, fine,
             "class note /sys.*: Global tclass=96;.*overrides"),
            ("", "", "peer FAIL %s does not answer.*--peer-listen"),
        ):  # fmt: skip
            for host in ("192.0.2.2", "fd00::2"):
                words = self.d.ctl, "--socket", "/nonexistent", "-j", "doctor", "--peer", host
                lines = json.loads(beside_another(here, there, *words))
                said = ["{check} {state} {text}; {todo}".format(**line) for line in lines]
                assert len(said) == len(wanted), said
                for line, pattern in zip(said, wanted, strict=True):
                    assert re.match(pattern.replace("%s", host), line), (line, pattern)
        assert beside_another("", listens, sys.executable, "-c", PROBES) == "24 2 b'ours    '\n"

    def ctl_doctor_sees_several_next_hops(self) -> None:
        link = (
            "set -e; ip link add mlcc0 type veth peer mlcc1; ip link set mlcc1 up; "
            "ip link set mlcc0 up; ip addr add 192.0.2.1/24 dev mlcc0; "
            "ip addr add fd00::1/64 dev mlcc0 nodad; echo 1 >%s/fib_multipath_hash_policy; "
            "ip nexthop add id 2 via 192.0.2.2 dev mlcc0; "
            "ip nexthop add id 3 via 192.0.2.3 dev mlcc0; ip nexthop add id 4 group 2/3; "
        ) % (settings := "/proc/sys/net/ipv4")
        several = "nexthop via 192.0.2.2 dev mlcc0 nexthop via 192.0.2.3 dev mlcc0"
        of_group = "ip route add 198.51.100.0/24 nhid 4"
        for route, found in (
            ("ip route add 198.51.100.0/24 via 192.0.2.2", ""),
            (f"ip route add 198.51.100.0/24 {several}", "198.51.100.0/24 has 2"),
            (f"ip route add default table 7 {several}", "default has 2"),
            (of_group, "198.51.100.0/24 has 2"),
            (f"{of_group}; echo 0 >{settings}/nexthop_compat_mode", "198.51.100.0/24 has 2"),
            (f"ip -6 route add 2001:db8::/32 {several.replace('192.0.2.', 'fd00::')}", "/32 has 2"),
            (f"{of_group}; echo 0 >{settings}/fib_multipath_hash_policy", "by addresses alone"),
        ):
            words = unshared("-n", link + route)
            (said,) = self._findings("paths", words)
            assert said["state"] == ("note" if found else "ok") and found in said["text"], said
            assert ("--paths" in said["todo"]) == bool(found), said
            assert ("alone" in said["text"]) == ("alone" in found), said
        (said,) = self._findings("paths", PATH=script(self.d.base / "fails/ip", "exit 1"))
        assert said["state"] == "note" and "unknown" in said["text"], said
