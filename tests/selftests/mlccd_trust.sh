#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What local users, containers and processes that hang can do to mlccd, which has a carrier that is
# only memory: SECURITY.md names these cases. Nothing of the machine's own jobs is touched.

# shellcheck source=tests/selftests/common.sh
. "$(dirname "$0")/common.sh"

built=$repo/build/userspace

require_root
[ -x "$built/mlccd/mlccd-fake" ] || ktap_skip_all "mlccd-fake is not built: make fake"
setup_out
# users other than root connect, too
chmod 755 "$out"
"$python" -B "$here/mlccd_trust.py" "$built" "$out"
