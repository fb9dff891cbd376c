# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # what is set here or there is used there or here
# What the selftests of the BPF carrier share.

# shellcheck source=tests/selftests/api_common.sh
. "$(dirname "${BASH_SOURCE[0]}")/api_common.sh"

mlcc_bpf=$repo/build/userspace/mlcc-bpf/mlcc-bpf

require_bpf()
{
	require_root
	require_built
	[ -r /sys/kernel/btf/vmlinux ] || ktap_skip_all "this kernel has no BTF"
	[ -x "$mlcc_bpf" ] || ktap_skip_all "$mlcc_bpf is not built: make"
	require_free_carrier
}

# as the module has them
require_carrier()
{
	require_command ip tc ethtool ss
	require_driver
	require_bpf
}

load_carrier()
{
	# shellcheck disable=SC2119  # without options
	load || ktap_fail_all "the BPF carrier is loaded"
}

# load [OPTIONS...]: until the test ends
# shellcheck disable=SC2120  # tests have options
load()
{
	"$mlcc_bpf" load "$@" && defer unload_quietly
}

unload_quietly()
{
	"$mlcc_bpf" unload 2>/dev/null
	return 0
}

# copy_carrier DIR: the sources of mlcc-bpf, for one that is made otherwise
copy_carrier()
{
	mkdir "$1" && (cd "$repo" && cp -r --parents bpf/*.[ch] bpf/Makefile include userspace/program.mk \
		userspace/common/*.[ch] userspace/libmlcc/*.[ch] userspace/mlcc-bpf "$1")
}

# make_carrier DIR: what is to be run is DIR/mlcc-bpf
make_carrier()
{
	make -s -C "$1/userspace/mlcc-bpf" BUILD="$1"
}

# slots_are VALUE EXPRESSION: of what is shown, as d
slots_are()
{
	"$mlcc_bpf" show | prints "$1" json "$2"
}
