#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sets, deletes, announces and reads jobs in this network namespace, at random, for SECONDS.

module_churn.py SECONDS JOBS SEED       the jobs are 1 to JOBS

Prints how many requests were taken, and how many refused. Refusals are in order: nobody waits for
anybody here. So is an end of the family, whose module may be unloaded meanwhile.
"""

import errno
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "netlink"))

from genl import DUMP, Genl, Refused  # noqa: E402
from mlcc import CMD, job_nest, profile_nest  # noqa: E402

# ENOENT, too, when the family has gone
IN_ORDER = (errno.ENOENT, errno.EEXIST, errno.EBUSY, errno.EPERM, errno.EINTR, errno.EOPNOTSUPP)
PROFILES = ("interleave", "hotnets22", "mltcp")

Request = tuple[str, bytes, bool]


def job_requests(draw: random.Random, jobs: int) -> Iterator[Request]:
    number = draw.randint(1, jobs)
    size = draw.choice((0, 1, 50_000, 1_000_000, 1 << 40))
    profile = draw.choice(PROFILES)
    yield "JOB_SET", job_nest(ID=number, PHASE_BYTES=size), False
    yield "JOB_SET", job_nest(ID=number, PROFILE=profile, NAME=f"job-{number}"), False
    yield "JOB_NEW", job_nest(ID=number), False
    yield "JOB_DEL", job_nest(ID=number), False
    yield "JOB_GET", job_nest(ID=number), False
    yield "PHASE_START", job_nest(ID=number, PHASE_BYTES=size), False
    yield "PHASE_START", job_nest(ID=number), False
    yield "PHASE_END", job_nest(ID=number), False


def requests(draw: random.Random, jobs: int) -> list[Request]:
    """One of each kind."""
    shape = draw.randint(1, 4)
    return [
        *job_requests(draw, jobs),
        ("JOB_GET", b"", True),
        ("PROFILE_GET", b"", True),
        ("PROFILE_SET", profile_nest(NAME="mltcp", SHAPE=shape), False),
    ]


def churn(nl: Genl, until: float, draw: random.Random, jobs: int) -> tuple[int, int]:
    taken = refused = 0
    while time.monotonic() < until:
        command, body, dump = draw.choice(requests(draw, jobs))
        try:
            if dump:
                nl.call(CMD[command], body, flags=DUMP)
            else:
                nl.call(CMD[command], body)
            taken += 1
        except Refused as why:
            if why.errno not in IN_ORDER:
                raise
            refused += 1
    return taken, refused


def main(words: list[str]) -> int:
    seconds, jobs, seed = (int(word) for word in words)
    until = time.monotonic() + seconds
    with Genl() as nl, Genl() as ear:
        ear.join("events")  # which is never read: what there is no room for is lost
        taken, refused = churn(nl, until, random.Random(seed), jobs)
    print(f"{taken} taken, {refused} refused")
    return 0 if taken else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
