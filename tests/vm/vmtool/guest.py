# SPDX-License-Identifier: GPL-2.0
"""vm run: one command under another kernel, on this machine's root file system."""

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import build, splat, virtme
from .cache import Kernel, cache_dir, repository
from .util import (
    EXIT_DIED,
    EXIT_EMULATOR,
    EXIT_SPLAT,
    EXIT_TIMEOUT,
    CannotRun,
    need_space,
    need_tool,
    say,
)

# The guest sees these of the host, and writes to them into its own memory only.
_OVERLAYS = ("/etc", "/home", "/opt", "/root", "/srv", "/tmp", "/usr", "/var")
_ENV_NAMES = ("PATH", "LANG", "LC_ALL", "CI")
_ENV_PREFIXES = ("MLCC_", "KSFT_", "PYTHON")

_KERNEL_OPTIONS = (
    # Warnings and worse reach the console, and survive when the guest does not.
    "loglevel=5",
    "log_buf_len=4M",
    "printk.devkmsg=on",
    # Under emulation the host's scheduling looks like a broken clock or a stuck CPU.
    "tsc=reliable",
    "watchdog_thresh=60",
    # They cost time in emulation and protect nobody there.
    "mitigations=off",
    # What is left of a guest after one may hang.
    "oops=panic",
)
# KCSAN says much that is not about us.
_DEBUG_OPTIONS = ("log_buf_len=32M",)

# The guest's clock goes on by 1 ns with each instruction, and to the next timer when it idles: it
# does not matter what else this machine does, or how fast it is.
_COUNTED = ("-icount", "shift=0,sleep=off")
# It idles while this machine reads a file for it, too: 8 s of that were 70 minutes to it.
_COUNTED_OPTIONS = ("sysctl.kernel.hung_task_timeout_secs=0",)
_MEMORY = "3G"

# Of a guest that dies before its command starts, of a stray int3 (splat.py) above all.
_BOOTS = 3

# Between the end of the guest's output and that of QEMU, in seconds.
_GRACE = 5.0


@dataclass(frozen=True)
class Options:
    cpus: int
    counted: bool
    timeout: float
    writable: Sequence[Path]


def _check_machine(kernel: Kernel) -> None:
    need_tool("qemu-system-x86_64", "qemu-system-x86")
    need_tool("modprobe", "kmod")
    kernel.need()
    need_space(cache_dir(), 0.1)
    virtme.install()


def _write_request(options: Options, where: Path, command: Sequence[str]) -> None:
    env = {
        name: value
        for name, value in os.environ.items()
        if name in _ENV_NAMES or name.startswith(_ENV_PREFIXES)
    }
    if options.counted:
        env["MLCC_COUNTED"] = "1"
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in sorted(env.items())]
    lines += [f"cd {shlex.quote(str(Path.cwd()))} || exit 125\n", f"exec {shlex.join(command)}\n"]
    (where / "command").write_text("".join(lines))


def _port(name: str, fd: int) -> list[str]:
    """A virtio port in the guest that ends in one of our pipes."""
    return [
        "-chardev",
        f"file,id=mlcc.{name},path=/proc/self/fd/{fd}",
        "-device",
        f"virtserialport,bus=mlcc.0,name=mlcc.{name},chardev=mlcc.{name}",
    ]


def _virtme_argv(kernel: Kernel, options: Options, where: Path, fds: tuple[int, int]) -> list[str]:
    # whatever it is left: its clock does not notice
    argv = ["nice", "-n", "19"] if options.counted else []
    argv += [str(virtme.binary()), "--kimg", str(kernel.image), "--mods=auto", "--root=/"]
    argv += ["--disable-kvm", "--force-9p", "--show-boot-console"]
    argv += ["--memory", _MEMORY, "--cpus", str(options.cpus)]
    for path in _OVERLAYS:
        if os.path.isdir(path) and not os.path.islink(path):
            argv += ["--overlay-rwdir", path]
    for writable in sorted({repository(), cache_dir(), *options.writable}):
        argv += ["--rwdir", str(writable)]
    kernel_options = [*_KERNEL_OPTIONS]
    kernel_options += _DEBUG_OPTIONS if kernel.debug else ()
    kernel_options += _COUNTED_OPTIONS if options.counted else ()
    for option in kernel_options:
        argv += ["--kopt", option]
    script = Path(__file__).resolve().parent.parent / "guest.sh"
    argv += ["--script-sh", f"exec bash {shlex.quote(str(script))} {shlex.quote(str(where))}"]
    # QEMU's cmpxchg16b leaves garbage in EFLAGS at times; with TF set there the guest traps. Copies
    # by "rep movsb", which erms recommends, are made byte by byte there. With fsrm, which QEMU 10
    # has, and without erms memmove() of Linux 6.1 takes short moves for long ones.
    argv += ["--qemu-opts", "-cpu", "max,cx16=off,erms=off,fsrm=off"]
    argv += _COUNTED if options.counted else ["-accel", "tcg,thread=multi"]
    argv += ["-device", "virtio-serial-pci,id=mlcc"]
    return argv + _port("stdout", fds[0]) + _port("stderr", fds[1])


