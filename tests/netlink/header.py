# SPDX-License-Identifier: GPL-2.0
"""Names and numbers of the netlink family, from its C header."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "mlcc" / "uapi" / "mlcc_netlink.h"

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_ENUM = re.compile(r"enum\s+(\w+)\s*\{(.*?)\}", re.DOTALL)
_DEFINE = re.compile(r'^#define\s+(MLCC_\w+)\s+("[^"]*"|\d+)U?\s*$', re.MULTILINE)


def _source() -> str:
    return _COMMENT.sub(" ", HEADER.read_text(encoding="utf-8"))


def enums() -> dict[str, dict[str, int]]:
    """Enumerators by enum, without the two that only count."""
    found: dict[str, dict[str, int]] = {}
    for name, body in _ENUM.findall(_source()):
        words = [word.split("=")[0].strip() for word in body.split(",")]
        names = [word for word in words if word]
        count = next(i for i, word in enumerate(names) if word.startswith("__"))
        found[name] = {word: number for number, word in enumerate(names[:count])}
    return found


def defines() -> dict[str, int | str]:
    return {
        name: value.strip('"') if value.startswith('"') else int(value)
        for name, value in _DEFINE.findall(_source())
    }
