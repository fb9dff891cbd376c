#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every header below include/mlcc/ and rdma/ compiles alone, freestanding, with each compiler at hand and for
# each target that a carrier may have; and all that are installed compile together. Prints KTAP.

# shellcheck disable=SC2317  # ktap_check calls both by name

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/selftests/lib/ktap.sh
. tests/selftests/lib/ktap.sh

flags=(-std=gnu11 -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only -I. -x c -)

# alone COMPILER...
alone()
{
	local header

	for header in include/mlcc/*.h rdma/dcqcn/*.h rdma/pcc/*.h; do
		"$@" -ffreestanding -nostdlib "${flags[@]}" <<<"#include \"$header\"" || return
	done
}

# Of two with one guard the second is empty for whoever includes both.
together()
{
	local headers=(include/mlcc/*.h include/mlcc/uapi/*.h userspace/libmlcc/libmlcc.h
		       userspace/libmlcc-hint/mlcc_hint.h)

	! sed -n 's/^#ifndef \(.*_H\)$/\1/p' "${headers[@]}" | sort | uniq -d | grep . || return
	printf '#include "%s"\n' "${headers[@]}" | gcc -Iinclude "${flags[@]}"
}

ktap_start
for compiler in gcc "gcc -m32" clang \
		"clang --target="{riscv64,aarch64,i386,powerpc64,bpf}-unknown-none; do
	# The kernel's and clang's headers have stdbool.h everywhere; gcc -m32 needs none of libc either.
	read -ra words <<<"$compiler"
	if "${words[@]}" -fsyntax-only -x c - <<<'int i;' 2>/dev/null; then
		ktap_check "headers compile: $compiler" alone "${words[@]}"
	else
		ktap_skip "headers compile: $compiler" "${words[0]} cannot compile for this target here"
	fi
done
ktap_check "installed headers compile together" together
ktap_finish
