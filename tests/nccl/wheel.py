#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""wheel.py [VERSION...]: the plugins in the real NCCL of PyPI's wheels, without a GPU.

Fetches libnccl.so.2 of each version (some 300 MB each; kept in CACHE), and under gdb lets NCCL's
own loader take the plugin and NCCL's own functions make the events of a few all-reduces
(wheel_inside.py). Checks which version of the interface NCCL takes, and that each phase is
announced: with the bytes that the one before it had, or, where only operations are asked for,
without bytes (Documentation/training.md). And that NCCL takes the shim before its network plugin by
the one version that the plugin behind it has. Needs gdb, pip, and both built (make nccl lab);
without them it ends with status 4.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

from fake_mlccd import Listener  # noqa: E402  (needs the path above)

HERE = Path(__file__).resolve().parent
PLUGIN = ROOT / "build" / "userspace" / "nccl" / "libnccl-profiler-mlcc.so"
SHIM = ROOT / "build" / "userspace" / "nccl-net" / "libnccl-net-mlcc.so"
CHAINED = ROOT / "tests" / "lab" / "libnccl-net-sockets.so"
CHAINED_VERSION = "9"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mlcc" / "nccl"
# the first two that each version of the interface is in, as PyTorch pins them
TAKES = {"2.26.2": 3, "2.27.5": 4, "2.28.9": 5, "2.30.7": 6, "2.32.3": 7}
PHASES, STEPS, BYTES = 4, 8, 100_000
SKIPPED, TIMEOUT_S = 4, 300
HOST = (
    '#include <dlfcn.h>\nvoid loaded(void) { __asm__ volatile(""); }\nint main(int c, char **v)\n'
)
HOST += "{ (void)c; if (!dlopen(v[1], RTLD_NOW)) return 1; loaded(); return 0; }\n"


def library(version: str) -> Path:
    """libnccl.so.2 of a wheel, fetched once."""
    kept = CACHE / version / "libnccl.so.2"
    if kept.exists():
        return kept
    print(f"fetches NCCL {version}", flush=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", name]
        subprocess.run([*pip, f"nvidia-nccl-cu12=={version}"], check=True, timeout=TIMEOUT_S)
        with zipfile.ZipFile(next(Path(name).glob("*.whl"))) as wheel:
            member = next(n for n in wheel.namelist() if n.endswith("/libnccl.so.2"))
            wheel.extract(member, name)
        (Path(name) / member).rename(kept)
    return kept


def host(directory: Path) -> Path:
    """A program that loads the library, and stops there for gdb."""
    program = directory / "host"
    command = ["cc", "-g", "-O0", "-x", "c", "-", "-o", str(program), "-ldl"]
    subprocess.run(command, input=HOST, text=True, check=True)
    return program


def play(version: str, directory: Path) -> tuple[str, list[int]]:
    """What gdb said, and what was announced."""
    listener = Listener([{"id": 1, "name": "1"}], path=directory / version)
    env = {
        **os.environ,
        "NCCL_PROFILER_PLUGIN": str(PLUGIN),
        "MLCC_SOCKET": str(listener.path),
        "MLCC_JOB": "1",
        "MLCC_NET_CHAIN": str(CHAINED),
        "WHEEL_SHIM": str(SHIM),
        "WHEEL_PHASES": f"{PHASES} {STEPS} {BYTES}",
    }
    command = ["gdb", "-q", "-nx", "-batch", "-x", str(HERE / "wheel_inside.py")]
    command += ["--args", str(host(directory)), str(library(version))]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
    return done.stdout + done.stderr, listener.starts


def check(version: str, directory: Path) -> bool:
    said, starts = play(version, directory)
    found = re.search(r"^version (.*)$", said, re.MULTILINE)
    taken = found[1] if found else "nothing"
    wanted = [0] + [STEPS * BYTES] * (PHASES - 1)
    good = taken == str(TAKES.get(version, taken)) and starts == wanted
    network = re.search(r"^network (.*)$", said, re.MULTILINE)
    good = good and "finished" in said and network is not None
    good = good and (not network[1] or network[1] == CHAINED_VERSION)
    print(
        f"NCCL {version}: takes version {taken}, announced bytes {starts}, "
        f"network version {network[1] or '(no such call)' if network else 'none'}: "
        f"{'good' if good else 'BAD'}",
        flush=True,
    )
    if not good:
        print(said)
    return good


def reason_to_skip() -> str | None:
    for built in (PLUGIN, SHIM, CHAINED):
        if not built.exists():
            return f"{built.relative_to(ROOT)} is not built: make nccl lab"
    for tool in ("gdb", "cc"):
        if not shutil.which(tool):
            return f"no {tool}"
    if importlib.util.find_spec("pip") is None:
        return "no pip"
    return None


def main() -> int:
    if reason := reason_to_skip():
        print(f"SKIP: {reason}")
        return SKIPPED
    versions = sys.argv[1:] or list(TAKES)
    with tempfile.TemporaryDirectory() as name:
        good = [check(v, Path(name)) for v in versions]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
