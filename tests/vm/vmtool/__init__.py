# SPDX-License-Identifier: GPL-2.0
"""The parts of tests/vm/vm, one concern per module."""
