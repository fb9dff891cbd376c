#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Installs what the build and the tests need: the packages of the file beside this one, and in
# virtual environments in the cache ruff and kubernetes-validate, and the planner's solver, OR-tools,
# which shares Debian's numpy and matplotlib. Does nothing, quickly, when everything is there.
#
#   install.sh            installs
#   install.sh --train    installs what packages-train lists instead
#   install.sh --check    installs nothing; prints what is there and what is not, as TAP
#   install.sh --tools    prints where ruff is, or would be
#   install.sh --plan     prints where OR-tools is, or would be
#
# The cache is $MLCC_CACHE, else $XDG_CACHE_HOME/mlcc, else ~/.cache/mlcc.

here=$(cd "$(dirname "$0")" && pwd)
cache=${MLCC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mlcc}
list=packages

# folder of NAME LIST
environment()
{
	echo "$cache/$1-$(cksum <"$here/$2" | cut -d ' ' -f 1)"
}

tools=$(environment tools requirements.txt)
plan=$(environment plan requirements-plan.txt)

say()
{
	echo "deps: $*"
}

# "a|b" for each line of the list
wanted()
{
	sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$here/$list"
}

installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# A tool may have come by another way than its package.
present()
{
	for name in $(echo "$1" | tr '|' ' '); do
		installed "$name" && return
	done
	case $1 in
	bpftool*) command -v bpftool >/dev/null ;;
	*) false ;;
	esac
}

# The first of "a|b" that the archive has.
available()
{
	for name in $(echo "$1" | tr '|' ' '); do
		if apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [^(]'; then
			echo "$name"
			return
		fi
	done
	return 1
}

missing()
{
	wanted | while read -r package; do
		present "$package" || echo "$package"
	done
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		say "needs root, and there is no sudo: run as root: $*" >&2
		return 1
	fi
}

apt()
{
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

install_packages()
{
	lacking=$(missing)
	if [ -z "$lacking" ]; then
		say "all $(wanted | wc -l) packages are there"
		return
	fi
	say "missing: $(echo "$lacking" | tr "\n" " ")"
	say "asking the archive (apt-get update)"
	# a third party's list that cannot be had is no reason to stop
	apt update >/dev/null 2>&1 || say "apt-get update complained; going on with what it has"
	names=
	for package in $lacking; do
		if name=$(available "$package"); then
			names="$names $name"
		else
			say "the archive has no $package"
		fi
	done
	[ -n "$names" ] || return 1
	say "installing:$names"
	# shellcheck disable=SC2086  # a list
	apt install --no-install-recommends $names || return
	[ -z "$(missing)" ]
}

# matplotlib is Debian's, so the interpreter has to be, too.
python()
{
	for candidate in /usr/bin/python3 "$(command -v python3)"; do
		[ -x "$candidate" ] && echo "$candidate" && return
	done
	return 1
}

# in FOLDER what LIST says, called NAMES; more: options of venv
install_python()
{
	folder=$1 requirements=$here/$2 names=$3
	shift 3
	if [ -e "$folder/complete" ]; then
		say "$names: there"
		return
	fi
	say "installing $names into $folder"
	rm -rf "$folder"
	mkdir -p "$cache" &&
		"$(python)" -m venv "$@" "$folder" &&
		"$folder/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" \
			</dev/null &&
		touch "$folder/complete" && return
	say "$names could not be installed" >&2
	return 1
}

check_python()
{
	count=$((count + 1))
	if [ -e "$1/complete" ]; then
		echo "ok $count $2"
	else
		echo "ok $count $2 # SKIP is not installed: make deps"
	fi
}

check()
{
	count=0
	echo "TAP version 13"
	for package in $(wanted); do
		count=$((count + 1))
		if present "$package"; then
			echo "ok $count package $package"
		else
			echo "ok $count package $package # SKIP is not installed: make deps"
		fi
	done
	check_python "$tools" "ruff, kubernetes-validate"
	check_python "$plan" "OR-tools"
	echo "1..$count"
}

main()
{
	case ${1:-} in
	--check)
		check
		return
		;;
	--tools)
		echo "$tools"
		return
		;;
	--plan)
		echo "$plan"
		return
		;;
	--train) list=packages-train ;;
	'') ;;
	*)
		say "unknown: $1" >&2
		return 2
		;;
	esac
	if ! command -v apt-get >/dev/null; then
		say "this is neither Debian nor Ubuntu: install what corresponds to" >&2
		wanted | tr '\n' ' ' >&2
		echo >&2
		return 1
	fi
	install_packages || {
		say "some packages could not be installed" >&2
		return 1
	}
	[ "$list" = packages ] || return 0
	install_python "$tools" requirements.txt "ruff and kubernetes-validate" || return
	install_python "$plan" requirements-plan.txt "OR-tools" --system-site-packages
}

main "$@"
