# SPDX-License-Identifier: GPL-2.0
"""The NIC's firmware (rdma/pcc/): builds agree bit by bit, and need nothing that is not there."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

from fake_mlccd import Listener  # noqa: E402  (needs the path above)

BUILD = ROOT / "build" / "pcc"
RV64 = BUILD / "rv64"
QEMU = "qemu-riscv64"
TIMEOUT_S = 120


def need_rv64() -> None:
    if not shutil.which(QEMU):
        raise unittest.SkipTest(f"no {QEMU}: make deps")
    if not (RV64 / "play").exists():
        raise unittest.SkipTest("not built for rv64: clang or ld.lld is missing")


def output(command: Sequence[str | Path]) -> list[str]:
    """What a program prints, if it ends well."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    return done.stdout.splitlines()


def host(compiler: str) -> list[str]:
    path = BUILD / compiler / "play"
    if not path.exists():
        raise unittest.SkipTest(f"no {compiler}")
    return output([path])


@dataclass
class Told:
    """What mlcc-pcc answered and what the NIC that is none said of it."""

    answers: list[str]
    nic: list[str]
    status: int


def host_program(commands: str, *options: str) -> Told:
    """Runs mlcc-pcc until it has answered all commands, and ends it with SIGTERM; without any it
    should end by itself."""
    path = next(BUILD / cc / "mlcc-pcc" for cc in ("gcc", "clang") if (BUILD / cc).exists())
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([path, *options], text=True, **pipes) as process:
        assert process.stdin and process.stdout
        process.stdin.write(commands)
        process.stdin.flush()
        answers = [process.stdout.readline().strip() for _ in commands.splitlines()]
        if commands:
            process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        return Told(answers, errors.splitlines(), process.returncode)


