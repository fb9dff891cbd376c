# SPDX-License-Identifier: GPL-2.0
"""Find what a kernel says when something is wrong with it."""

import re
from collections.abc import Iterator

# guest.sh writes this line to the log before the command starts: what the boot under
# emulation complains about is not the fault of what is being tested.
MARK = "mlcc-vm: the command starts"

_SPLAT = re.compile(
    r"\bWARNING: |\bBUG: |kernel BUG at|\bOops\b|Call Trace:|\bKASAN: |\bKCSAN: |\bKFENCE: |"
    r"\bUBSAN: |\bKMSAN: |\bODEBUG: |general protection fault|Kernel panic|refcount_t: |"
    r"INFO: task .* blocked for more than|detected stalls on|unreferenced object|"
    r"kmemleak: (Kernel memory leak detector disabled|\d+ new suspected)|"
    r"INFO: trying to register non-static key|possible (circular|recursive) locking|"
    r"suspicious RCU usage|sleeping function called|ref_tracker: "
)
# and the byte in memory that should have been the int3
_INT3 = re.compile(r"\bOops: int3\b.*?\bCode: [^\n]*\b([0-9a-f]{2}) <[0-9a-f]{2}>", flags=re.DOTALL)
_CONTEXT_BEFORE = 2
_CONTEXT_AFTER = 45

# A record of /dev/kmsg: what follows it on lines of their own, indented, is for other programs.
_RECORD = re.compile(r"\d+,\d+,(\d+),[^,;]*(?:,caller=(\w+))?[^;]*;(.*)")

# A report of KCSAN, to the line that ends it; and what makes it ours, a frame of the module.
_RACE = re.compile(r"\bBUG: KCSAN: ")
_RULE = "=" * 40
_OURS = "tcp_mlcc"
# The buffer of trace events, which an interrupt's may write to in the middle of another: below
# each of our tracepoints, and none of our memory.
_TRACING = re.compile(r"data-race in ring_buffer_\w+ / ring_buffer_\w+")
_CALLER = re.compile(r"^\[ *[\d.]+\]\[ *([CT]\d+)\]")


def started(log: str) -> bool:
    """Whether the command has started."""
    return MARK in log


def readable(kmsg: str) -> str:
    """The records of /dev/kmsg as the console has them: time, who said it if known, text."""
    lines = []
    for record in kmsg.splitlines():
        match = _RECORD.match(record)
        if match:
            when, who = int(match[1]), f"[{match[2]:>6}]" if match[2] else ""
            lines.append(f"[{when // 10**6:5}.{when % 10**6:06}]{who} {match[3]}\n")
    return "".join(lines)


def _caller(line: str) -> str:
    match = _CALLER.match(line)
    return match[1] if match else ""


def _races(lines: list[str]) -> Iterator[list[int]]:
    """For each report of a race, the numbers of its lines. Others may print in between."""
    for begin, line in enumerate(lines):
        if not _RACE.search(line):
            continue
        who, report = _caller(line), []
        for i in range(begin, len(lines)):
            if _caller(lines[i]) != who:
                continue
            if _RULE in lines[i]:
                break
            report.append(i)
        yield report


def races_of_others(lines: list[str]) -> set[int]:
    """The lines of reports that have no frame of ours, or are of the kernel's buffer for traces:
    it races with itself, and knows."""
    foreign: set[int] = set()
    for report in _races(lines):
        if not any(_OURS in lines[i] for i in report) or _TRACING.search(lines[report[0]]):
            foreign.update(report)
    return foreign


def count_races_of_others(log: str) -> int:
    lines = log.splitlines()
    return sum(1 for i in races_of_others(lines) if _RACE.search(lines[i]))


def find(log: str) -> list[str]:
    """The first complaint after the mark with the lines around it; empty when there is none."""
    lines = log.splitlines()
    start = max((i + 1 for i, line in enumerate(lines) if MARK in line), default=0)
    left_out = races_of_others(lines)
    for i in range(start, len(lines)):
        if i not in left_out and _SPLAT.search(lines[i]):
            return lines[max(start, i - _CONTEXT_BEFORE) : i + _CONTEXT_AFTER]
    return []


def first(found: list[str]) -> str:
    """The line of what find() returns that is the complaint."""
    return next((line for line in found if _SPLAT.search(line)), "")


def stray_int3(found: list[str]) -> bool:
    """Whether the complaint is of an int3 where memory has none.

    QEMU before 8.1 may translate code while another of its threads writes to it, and keep what was
    there for a moment only.  A kernel that patches itself (static keys, trampolines) writes an int3
    first, so that is what such a guest runs into, again and again.
    """
    oops = _INT3.search("\n".join(found))
    return oops is not None and oops[1] != "cc"
