#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Every header below include/mlcc/ and rdma/ compiles alone, freestanding, with each compiler at hand and for
# each target that a carrier may have; and all that are installed compile together. Prints TAP.

cd "$(dirname "$0")/../.." || exit 1

flags="-std=gnu11 -ffreestanding -nostdlib -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only"
count=0
failed=0

# compiles NAME COMPILER...: all headers
compiles()
{
	name=$1
	shift
	count=$((count + 1))
	for header in include/mlcc/*.h rdma/dcqcn/*.h rdma/pcc/*.h; do
		# shellcheck disable=SC2086  # flags are words
		if ! printf '#include "%s"\n' "$header" | "$@" $flags -I. -x c - 2>&1; then
			failed=$((failed + 1))
			echo "# above: $header"
			echo "not ok $count headers compile: $name"
			return
		fi
	done
	echo "ok $count headers compile: $name"
}

# The kernel's and clang's headers have stdbool.h everywhere; gcc -m32 needs none of libc either.
try()
{
	if printf 'int i;\n' | "$@" -fsyntax-only -x c - 2>/dev/null; then
		compiles "$*" "$@"
	else
		count=$((count + 1))
		echo "ok $count headers compile: $* # SKIP $1 cannot compile for this target here"
	fi
}

# Of two with one guard the second is empty for whoever includes both.
together()
{
	count=$((count + 1))
	installed="include/mlcc/*.h include/mlcc/uapi/*.h userspace/libmlcc/libmlcc.h
		   userspace/libmlcc-hint/mlcc_hint.h"
	# shellcheck disable=SC2086  # patterns
	guards=$(sed -n 's/^#ifndef \(.*_H\)$/\1/p' $installed | sort | uniq -d)
	# shellcheck disable=SC2086
	if [ -z "$guards" ] && printf '#include "%s"\n' $installed |
	   gcc -std=gnu11 -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only -I. -Iinclude -x c -; then
		echo "ok $count installed headers compile together"
		return
	fi
	failed=$((failed + 1))
	echo "# guards of two headers: ${guards:-none}"
	echo "not ok $count installed headers compile together"
}

echo "TAP version 13"
try gcc
try gcc -m32
try clang
for target in riscv64 aarch64 i386 powerpc64 bpf; do
	try clang --target="$target-unknown-none"
done
together
echo "1..$count"
[ "$failed" -eq 0 ]
