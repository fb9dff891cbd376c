#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is built on hosts that are not ours: headers that nothing compiles against, no BTF, a path with a
# blank, the flags of distributions, other compilers, a strict umask.

# shellcheck disable=SC2317  # ktap_check calls functions by name

repo=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/selftests/lib/lib.sh
. "$repo/tests/selftests/lib/lib.sh"

out=$(mktemp -d)
defer rm -rf "$out"
tree="$out/a tree"
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$repo/debian/changelog")
tests=(-o lab -o unit -o fake -o nccl -o rdma -o fuzz -o skip-sim -o sim)

# copy FOLDER: what git would check out
copy()
{
	mkdir "$1" && git -C "$repo" -c safe.directory="$repo" ls-files -z --cached --others --exclude-standard |
		tar -C "$repo" --null -T - --ignore-failed-read --warning=no-failed-read -c | tar -C "$1" -x
}

# without_btf COMMAND...: where that may be hidden
without_btf()
{
	if unshare -m mount -t tmpfs none /sys/kernel/btf 2>/dev/null; then
		unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh "$@"
	else
		"$@"
	fi
}

# refuses_nonsense PROGRAM: with the status that usage has in all of them
refuses_nonsense()
{
	local said status

	said=$("$1" --nonsense 2>&1 >/dev/null)
	status=$?
	if [ "$status" -ne 2 ] || [ -z "$said" ]; then
		echo "${1##*/} --nonsense: status $status: $said"
		return 1
	fi
}

# programs_are_in FOLDER: say their version, and know what is usage
programs_are_in()
{
	local name

	for name in mlcc-bpf mlccd mlcc-ctl mlcc-dcqcn; do
		name=build/userspace/$name/$name
		[ "$("$1/$name" --version)" = "${name##*/} $version" ] ||
			{ echo "${name##*/} is not built, or of another version"; return 1; }
		refuses_nonsense "$1/$name" || return
	done
	for name in userspace/plan/mlcc-plan userspace/mlcc-pcc/mlcc-pcc-jobs tests/lab/mlcc-lab; do
		[ "$("$1/$name" --version)" = "${name##*/} $version" ] ||
			{ echo "$name is of another version"; return 1; }
		refuses_nonsense "$1/$name" || return
	done
	for name in mlcc-run mlcc-mpi kubernetes/mlcc_agent.py kubernetes/image/build; do
		refuses_nonsense "$1/userspace/launchers/$name" || return
	done
}

headers_are_no_obstacle()
{
	copy "$out/tree" && mkdir "$out/kernel" || return
	printf 'modules:\n\t@echo "fixdep: version GLIBC_2.38 not found" >&2; exit 1\n' >"$out/kernel/Makefile"
	without_btf make -s -C "$out/tree" "${tests[@]}" all KDIR="$out/kernel" >"$out/said" 2>&1 ||
		{ tail -n 20 "$out/said"; return 1; }
	grep "^the module cannot be built: .*GLIBC_2.38" "$out/said" || { cat "$out/said"; return 1; }
	programs_are_in "$out/tree"
}

missing_compiler_is_no_obstacle()
{
	copy "$out/without" || return
	make -s -C "$out/without" "${tests[@]}" all CLANG=none KDIR=/none >"$out/said" 2>&1 || return
	grep "^mlcc-bpf cannot be built: .*none" "$out/said" && [ -x "$out/without/build/userspace/mlcc-ctl/mlcc-ctl" ] &&
		! make -s -C "$out/without" programs CLANG=none >/dev/null 2>&1
}

# builds VARIABLE=VALUE...: in a path with a blank, with what others' builds have in the environment
builds()
{
	rm -rf "$tree"
	copy "$tree" || return
	O=elsewhere BUILD=elsewhere SAN=1 WERROR=1 MAKEFLAGS=rR make -s -C "$tree" programs "$@" >"$out/said" 2>&1 || { tail -n 20 "$out/said"; return 1; }
	programs_are_in "$tree"
}

fortified()
{
	builds CFLAGS="-g -O2 -fstack-protector-strong -Werror -Wp,-D_FORTIFY_SOURCE=3 -flto" \
		CPPFLAGS=-Wdate-time LDFLAGS=-Wl,-z,relro
}

