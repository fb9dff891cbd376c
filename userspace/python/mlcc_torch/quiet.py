# SPDX-License-Identifier: BSD-2-Clause
"""Hooks that training does not notice."""

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from .hints import log


def _is_compiling() -> Callable[[], bool]:
    """Before torch 2.1, and without torch: never."""
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    found: Callable[[], bool] = getattr(compiler, "is_compiling", bool)
    return found


class Quiet:
    """A hook that never raises, and returns nothing.

    What torch.compile() compiles goes without it, as it would have to be cut in two. In a copy of
    the model, or a saved one, it is a function of Python's own that does nothing: who loads that
    needs no mlcc_torch.
    """

    # a tensor that is saved warns of hooks that are not
    __torch_unserializable__ = True

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self._compiling = _is_compiling()

    def __call__(self, *args: Any) -> None:
        if self._compiling():
            return
        try:
            self._function(*args)
        except Exception as error:
            log.debug("a pass without its phase: %r", error)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (contextlib.nullcontext(), "__exit__")