def _relay(sources: dict[int, int], deadline: float) -> bool:
    """Copy the guest's output to ours until it ends. False: the deadline came first."""
    with selectors.DefaultSelector() as selector:
        for source in sources:
            selector.register(source, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(left):
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fd)
                while data:
                    data = data[os.write(sources[key.fd], data) :]
    return True


def _stop(process: subprocess.Popen[bytes], grace: float) -> None:
    """Wait for the end that is due, then make sure of it: QEMU is in the process's group."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(grace)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _boot(kernel: Kernel, options: Options, where: Path) -> bool:
    """Run QEMU to its end. False: it was stopped at the deadline."""
    deadline = time.monotonic() + options.timeout
    (out_read, out_write), (err_read, err_write) = os.pipe(), os.pipe()
    # The boot console is QEMU's stderr: the command's output does not go there.
    with (where / "qemu.log").open("wb") as log, (where / "console").open("wb") as console:
        process = subprocess.Popen(
            _virtme_argv(kernel, options, where, (out_write, err_write)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=console,
            pass_fds=(out_write, err_write),
            # So that its temporary files go when `where` goes, even if it is killed.
            env={**os.environ, "TMPDIR": str(where)},
            start_new_session=True,
        )
    os.close(out_write)
    os.close(err_write)
    grace = 0.0
    try:
        finished = _relay({out_read: 1, err_read: 2}, deadline)
        if finished:
            grace = _GRACE
        return finished
    finally:
        _stop(process, grace)
        os.close(out_read)
        os.close(err_read)


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _show_end(where: Path) -> None:
    """The last that QEMU and the kernel said."""
    for line in (_read(where / "qemu.log") + _read(where / "console")).splitlines()[-15:]:
        say(f"| {line}")


def _boot_until_started(kernel: Kernel, options: Options, where: Path) -> bool:
    """As _boot; a guest that died before the command started, which has no part in it, is booted
    again."""
    for again in range(1, _BOOTS):
        finished = _boot(kernel, options, where)
        started = splat.started(_read(where / "console"))
        if not finished or started or (where / "status").exists():
            return finished
        _show_end(where)
        say(f"{kernel.name}: the guest died while it booted, see above; booting it again ({again})")
    return _boot(kernel, options, where)


def _died(kernel: Kernel, where: Path, finished: bool, timeout: float) -> int:
    """No exit status came back: say the most that is known."""
    _show_end(where)
    if not finished:
        say(f"{kernel.name}: stopped after {timeout:.0f} s")
        return EXIT_TIMEOUT
    say(f"{kernel.name}: the guest ended without an exit status")
    return EXIT_DIED


def _log(kernel: Kernel, where: Path) -> str:
    """All that the kernel has said; of a guest that died, or said more than fits, what of it is on
    the console."""
    log = splat.readable(_read(where / "kmsg"))
    if not splat.started(log):
        log = _read(where / "console")
    races = splat.count_races_of_others(log)
    if races:
        say(f"{kernel.name}: {races} reports of races in the kernel itself are left out")
    return log


def _judge(kernel: Kernel, options: Options, where: Path, finished: bool) -> int:
    log = _log(kernel, where)
    status = _read(where / "status").strip()
    found = splat.find(log)
    if found:
        sys.stderr.writelines(f"{line}\n" for line in found)
        ended = f"the command's status was {status}" if status else "the command did not end"
        if finished and splat.stray_int3(found):
            say(f"{kernel.name}: QEMU ran an int3 that is not in memory, see above; {ended}")
            return EXIT_EMULATOR
        say(f"{kernel.name}: the kernel complained, see above: {splat.first(found)}; {ended}")
        return EXIT_SPLAT if finished else EXIT_TIMEOUT
    if not status:
        return _died(kernel, where, finished, options.timeout)
    return int(status)


def run(kernel: Kernel, options: Options, command: Sequence[str]) -> int:
    _check_machine(kernel)
    for path in options.writable:
        if not path.is_dir():
            raise CannotRun(f"{path} is not a directory")
    runs = cache_dir() / "run"
    runs.mkdir(exist_ok=True)
    where = Path(tempfile.mkdtemp(prefix=f"{kernel.name}.", dir=runs))
    try:
        _write_request(options, where, command)
        (where / "modules").write_text(f"{build.module_dir(kernel, repository())}\n")
        finished = _boot_until_started(kernel, options, where)
        return _judge(kernel, options, where, finished)
    finally:
        shutil.rmtree(where, ignore_errors=True)
