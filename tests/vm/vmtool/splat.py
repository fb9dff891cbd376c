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
