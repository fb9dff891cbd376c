# SPDX-License-Identifier: GPL-2.0
"""The tables of Documentation/results.md: measured, written, checked."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "lab"))
