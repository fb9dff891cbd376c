# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # names of here are used there, and of there here
# mlccd as a test runs it, never with the operator's configuration. Who includes this has included
# common.sh.

config=/nonexistent

# One for tests whose jobs talk over the loopback.
keep_loopback()
{
	config=$out/mlccd.conf
	printf '[jobs]\nskip = none\n' >"$config"
}

ctl()
{
	"$repo/build/userspace/mlcc-ctl/mlcc-ctl" --socket "$out/run/mlccd.sock" "$@"
}

# Not a function in the background: $! would be a shell around mlccd.
start_daemon()
{
	"$mlccd" --config "$config" --run-dir "$out/run" 2>>"$out/log" {carrier_lock}>&- &
	daemon=$!
	slowwait - ctl status >/dev/null 2>&1 || { cat "$out/log"; return 1; }
}

unload_mlccd()
{
	"$mlccd" --config /nonexistent --run-dir "$out/run" --unload
}
