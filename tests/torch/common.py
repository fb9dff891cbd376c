# SPDX-License-Identifier: GPL-2.0
"""What the tests share: the package of this tree."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "userspace" / "python"
sys.path[:0] = [str(PACKAGE), str(ROOT / "tests")]
