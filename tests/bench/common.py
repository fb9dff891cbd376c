# SPDX-License-Identifier: GPL-2.0
"""What the tests share: a folder, and what a program says."""

import contextlib
import io
import tempfile
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path


def said(main: Callable[[Sequence[str]], int], *words: str) -> tuple[int, str]:
    """The exit status, and everything that it has printed."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        status = main(words)
    return status, text.getvalue()


class InFolder(unittest.TestCase):
    """With one of its own."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
