# SPDX-License-Identifier: GPL-2.0
"""Real training jobs in the lab's cluster: PyTorch DDP over Gloo, and Open MPI."""
