# SPDX-License-Identifier: GPL-2.0
"""Real training jobs in the lab's cluster: PyTorch DDP over Gloo, and Open MPI."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
