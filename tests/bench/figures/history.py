# SPDX-License-Identifier: GPL-2.0
"""What git knows: the commit that is measured, and what has changed in the core since another."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mlcclab.errors import LabError

# What decides how a carrier behaves: a table is older when a commit has changed its code since.
CORE = {
    "bpf": ("include/mlcc", "bpf/mlcc.bpf.c", "bpf/mlcc_bpf.h"),
    "module": ("include/mlcc", "tcp_mlcc"),
}
# Whatever takes part in a measurement. Its last commit is the one that a table names: a report
# stays good while only other things change.
MEASURED = ("include", "bpf", "tcp_mlcc", "userspace", "tests/lab")

# comments and blanks; a string, which may look like one, is kept
NO_CODE = re.compile(r'("(?:\\.|[^"\\])*")|(?://[^\n]*|/\*.*?\*/|\s)+', re.DOTALL)


def code(source: str) -> str:
    """What a compiler sees of it, nearly."""
    return NO_CODE.sub(lambda found: found[1] or " ", source).strip()


@dataclass(frozen=True)
class History:
    """A git repository."""

    root: Path

    def _git(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(self.root), *words]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise LabError("no git here: a table names the commit that was measured") from None

    def _log(self, *words: str) -> str:
        done = self._git("log", "-1", *words)
        if done.returncode:
            said = done.stderr.strip().splitlines()
            raise LabError(f"git log: {said[-1] if said else done.returncode}")
        return done.stdout.strip()

    def measured(self, *more: str) -> str:
        """The commit that a measurement of this tree is of; refused where no commit has it all.

        more: what else takes part.
        """
        paths = (*MEASURED, *more)
        changed = self._git("status", "--porcelain", "--untracked-files=no", "--", *paths).stdout
        if changed:
            names = ", ".join(line[3:] for line in changed.splitlines())
            raise LabError(f"not committed: {names}; a table has to name the commit it measured")
        commit = self._log("--format=%h", "--abbrev=12", "--", *paths)
        if not commit:
            raise LabError(f"no commit has touched {', '.join(paths)}")
        return commit

    def knows(self, commit: str) -> bool:
        """Whether it is there: a shallow clone has the last ones only."""
        return self._git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0

    def changed_since(self, commit: str, paths: tuple[str, ...]) -> str:
        """The last commit since then that changed code of a path, with its subject; or nothing."""
        log = self._git("log", "--format=%h (%s)", f"{commit}..HEAD", "--", *paths).stdout
        for line in log.splitlines():
            if self._changes_code(line.split()[0], paths):
                return line
        return ""

    def _changes_code(self, commit: str, paths: tuple[str, ...]) -> bool:
        names = self._git("diff", "--name-only", f"{commit}~", commit, "--", *paths).stdout
        sources = [name for name in names.splitlines() if name.endswith((".c", ".h"))]
        return any(
            code(self._git("show", f"{commit}~:{name}").stdout)
            != code(self._git("show", f"{commit}:{name}").stdout)
            for name in sources
        )
