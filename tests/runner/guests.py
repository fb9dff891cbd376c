# SPDX-License-Identifier: GPL-2.0
"""Which selftests run under which kernel, in a virtual machine.

`make check` runs under each what depends on it, and what does not, but needs a guest, under one:
the module's messages, systemd. A test that compares times wants a clock that counts instructions,
which leaves a guest one processor; all others want two, for their locks.
"""

KERNELS = ("6.1", "6.12", "7.2")

# Only the oldest kernel has no links of struct_ops to pin: all others are as the running one.
PLAIN = {
    "6.1": ("module", "module_tagger", "bpf_load", "bpf_half"),
    "6.12": ("bpf_load", "module_netlink", "systemd"),
    "7.2": ("module", "bpf_load"),
}
# soft-RoCE: 6.1 is too old for the patches, and only the newest driver knows of namespaces, which
# two hosts in one guest need.
COUNTED = {
    "6.1": ("module_interleave",),
    "6.12": ("module_neutral", "rxe_local"),
    "7.2": ("bpf_interleave", "rxe"),
}

ALL_PLAIN = (
    "module",
    "module_tagger",
    "bpf_load",
    "bpf_pins",
    "bpf_half",
    "bpf_upgrade",
    "bpf_slots",
    "module_netlink",
    "systemd",
    "slurm",
)
ALL_COUNTED = ("module_interleave", "bpf_interleave", "module_neutral")

# Kernels with debugging (tests/vm/debug), for `make check-debug`: what goes wrong there they say.
DEBUG = ("6.12-kasan", "6.12-kcsan")
DEBUG_TESTS = ("module_churn", "module", "module_netlink")
