# SPDX-License-Identifier: GPL-2.0
"""The mlcc lab: an emulated cluster on one machine, with real TCP sockets."""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
sys.path += [str(_ROOT / "tests" / "netlink"), str(_ROOT / "userspace" / "python")]
