# SPDX-License-Identifier: GPL-2.0
"""Errors, progress lines, locks and commands: what every other part uses."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

EXIT_FAIL = 1
EXIT_USAGE = 2
EXIT_SKIP = 4  # the machine cannot do it, as in kselftest
EXIT_SPLAT = 70  # the kernel complained
EXIT_DIED = 71  # the guest went away without an exit status
EXIT_EMULATOR = 72  # the kernel complained of what QEMU did
EXIT_TIMEOUT = 124  # as timeout(1)


class VmError(Exception):
    """Ends the program with a reason that its user can act upon."""

    def __init__(self, reason: str, status: int = EXIT_FAIL) -> None:
        super().__init__(reason)
        self.status = status


class CannotRun(VmError):
    """Something is missing on this machine; the reason says what to install."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, EXIT_SKIP)


def say(text: str) -> None:
    """Progress goes to stderr: stdout belongs to the command in the guest."""
    print(f"vm: {text}", file=sys.stderr, flush=True)


def need_tool(name: str, package: str) -> str:
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if path is None:
        raise CannotRun(f"no {name} on this machine: install the package {package}")
    return path


def need_root(what: str) -> None:
    if os.geteuid() != 0:
        raise CannotRun(f"{what} unpacks and enters root file systems: run it as root")


def need_space(where: Path, gib: float) -> None:
    free = shutil.disk_usage(where).free / 2**30
    if free < gib:
        raise CannotRun(f"{where} has {free:.1f} GiB free, {gib:.1f} GiB are needed")


def run(argv: Sequence[str | Path], what: str, log: Path | None = None) -> None:
    """Run a command that must succeed; with a log its output is shown only when it fails."""
    if log is None:
        status = subprocess.run(argv, check=False, stdin=subprocess.DEVNULL).returncode
    else:
        with log.open("wb") as out:
            status = subprocess.run(
                argv, check=False, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            ).returncode
    if status == 0:
        return
    tail = ""
    if log is not None:
        tail = "\n" + "\n".join(log.read_text(errors="replace").splitlines()[-40:])
    raise VmError(f"{what} failed with status {status}{tail}")


def contained(argv: Sequence[str | Path]) -> list[str | Path]:
    """The command in name spaces of its own: whatever it mounts is not seen outside, and all
    that it started ends with it, even if it is killed."""
    unshare = [need_tool("unshare", "util-linux"), "--mount", "--propagation", "private"]
    return [*unshare, "--pid", "--mount-proc", "--fork", "--kill-child", "--", *argv]


def remove(tree: Path) -> None:
    """Remove a tree in which something that was killed may be writing its last."""
    for _ in range(50):
        shutil.rmtree(tree, ignore_errors=True)
        if not tree.exists():
            return
        time.sleep(0.1)
    say(f"cannot remove {tree}")


def output(argv: Sequence[str | Path]) -> str:
    done = subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip()
        raise VmError(f"{argv[0]} failed with status {done.returncode}: {reason}")
    return done.stdout.decode(errors="replace")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Two fetches or builds of one kernel take turns; different kernels do not wait, nor can
    anybody else make them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
