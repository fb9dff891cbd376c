# SPDX-License-Identifier: GPL-2.0
"""The tables of Documentation/results.md: measured, written, checked."""
