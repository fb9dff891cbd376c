# SPDX-License-Identifier: GPL-2.0
"""The tables of README.md and Documentation/results.md: measured, written, checked."""
