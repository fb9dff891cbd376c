# SPDX-License-Identifier: GPL-2.0
# Do not edit directly, auto-generated from:
#     Documentation/netlink/mlcc.yaml
"""Names and numbers of the netlink family."""

NAME = "mlcc"
JOB_ID_MAX = 65535
JOB_NAME_MAX = 63
WORD_MAX = 15
JOBS_MAX = 16384
JOB_OTHERS_MAX = 12288
JOB_NETNS_MAX = 1024
JOB_USERS_MAX = 8192
MARK_MASK = 255
CMD = {
    "UNSPEC": 0,
    "JOB_NEW": 1,
    "JOB_SET": 2,
    "JOB_DEL": 3,
    "JOB_GET": 4,
    "PHASE_START": 5,
    "PHASE_END": 6,
    "PROFILE_GET": 7,
    "PROFILE_SET": 8,
    "JOB_SET_NTF": 9,
    "JOB_DEL_NTF": 10,
    "PHASE_START_NTF": 11,
    "PHASE_END_NTF": 12,
}
ATTR = {
    "UNSPEC": 0,
    "JOB": 1,
    "PROFILE": 2,
}
JOB = {
    "UNSPEC": 0,
    "PAD": 1,
    "ID": 2,
    "NAME": 3,
    "PROFILE": 4,
    "PHASE_BYTES": 5,
    "FLOWS": 6,
    "PHASES": 7,
    "D_SENT": 8,
    "D_PHASE": 9,
    "D_LEARNT": 10,
    "HITS": 11,
    "PROGRESS": 12,
    "GAIN": 13,
    "ITERATION_US": 14,
    "COMM_US": 15,
    "BEST_US": 16,
    "BYTES": 17,
    "RETRANS": 18,
    "CE": 19,
    "HINTED": 20,
    "CLASS": 21,
}
PROFILE = {
    "UNSPEC": 0,
    "NAME": 1,
    "FLOOR": 2,
    "SLOPE": 3,
    "HOLD": 4,
    "SHAPE": 5,
    "BASE": 6,
    "RESTART": 7,
    "DEFAULT": 8,
}
TEXT = {
    "BASE",
    "CLASS",
    "NAME",
    "PROFILE",
    "RESTART",
}
WIDE = {
    "BYTES",
    "CE",
    "D_LEARNT",
    "D_PHASE",
    "D_SENT",
    "PHASE_BYTES",
    "RETRANS",
}
