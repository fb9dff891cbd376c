# SPDX-License-Identifier: GPL-2.0
"""Scenarios drawn at random: what is drawn, and that the lab can read it."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from figures import draw
from mlcclab import scenario
from mlcclab.errors import EXIT_OK, EXIT_USAGE


class Draw(unittest.TestCase):
    """A few dozen of them."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def _loaded(self, seed: int, count: int) -> list[scenario.Scenario]:
        drawn = draw.draw(seed, count)
        draw.write(drawn, self.folder)
        return [scenario.load(self.folder / f"{cell.name}.toml") for cell in drawn]

    def test_a_seed_draws_the_same_whatever_the_count(self) -> None:
        few, many = draw.draw(3, 5), draw.draw(3, 40)
        self.assertEqual([c.toml() for c in few], [c.toml() for c in many[:5]])
        self.assertNotEqual([c.toml() for c in few], [c.toml() for c in draw.draw(4, 5)])

    def test_loads_are_what_the_kind_says(self) -> None:
        loads = self._loaded(2, 80)
        for loaded, due in zip(loads, 10 * list(draw.KINDS), strict=True):
            kind = loaded.name.rsplit("-", 1)[1]
            with self.subTest(loaded.name):
                self.assertEqual(kind, due, "they come in turn")
                if kind == "crowded":
                    self.assertGreater(loaded.load, 1.0)
                else:
                    self.assertLess(loaded.load, 1.0)
                self.assertEqual(bool(loaded.flows), kind == "beside")

    def test_command_line(self) -> None:
        self.assertEqual(draw.main(["--seed", "7", "--count", "3", str(self.folder)]), EXIT_OK)
        self.assertEqual(len(list(self.folder.glob("*.toml"))), 3)
        for wrong in (["--count", "0", "x"], ["--seed", "-1", "x"], []):
            said = io.StringIO()
            with self.subTest(wrong), contextlib.redirect_stderr(said):
                self.assertEqual(draw.main(wrong), EXIT_USAGE)
            self.assertEqual(said.getvalue().count("\n"), 1, said.getvalue())
