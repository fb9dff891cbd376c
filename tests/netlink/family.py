# SPDX-License-Identifier: GPL-2.0
"""Names and numbers of the netlink family, as its header has them."""

import re
from pathlib import Path

NAME = "mlcc"
TEXT = {"BASE", "CLASS", "NAME", "PROFILE", "RESTART"}
WIDE = {"BYTES", "CE", "D_LEARNT", "D_PHASE", "D_SENT", "PHASE_BYTES", "RETRANS"}
HEADER = Path(__file__).resolve().parents[2] / "include/mlcc/uapi/mlcc_netlink.h"


def numbers(enum: str) -> dict[str, int]:
    """Without what all of the names begin with."""
    pattern = rf"^enum {enum} {{\n\t(\w+_)UNSPEC,\n(.*?)\n\n"
    found = re.search(pattern, HEADER.read_text(encoding="ascii"), re.MULTILINE | re.DOTALL)
    assert found, enum
    names = re.findall(rf"{found[1]}(\w+)", found[2])
    return {name: number for number, name in enumerate(["UNSPEC", *names])}
