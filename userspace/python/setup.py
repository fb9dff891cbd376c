# SPDX-License-Identifier: BSD-2-Clause
"""Brings libmlcc-hint along; the wheel is for any Python 3 on this kind of machine."""

import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

LIBRARY = "libmlcc-hint.so.0"
SOURCE = Path(__file__).resolve().parent.parent / "libmlcc-hint"


class Library(build_ext):
    """One for ctypes, not for import, and by its own makefile."""

    def get_ext_filename(self, fullname: str) -> str:
        return LIBRARY

    def build_extension(self, ext: Extension) -> None:
        build, to = Path(self.build_temp).resolve(), Path(self.get_ext_fullpath(ext.name))
        subprocess.run(["make", "-C", str(SOURCE), f"BUILD={build}"], check=True)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build / LIBRARY, to)


class Wheel(bdist_wheel):
    """Nothing in it depends on the interpreter's version."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(
    ext_modules=[Extension("mlcc_torch.library", [])],
    cmdclass={"build_ext": Library, "bdist_wheel": Wheel},
)
