#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mlccd and mlcc-ctl against a carrier that is only memory: requests good and bad, users, limits,
# restarts, rings, metrics; or what "$1" names. Nothing of the machine's own jobs is touched.

# shellcheck source=tests/selftests/common.sh
. "$(dirname "$0")/common.sh"

built=$repo/build/userspace

require_root
[ -x "$built/mlccd/mlccd-fake" ] || ktap_skip_all "mlccd-fake is not built: make fake"
[ -x "$built/mlcc-ctl/mlcc-ctl" ] || ktap_skip_all "mlcc-ctl is not built: make userspace"
setup_out
# users other than root connect, too
chmod 755 "$out"
PYTHONPATH=$repo/userspace/python:$repo/tests "$python" -B "$here/mlccd_cases.py" "$out" "$@"