class Host:
    """A root directory with queue pairs and processes, and an mlccd beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.mlccd = Listener([])
        (root / "rdma").write_text('#!/bin/sh\n[ "$6" = mlx5_0 ] && cat "${0%rdma}qps"\n')
        (root / "rdma").chmod(0o755)
        self.owns({})

    def owns(self, qps: dict[int, int]) -> None:
        """Queue pairs, and the processes that own them; two that are none of anybody's beside."""
        found = [{"lqpn": n, "pid": pid, "type": "RC"} for n, pid in qps.items()]
        found += [
            {"lqpn": 1, "type": "GSI", "comm": "ib_core"},
            {"lqpn": 90, "pid": 7, "type": "UD"},
        ]
        (self.root / "qps.new").write_text(json.dumps(found))
        (self.root / "qps.new").rename(self.root / "qps")

    def process(self, pid: int, cgroup: str) -> None:
        folder = self.root / "proc" / str(pid)
        folder.mkdir(parents=True)
        (folder / "cgroup").write_text(f"0::/{cgroup}\n")

    def follow(self) -> subprocess.Popen[str]:
        program = ROOT / "userspace" / "mlcc-pcc" / "mlcc-pcc-jobs"
        options = ["--every", "0.05", "--socket", self.mlccd.path, "--sysroot", self.root]
        path = f"{self.root}:{os.environ['PATH']}"
        return subprocess.Popen(
            [sys.executable, program, *options, "--vhca", "3", "mlx5_0"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PATH": path},
        )


class Firmware(unittest.TestCase):
    """Builds of it."""

    def test_gcc_and_clang_agree_on_the_vectors(self) -> None:
        self.assertEqual(host("gcc"), host("clang"))

    def test_rv64_and_the_host_agree_on_them(self) -> None:
        """And they get somewhere: flows that never did anything agree."""
        ours = host("gcc")
        _, decreases, progress, taken, refused = (int(word, 16) for word in ours[0].split())
        self.assertGreater(decreases, 1000)
        self.assertGreater(progress, 10000)
        self.assertGreater(taken, 10)
        self.assertGreater(refused, 3)
        need_rv64()
        self.assertEqual(ours, output([QEMU, RV64 / "play"]))

    def test_the_firmware_calls_nothing_else_and_its_stack_is_bounded(self) -> None:
        """What the NIC's memory has to hold; told, and that nothing is called that is not there."""
        need_rv64()
        firmware = BUILD / "firmware"
        objects = [firmware / f"{name}.o" for name in ("event", "flow", "params")]
        for line in output(["size", *objects])[1:]:
            text, data, bss, *_, name = line.split()
            print(f"# {Path(name).name}: {text} bytes of text, {data} of data, {bss} of bss")
        for path in sorted(firmware.glob("*.su")):
            for line in path.read_text(encoding="ascii").splitlines():
                where, stack, kind = line.split("\t")
                print(f"# {where.split(':')[-1]}: {stack} bytes of stack, {kind}")
                self.assertEqual(kind, "static", f"{where}: the stack has no bound")
        defined = {line.split()[-1] for line in output(["nm", "--defined-only", *objects]) if line}
        wanted = {line.split()[-1] for line in output(["nm", "-u", *objects]) if " U " in line}
        self.assertLessEqual(wanted, defined | {"memset"}, f"the firmware calls {wanted - defined}")

    def test_events_of_a_nic_like_bluefield_3_have_the_right_effect(self) -> None:
        """What test_nic says of itself; its own lines are of interest where one fails."""
        for compiler in ("gcc", "clang"):
            path = BUILD / compiler / "test_nic"
            if path.exists():
                done = subprocess.run(
                    [path], capture_output=True, text=True, check=False, timeout=TIMEOUT_S
                )
                failed = [line for line in done.stdout.splitlines() if not line.startswith("ok")]
                self.assertEqual(done.returncode, 0, f"{compiler}: {failed[2:]} {done.stderr}")


class Program(unittest.TestCase):
    """mlcc-pcc and mlcc-pcc-jobs, on a NIC that is none."""

    def test_the_nic_is_told_which_queue_pairs_are_whose(self) -> None:
        told = host_program(
            "job 1 1MB hotnets22\njob 2\nqp 3 0x11 1\nqp 3 18 1\nqp 4 17 2\nqp 3 18 0\n", "mlx5_0"
        )
        self.assertEqual(told.answers, ["ok"] * 6)
        self.assertEqual(told.status, 0, told)
        self.assertIn("job 1: 1 of 1000000, 1", told.nic)
        self.assertIn("job 2: 1 of 0, 0", told.nic)
        self.assertEqual(told.nic[-2:], ["destroyed", "closed 1"])
        assert told.nic.count("message") < 6, f"a message a command: {told.nic}"

    def test_what_is_wrong_is_refused_line_by_line(self) -> None:
        """A wrong line has one answer, in its place; the others count."""
        wrong = ["qp 1 0 1", "qp 65536 7 1", "qp 1 7 64", "qp 1 7", "job 0", "job 64", "job 1 -5"]
        wrong += ["job 1 5 fast", "job 1 250Mb", "hello", "", "job 1 5 mltcp 7", "x" * 300]
        told = host_program("\n".join(["qp 1 5 1", *wrong, "qp 1 6 1"]) + "\n", "mlx5_0")
        self.assertEqual([told.answers[0], told.answers[-1]], ["ok", "ok"], told.answers)
        assert all(answer.startswith("error: ") for answer in told.answers[1:-1]), told.answers
        self.assertIn("job 1: 2 of 0, 0", told.nic)

    def test_programs_are_answered_in_json(self) -> None:
        told = host_program('job 1\nqp 0 0 1\njob 1 2"\n', "--json", "mlx5_0")
        answers = [json.loads(line) for line in told.answers]
        wrong = "qp: QPN is 1 to 16777215"
        self.assertEqual(answers[:2], [{"ok": True}, {"ok": False, "error": wrong}])
        self.assertTrue(answers[2]["error"].startswith("BYTES '2?': from 1 to "), told.answers)

    def test_jobs_are_mlccds(self) -> None:
        """A queue pair is of the job whose cgroup its process is in, as long as there is such."""
        bert = {"id": 700, "cgroup": "train/bert", "profile": "hotnets22"}
        gpt = {"id": 9, "cgroup": "train/gpt", "profile": "ours"}
        lines: list[str] = []
        with tempfile.TemporaryDirectory() as root:
            host = Host(Path(root))
            cgroups = {7: "train/bert", 8: "train/bert/rank", 9: "train/gpt", 5: "else"}
            for pid, cgroup in cgroups.items():
                host.process(pid, cgroup)
            host.mlccd.jobs = [bert, gpt, {"id": 4, "cgroup": "", "profile": "interleave"}]
            host.owns({16: 7, 17: 8, 18: 5, 19: 666})
            with host.follow() as following:
                assert following.stdout
                lines += (following.stdout.readline().strip() for _ in range(3))
                host.owns({17: 9, 20: 8})  # one goes, one is another job's now
                lines += (following.stdout.readline().strip() for _ in range(4))
                host.mlccd.jobs = [gpt]
                lines += (following.stdout.readline().strip() for _ in range(1))
                following.terminate()
            host.mlccd.close()
        self.assertEqual(lines[:3], ["job 1 0 hotnets22", "qp 3 16 1", "qp 3 17 1"])
        second = ["qp 3 16 0", "job 2 0 interleave", "qp 3 17 2", "qp 3 20 1"]
        self.assertEqual(lines[3:], [*second, "qp 3 20 0"])
        told = host_program("".join(f"{line}\n" for line in lines), "mlx5_0")
        self.assertEqual(told.answers, ["ok"] * 8)
        self.assertIn("job 2: 1 of 0, 0", told.nic)

    def test_what_there_is_no_room_for_is_said(self) -> None:
        """What the NIC refuses is told of the line that it was, and the lines after it are done."""
        told = host_program("".join(f"qp 1 {n} 1\n" for n in range(1, 5001)), "mlx5_0")
        full = told.answers.count("error: no room for another queue pair beside those of jobs")
        assert 900 < full < 2000, f"{full} of 5000"
        self.assertEqual(told.answers.count("ok"), 5000 - full)
        self.assertIn(f"job 1: {5000 - full} of 0, 0", told.nic)

    def test_a_nic_has_to_be_programmable(self) -> None:
        for options, status, text in (
            (["mlx5_7"], 3, "mlx5_7: not found"),
            (["mlx5_1"], 1, "mlx5_1: not supported"),
            (["-t", "5", "mlx5_0"], 1, "1; the NIC takes 2 to 128"),
            (["-t", "7-5", "mlx5_0"], 2, "--threads takes"),
            ([], 2, "give one DEVICE"),
            (["--fast", "mlx5_0"], 2, "unrecognized option"),
        ):
            told = host_program("", *options)
            self.assertEqual(told.status, status, f"{options}: {told}")
            assert any(text in line for line in told.nic), f"{options}: {told}"
