#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# compiler.sh FOLDER: prints what make is to be told so that modules for the kernel whose headers are in
# FOLDER come from the compiler that the kernel came from: others may not know its options.

config=$1/include/config/auto.conf
[ -r "$config" ] || config=$1/.config
[ -r "$config" ] || exit 0

# value NAME
value()
{
	sed -n "s/^CONFIG_$1=//p" "$config" | tr -d '"'
}

has()
{
	command -v "$1" >/dev/null
}

if [ "$(value CC_IS_CLANG)" = y ]; then
	version=$(value CLANG_VERSION)
	version=$((${version:-0} / 10000))
	if has "clang-$version" && has "ld.lld-$version"; then
		echo "LLVM=-$version CC=clang-$version"
	else
		echo "LLVM=1 CC=clang"
	fi
	exit
fi
name=$(value CC_VERSION_TEXT)
name=${name%% *}
case $name in
*gcc*) has "$name" || name=gcc ;;
*) name=gcc ;;
esac
echo "CC=$name"
