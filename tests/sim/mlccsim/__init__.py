# SPDX-License-Identifier: GPL-2.0
"""The front end of mlcc-sim: scenarios, runs, tables."""
