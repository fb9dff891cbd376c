# SPDX-License-Identifier: GPL-2.0
"""The mlcc lab: an emulated cluster on one machine, with real TCP sockets."""
