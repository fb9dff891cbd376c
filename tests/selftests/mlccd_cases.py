# SPDX-License-Identifier: GPL-2.0
"""mlccd_cases.py DIRECTORY [trust]: the cases of mlccd.sh, of mlccd_trust.sh. Prints KTAP."""

import os
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import SkipTest

from mlccd_ctl import Ctl
from mlccd_driver import Cases, Cgroups, Daemon
from mlccd_life import Life
from mlccd_metrics import Metrics
from mlccd_requests import Requests
from mlccd_rings import Rings
from mlccd_trust import Trust, kept

from memory_mlccd import cgroup_mount

# Metrics last: what was told of RDMA devices shows for a moment after they have gone
SUBJECTS = (Requests, Life, Rings, Ctl, Metrics)


class Everything(*SUBJECTS):  # type: ignore[misc]  # a constant
    """One daemon for all of them."""


def outcome(case: Callable[[], None]) -> tuple[str, str]:
    """What was wrong, and why it was skipped."""
    try:
        case()
    except SkipTest as why:
        return "", f" # SKIP {why}"
    except Exception:
        return traceback.format_exc(), ""
    return "", ""


def tidy(d: Daemon, cases: Cases, error: str) -> str:
    """The next case finds a daemon that runs, without jobs, with the defaults."""
    if d.process is None or d.process.poll() is not None:
        error = error or f"mlccd has ended:\n{d.log.read_text()[-2000:]}"
        d.gone.unlink(missing_ok=True)
        d.start()
    cases.configure("")
    d.reset()
    return error


@contextmanager
def own_daemon(base: Path) -> Iterator[Daemon]:
    """One with the limits that there are without a configuration."""
    base.mkdir()
    base.chmod(0o755)
    d = Daemon(base)
    d.config.write_text("[daemon]\ncgroup-poll-ms = 20\n")
    d.start()
    yield d
    kept.clear()
    if d.process:
        d.kill()


def main(directory: str, which: str = "") -> int:
    subjects = (Trust,) if which else SUBJECTS
    names = [name for subject in subjects for name in vars(subject) if name[0] != "_"]
    names = os.environ.get("MLCCD_CASES", "").split() or names
    counts: Counter[str] = Counter()
    print("KTAP version 1", flush=True)
    if not (mount := cgroup_mount()):
        print("1..0 # SKIP no cgroup2 file system is mounted")
        return 4
    with ExitStack() as stack:
        cgroups = Cgroups(mount)
        stack.callback(cgroups.clean)
        if not which:
            shared = Everything(Daemon(Path(directory)), cgroups)
            stack.callback(lambda: shared.d.process and shared.d.kill(signal.SIGTERM))
            shared.d.start()
        for number, name in enumerate(names, 1):
            if which:
                with own_daemon(Path(directory) / name) as d:
                    error, skip = outcome(getattr(Trust(d, cgroups), name))
                    error = error and error + d.log.read_text()[-1000:]
            else:
                error, skip = outcome(getattr(shared, name))
                error = tidy(shared.d, shared, error)
            for line in error.splitlines():
                print(f"# {line}")
            title = f"{number} {name.replace('_', ' ')}{skip}"
            print(f"{'not ok' if error else 'ok'} {title}", flush=True)
            counts["fail" if error else "skip" if skip else "pass"] += 1
    print(f"1..{len(names)}")
    print("# Totals:", *(f"{word}:{counts[word]}" for word in ("pass", "fail", "skip")))
    return 1 if counts["fail"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
