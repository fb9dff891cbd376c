#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Installs what the build, the demonstrations and the tests need: groups of Debian's packages, from the
# file beside this one, and in virtual environments in the cache what Debian lacks: OR-tools for the
# group planner (it shares Debian's numpy), ruff and kubernetes-validate for the group check, ns-3's
# libraries for the group sim. Does nothing, quickly, when everything is there.
#
#   install.sh GROUP...          installs ("all": every group but debug); what apt says goes to
#                                deps.log there
#   install.sh --check GROUP...  installs nothing; prints what is there and what is not, as TAP
#   install.sh --tools           prints where ruff is, or would be
#   install.sh --plan            prints where OR-tools is, or would be
#   install.sh --sim             prints where ns-3 is, or would be
#
# The cache is $MLCC_CACHE, else $XDG_CACHE_HOME/mlcc, else ~/.cache/mlcc.

here=$(cd "$(dirname "$0")" && pwd)
cache=${MLCC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mlcc}
log=$cache/deps.log

# folder of NAME LIST
environment()
{
	echo "$cache/$1-$(cksum <"$here/$2" | cut -d ' ' -f 1)"
}

tools=$(environment tools requirements.txt)
plan=$(environment plan requirements-plan.txt)
sim=$(environment sim requirements-sim.txt)

say()
{
	echo "deps: $*"
}

all_groups()
{
	sed -n 's/^\[\([a-z]*\)\].*/\1/p' "$here/packages"
}

# "a|b" for each line of the groups, once
wanted()
{
	awk -v groups=" $groups " '
		{ sub(/#.*/, "") }
		/^\[/ { gsub(/[][[:space:]]/, ""); in_group = index(groups, " " $0 " "); next }
		NF && in_group && !seen[$1]++ { print $1 }' "$here/packages"
}

installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# A tool may have come by another way than its package; Ubuntu's may be a script that refuses the kernel.
present()
{
	case $1 in
	bpftool*)
		PATH=$PATH:/usr/sbin bpftool version >/dev/null 2>&1
		return
		;;
	esac
	for name in $(echo "$1" | tr '|' ' '); do
		installed "$name" && return
	done
	false
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

# All that apt says goes to the log; on a terminal the last of it shows how far it is.
apt()
{
	{
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
			-o DPkg::Lock::Timeout=300 "$@" </dev/null 2>&1
		echo $? >"$log.status"
	} | while IFS= read -r line; do
		echo "$line" >>"$log"
		[ ! -t 1 ] || printf '\r\033[K%.70s' "$line"
	done
	[ ! -t 1 ] || printf '\r\033[K'
	[ "$(cat "$log.status")" -eq 0 ]
}

install_packages()
{
	lacking=$(missing)
	count=$(wanted | wc -l)
	if [ -z "$lacking" ]; then
		say "$groups: all $count packages are there"
		return
	fi
	say "$groups: asking the archive for $(echo "$lacking" | wc -l) of $count packages"
	mkdir -p "$cache" && : >"$log" || return
	# a third party's list that cannot be had is no reason to stop
	apt update || say "apt-get update complained; going on with what it has"
	names=
	for package in $lacking; do
		if name=$(available "$package"); then
			names="$names $name"
		else
			say "the archive has no $package"
		fi
	done
	[ -n "$names" ] || return 1
	say "installing$names, and what these need"
	# shellcheck disable=SC2086  # a list
	apt install --no-install-recommends $names || { tail -n 15 "$log"; return 1; }
	say "$(sed -n 's/.* \([0-9]*\) newly installed.*/\1/p' "$log") packages are new; details: $log"
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

# in FOLDER what LIST says, called NAMES; more: options of venv. $pip_options: of pip
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
	# shellcheck disable=SC2086  # a list
	mkdir -p "$cache" &&
		"$(python)" -m venv "$@" "$folder" &&
		"$folder/bin/pip" install --quiet --disable-pip-version-check $pip_options \
			-r "$requirements" </dev/null &&
		touch "$folder/complete" && return
	say "$names could not be installed" >&2
	return 1
}

# Each virtual environment that the groups have: COMMAND FOLDER LIST NAMES [OPTIONS]. Of ns-3 libraries
# and headers only, which no Python has to load: the newest wheel there is, whatever Python runs here.
# It is for PCs; where there is none the simulator is not built.
each_environment()
{
	for group in $groups; do
		pip_options=
		case $group-$(uname -m) in
		check-*) "$1" "$tools" requirements.txt "ruff and kubernetes-validate" ;;
		planner-*) "$1" "$plan" requirements-plan.txt "OR-tools" --system-site-packages ;;
		sim-x86_64)
			pip_options="--no-deps --only-binary=:all: --python-version=3.11 --implementation=cp
				--platform=manylinux_2_28_x86_64 --target=$sim/site"
			"$1" "$sim" requirements-sim.txt "ns-3"
			;;
		esac || return
	done
}

# told NAME COMMAND...: whether that succeeds
told()
{
	count=$((count + 1)) what=$1
	shift
	if "$@"; then
		echo "ok $count $what"
	else
		echo "not ok $count $what: not installed"
	fi
}

check_python()
{
	told "$3" test -e "$1/complete"
}

check()
{
	count=0
	echo "TAP version 13"
	for package in $(wanted); do
		told "package $package" present "$package"
	done
	each_environment check_python
	echo "1..$count"
}

install()
{
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
	each_environment install_python
}

main()
{
	command=install
	case ${1:-} in
	--tools) echo "$tools"; return ;;
	--plan) echo "$plan"; return ;;
	--sim) echo "$sim/site/ns3"; return ;;
	--check)
		command=check
		shift
		;;
	esac
	groups="$*"
	[ "$groups" != all ] || groups=$(all_groups | grep -vx debug | tr '\n' ' ')
	for group in ${groups:-none}; do
		all_groups | grep -qx -e "$group" && continue
		say "no group '$group': there are $(all_groups | tr '\n' ' ')and all" >&2
		return 2
	done
	"$command"
}

main "$@"
