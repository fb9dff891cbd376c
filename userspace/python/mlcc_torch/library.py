# SPDX-License-Identifier: BSD-2-Clause
"""libmlcc-hint by ctypes: userspace/libmlcc-hint/mlcc_hint.h."""

import ctypes
from pathlib import Path

NAME = "libmlcc-hint.so.0"

Log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_bool, ctypes.c_char_p)


class Options(ctypes.Structure):
    """What a process may say of itself: struct mlcc_hint_options."""

    _fields_ = (
        ("socket", ctypes.c_char_p),
        ("job", ctypes.c_char_p),
        ("no_plan", ctypes.c_bool),
        ("clock_ns", ctypes.c_int64),
        ("log", Log),
        ("arg", ctypes.c_void_p),
    )


_HANDLE = [ctypes.c_void_p]
_FUNCTIONS = {
    "new": ([ctypes.POINTER(Options)], ctypes.c_void_p),
    "free": (_HANDLE, None),
    "attach": ([*_HANDLE, ctypes.c_uint], ctypes.c_int),
    "linked": (_HANDLE, ctypes.c_bool),
    "start": ([*_HANDLE, ctypes.c_uint64], None),
    "end": (_HANDLE, None),
    "slot": ([*_HANDLE, ctypes.c_bool], ctypes.c_uint64),
}


def load() -> ctypes.CDLL:
    """The one that the wheel brought, else the system's. An OSError says that there is none."""
    own = Path(__file__).parent / NAME
    library = ctypes.CDLL(str(own) if own.exists() else NAME)
    for name, (arguments, result) in _FUNCTIONS.items():
        function = getattr(library, f"mlcc_hint_{name}")
        function.argtypes, function.restype = arguments, result
    return library