not_optimized()
{
	type -P clang >/dev/null || { echo "no clang"; return "$KSFT_SKIP"; }
	builds CC=clang CFLAGS="-O0 -D_FORTIFY_SOURCE=3"
}

# After the one before: all may be read by all, and units say where the program is.
installs_under_a_strict_umask()
{
	[ -d "$tree" ] || return
	(umask 077 && make -s -C "$tree" install DESTDIR="$out/to here" PREFIX=/usr >"$out/said" 2>&1) ||
		{ tail -n 20 "$out/said"; return 1; }
	! find "$out/to here/usr" "$out/to here/etc" ! -type l ! -perm -044 | grep . &&
		grep -q '^ExecStart=/usr/sbin/mlccd' "$out/to here/usr/lib/systemd/system/mlccd.service"
}

# compiler CONFIG...: of a kernel with this configuration
compiler()
{
	mkdir -p "$out/config/include/config"
	printf '%s\n' "$@" >"$out/config/include/config/auto.conf"
	"$repo/tcp_mlcc/compiler.sh" "$out/config"
}

kernels_compiler_is_found()
{
	[ "$(compiler CONFIG_CC_IS_CLANG=y CONFIG_CLANG_VERSION=10001)" = "LLVM=1 CC=clang" ] &&
		[ "$(compiler CONFIG_CC_IS_GCC=y 'CONFIG_CC_VERSION_TEXT="gcc (GCC) 12.2.0"')" = CC=gcc ] &&
		[ "$(compiler 'CONFIG_CC_VERSION_TEXT="gcc-1 (GCC) 1.0"')" = CC=gcc ]
}

# After the one before: by make, and by DKMS.
kernels_compiler_is_told()
{
	compiler CONFIG_CC_IS_CLANG=y >/dev/null
	mkdir -p "$out/mlcc/0.1" && ln -s "$repo" "$out/mlcc/0.1/build" || return
	# shellcheck disable=SC2016  # make's
	printf 'modules:\n\t@echo "LLVM=$(LLVM) CC=$(CC)"\n' >"$out/config/Makefile"
	{
		make -s -C "$repo" module KDIR="$out/config"
		# shellcheck disable=SC2034,SC1091  # for dkms.conf
		(kernel_source_dir="$out/config" dkms_tree=$out; . "$repo/dkms.conf"; eval "${MAKE[0]}")
	} >"$out/said" 2>&1
	[ "$(grep -c "^LLVM=1 CC=clang$" "$out/said")" = 2 ] || { cat "$out/said"; return 1; }
}

# dkms_takes RELEASE
dkms_takes()
{
	# shellcheck disable=SC2034,SC1091,SC2154  # for dkms.conf
	(kernel_source_dir=/x dkms_tree=/x; . "$repo/dkms.conf"; [[ $1 =~ $BUILD_EXCLUSIVE_KERNEL ]])
}

dkms_has_a_range()
{
	local kernel

	for kernel in 6.1.0-25-amd64 6.9 6.12.9-amd64 7.2.1-1-default; do
		dkms_takes "$kernel" || { echo "$kernel is left out"; return 1; }
	done
	for kernel in 4.18.0-553.el8 5.10.0-32-amd64 5.15.0-119-generic 6.0.12 8.0.1 61.1 16.1; do
		! dkms_takes "$kernel" || { echo "$kernel is taken"; return 1; }
	done
}

ktap_start
ktap_check "headers that nothing compiles against, and no BTF" headers_are_no_obstacle
ktap_check "no compiler for BPF" missing_compiler_is_no_obstacle
ktap_check "a path with a blank, link-time optimization, a distribution's hardening" fortified
ktap_check "another compiler, without optimization" not_optimized
ktap_check "installs under a strict umask, into a folder with a blank" installs_under_a_strict_umask
ktap_check "the kernel's compiler is found" kernels_compiler_is_found
ktap_check "make and DKMS are told it" kernels_compiler_is_told
ktap_check "DKMS takes the kernels that it can build for" dkms_has_a_range
ktap_finish
