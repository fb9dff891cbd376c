# SPDX-License-Identifier: GPL-2.0
"""How tests/deps/install.sh calls apt-get, with one that installs nothing."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

INSTALL = Path(__file__).resolve().parents[1] / "deps" / "install.sh"

# As apt does: what it starts does not have the descriptor that its status goes to.
APT_GET = """#!/bin/sh
for word in "$@"; do
	case $word in
	APT::Status-Fd=*) fd=${word#*=} ;;
	esac
done
eval "echo pmstatus:some:50.0000:half >&$fd"
eval "exec $fd>&-"
sh -c 'echo "a package is configured"' || exit 100
echo "0 upgraded, 1 newly installed"
"""
APT_CACHE = "#!/bin/sh\necho '  Candidate: 1'\n"
# No package is there before, all are behind.
DPKG_QUERY = '#!/bin/sh\n[ ! -e "$HOME/.cache/mlcc/deps.log" ] || printf installed\n'


class Install(unittest.TestCase):
    """The group that needs nothing of PyPI."""

    def test_scripts_of_packages_may_print(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            stubs = {"apt-get": APT_GET, "apt-cache": APT_CACHE, "dpkg-query": DPKG_QUERY}
            for command, text in stubs.items():
                (folder / command).write_text(text, encoding="ascii")
                (folder / command).chmod(0o755)
            done = subprocess.run(
                ["sh", INSTALL, "demo"],
                env={"PATH": f"{folder}:{os.environ['PATH']}", "HOME": name},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            log = (folder / ".cache" / "mlcc" / "deps.log").read_text(encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + log)
        self.assertIn("installing 50 %", done.stdout)
        self.assertIn("a package is configured", log)
