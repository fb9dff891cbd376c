# SPDX-License-Identifier: GPL-2.0
"""Find what a kernel says when something is wrong with it."""

import re

# guest.sh writes this line to the log before the command starts: what the boot under
# emulation complains about is not the fault of what is being tested.
MARK = "mlcc-vm: the command starts"

_SPLAT = re.compile(
    r"\bWARNING: |\bBUG: |kernel BUG at|\bOops\b|Call Trace:|\bKASAN: |\bKCSAN: |\bKFENCE: |"
    r"\bUBSAN: |\bKMSAN: |general protection fault|Kernel panic|refcount_t: |"
    r"INFO: task .* blocked for more than|detected stalls on|unreferenced object"
)
# and the byte in memory that should have been the int3
_INT3 = re.compile(r"\bOops: int3\b.*?\bCode: [^\n]*\b([0-9a-f]{2}) <[0-9a-f]{2}>", flags=re.DOTALL)
_CONTEXT_BEFORE = 2
_CONTEXT_AFTER = 45


def started(log: str) -> bool:
    """Whether the command has started."""
    return MARK in log


def find(log: str) -> list[str]:
    """The first complaint after the mark with the lines around it; empty when there is none."""
    lines = log.splitlines()
    start = max((i + 1 for i, line in enumerate(lines) if MARK in line), default=0)
    for i in range(start, len(lines)):
        if _SPLAT.search(lines[i]):
            return lines[max(start, i - _CONTEXT_BEFORE) : i + _CONTEXT_AFTER]
    return []


def stray_int3(found: list[str]) -> bool:
    """Whether the complaint is of an int3 where memory has none.

    QEMU before 8.1 may translate code while another of its threads writes to it, and keep what was
    there for a moment only.  A kernel that patches itself (static keys, trampolines) writes an int3
    first, so that is what such a guest runs into, again and again.
    """
    oops = _INT3.search("\n".join(found))
    return oops is not None and oops[1] != "cc"
