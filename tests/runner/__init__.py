# SPDX-License-Identifier: GPL-2.0
"""What `make check` is made of: the suites, their order, and how their results are counted."""
