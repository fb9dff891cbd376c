# SPDX-License-Identifier: GPL-2.0
"""One fake machine with one NIC, mlcc-dcqcn on it, and a job that sends."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import vendors
from fake_sys import Mounted
from vendors import Vendor

from fake_carrier import Carrier

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("MLCC_DCQCN", ROOT / "build/userspace/mlcc-dcqcn/mlcc-dcqcn-fake"))
PATIENCE_S = 30.0
# rt_sigtimedwait, in which follow waits for its next look, as /proc/PID/syscall has it
WAITS = "128" if os.uname().machine == "x86_64" else "137"


def wait_for(condition: Callable[[], bool], what: str = "condition") -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE_S:.0f} s")
        time.sleep(0.005)


class Sending(threading.Thread):
    """Moves a job's bytes again and again, as one that sends does."""

    def __init__(self, carrier: Carrier, job: int) -> None:
        super().__init__(daemon=True)
        self.carrier, self.job = carrier, job
        self.progress = 0.0
        self.silent = False
        self.over = threading.Event()

    def run(self) -> None:
        nudge = 0
        while not self.over.wait(0.003):
            nudge = 1 - nudge
            if not self.silent:
                self.carrier.send(self.job, self.progress, nudge)


class Following:
    """A running follow, and the events it has told."""

    def __init__(self, words: list[str], env: dict[str, str]) -> None:
        self.events: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def seen(self, event: str) -> bool:
        return any(one.get("event") == event for one in list(self.events))

    def wait_event(self, event: str) -> None:
        def there_or_dead() -> bool:
            return self.seen(event) or self.process.poll() is not None

        wait_for(there_or_dead, f"event {event}")
        self.reader.join(0.2 if self.process.poll() is None else 10)
        if not self.seen(event):
            raise AssertionError(f"no event {event}, but {self.events}: {self.errors()}")

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read() if self.process.poll() is not None else ""

    @contextmanager
    def between_looks(self) -> Iterator[None]:
        """Stopped, but not between its reading a value and its writing another."""
        proc = Path(f"/proc/{self.process.pid}")

        def stopped() -> bool:
            return "\nState:\tT" in (proc / "status").read_text()

        def stopped_waiting() -> bool:
            self.process.send_signal(signal.SIGSTOP)
            wait_for(stopped, "to be stopped")
            if (proc / "syscall").read_text().split()[0] == WAITS:
                return True
            self.process.send_signal(signal.SIGCONT)
            return False

        wait_for(stopped_waiting, "a moment between two looks")
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(PATIENCE_S)
        self.reader.join(10)
        return status


class Machine(unittest.TestCase):
    """Below self.root: /sys is the fake, /run and /usr are files."""

    vendor_of: Callable[[], Vendor] | None = None
    vendor: Vendor
    root: Path
    sys: Mounted
    JOB = 7

    @classmethod
    def setUpClass(cls) -> None:
        """What takes time is made once: each test begins with it as new."""
        assert cls.vendor_of is not None
        cls.vendor = cls.vendor_of()
        cls.root = Path(tempfile.mkdtemp(prefix="mlcc-tuner-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        (cls.root / "sys").mkdir()
        cls.sys = Mounted(cls.root / "sys", cls.vendor.tree)
        cls.addClassCleanup(cls.sys.close)

    def setUp(self) -> None:
        for name in ("run", "usr"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        (self.root / "run").mkdir()
        self.root.chmod(0o700)
        self.sys.do("anew")
        self.vendor.make_tools(self.root)
        (self.root / "carrier").unlink(missing_ok=True)
        self.carrier = Carrier(self.root / "carrier")
        self.env = {"MLCC_FAKE": str(self.root / "carrier"), "PATH": os.environ["PATH"]}
        self.device = self.vendor.device

    # the device

    def value(self) -> int:
        return self.sys.read(self.vendor.path)

    def set_value(self, value: int) -> None:
        """Somebody else does."""
        self.sys.do("set", path=self.vendor.path, value=value)

    def take_away(self) -> None:
        self.sys.do("remove", prefix=self.vendor.folder)

    def give_back(self, reset: bool) -> None:
        self.sys.do("return", prefix=self.vendor.folder, reset=reset)

    def make_stuck(self) -> None:
        self.sys.do("stuck", path=self.vendor.path)

    def writes(self) -> list[tuple[str, str]]:
        return self.sys.writes()

    # the program

    def words(self, *words: str) -> list[str]:
        return [str(PROGRAM), "-j", "--sysroot", str(self.root), *words]

    def tool(self, *words: str) -> tuple[int, Any, str]:
        done = subprocess.run(
            self.words(*words), env=self.env, capture_output=True, text=True, timeout=60
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    def good(self, *words: str) -> Any:
        status, reply, errors = self.tool(*words)
        self.assertEqual(status, 0, errors)
        return reply

    def refused(self, status: int, *words: str) -> dict[str, Any]:
        """One line that says why, on stderr and in the reply."""
        is_, reply, errors = self.tool(*words)
        self.assertEqual(is_, status, errors)
        line = [x for x in errors.splitlines() if "this changes" not in x]
        self.assertEqual(len(line), 1, errors)
        if reply is not None:
            self.assertFalse(reply["ok"])
            self.assertIn(reply["error"], line[0])
        return reply or {"error": line[0]}

    def knob(self) -> dict[str, Any]:
        knobs = self.good("show", self.device, self.vendor.knob)[0]["knobs"]
        self.assertEqual(len(knobs), 1)
        return knobs[0]

    def state_files(self) -> list[str]:
        folder = self.root / "run/mlcc/dcqcn"
        names = os.listdir(folder) if folder.exists() else []
        return [name for name in names if not name.endswith(".lock")]

    # a job, and follow

    def send(self, progress: float = 0.0) -> Sending:
        self.carrier.add(self.JOB, "bert")
        sending = Sending(self.carrier, self.JOB)
        sending.progress = progress
        sending.start()

        def stop() -> None:
            sending.over.set()
            sending.join()

        self.addCleanup(stop)
        return sending

    def follow(self, *words: str) -> Following:
        if self.vendor.drive and "--drive" not in words:
            words = (*words, "--drive", self.vendor.drive)
        # tools are started for each write: they have a small budget unless told otherwise
        if self.device.startswith("ionic:"):
            words = (*words, "--budget", "1000")
        job = () if "port" in words else ("bert",)
        following = Following(
            self.words("follow", self.device, *job, "--cadence", "2ms", *words), self.env
        )
        self.addCleanup(following.end, signal.SIGKILL)
        return following

    def follow_to_the_top(self, *words: str) -> tuple[Following, Sending]:
        """Until the knob has what a finished phase leads to."""
        sending = self.send(1.0)
        following = self.follow(*words)
        wait_for(lambda: self.value() == self.vendor.values.most, "the top")
        return following, sending

    def kill_at_the_top(self) -> None:
        following, _ = self.follow_to_the_top()
        following.process.send_signal(signal.SIGSTOP)
        following.end(signal.SIGKILL)
        self.set_value(self.vendor.values.most)


__all__ = ["Machine", "PROGRAM", "Following", "Sending", "vendors", "wait_for"]
