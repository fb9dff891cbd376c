# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # setup_ns and setup_out set variables by name; some are used by others
#
# What the selftests of the carriers share: a link, traffic over it, and the carrier as it is.
#
#   sender ── router ══ bottleneck: tbf ══ receiver
#   10.1.1.2  10.1.1.1         10.1.2.1    10.1.2.2
#
# The tests take turns with mlcc-lab: the carrier is one for the whole kernel.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
# shellcheck source=tests/selftests/lib/lib.sh
. "$here/lib/lib.sh"

cc=mlcc
burst=$repo/tests/lab/mlcc-burst
lab=$repo/tests/lab/mlcc-lab
mlccd=$repo/build/userspace/mlccd/mlccd
lock=/run/mlcc-lab.lock
pins=${MLCC_PIN_DIR:-/sys/fs/bpf/mlcc}

# Debian's matplotlib, and what else the lab may want, belongs to Debian's interpreter.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

# mlcc_lab ARGUMENTS...
mlcc_lab()
{
	"$python" "$lab" "$@"
}

# json EXPRESSION <FILE: a Python expression of d, the document, or of rows, a document a line.
json()
{
	"$python" -IS -c '
import json, sys
text = sys.stdin.read()
try:
    d = json.loads(text)
    rows = [d]
except ValueError:
    d = None
    rows = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
print(eval(sys.argv[1]))' "$1"
}

is_true()
{
	[ "$("$python" -IS -c "print(bool($1))")" = True ]
}

cc_available()
{
	[[ " $(</proc/sys/net/ipv4/tcp_available_congestion_control) " == *" $cc "* ]]
}

cc_gone()
{
	! cc_available
}

require_built()
{
	[ -x "$burst" ] || ktap_skip_all "tests/lab/mlcc-burst is not built: make"
}

# require_guest COMMANDS...: only where nothing is anybody's, the guest of tests/vm/vm, with mlccd
# and the module.
require_guest()
{
	require_root
	require_command modprobe "$@"
	[[ $(</proc/1/comm) == virtme* ]] ||
		ktap_skip_all "for a virtual machine: tests/vm/vm run KERNEL -- $0"
	[ -x "$mlccd" ] || ktap_skip_all "mlccd is not built: make"
	modinfo tcp_mlcc >/dev/null 2>&1 || ktap_skip_all "there is no tcp_mlcc for this kernel"
}

# An operator's carrier, or another test's, is not ours to take away.  The lock is root's alone:
# whoever may open it may keep us waiting.
require_free_carrier()
{
	(umask 077 && : >>"$lock") && chmod 600 "$lock" || exit 1
	exec {carrier_lock}>"$lock"
	flock "$carrier_lock"
	slowwait - cc_gone || ktap_skip_all "a carrier is loaded already, and not by this test"
}

### The link

# By default a link of 200 Mb/s. Emulation does nothing but forward packets at that, and a kernel with
# KASAN at less; where the clock counts, all this takes no time of the guest's.
link_mbit=200
if [ -n "${KSFT_MACHINE_SLOW-}" ] && [ -z "${MLCC_COUNTED-}" ]; then
	link_mbit=$((KSFT_MACHINE_SLOW > 1 ? 4 : 20))
fi

# setup_link LIMIT
setup_link()
{
	setup_ns sender router receiver &&
		setup_veth "$sender" eth0 "$router" left &&
		setup_veth "$router" right "$receiver" eth0 &&
		ip -n "$sender" addr add 10.1.1.2/24 dev eth0 &&
		ip -n "$router" addr add 10.1.1.1/24 dev left &&
		ip -n "$router" addr add 10.1.2.1/24 dev right &&
		ip -n "$receiver" addr add 10.1.2.2/24 dev eth0 &&
		ip -n "$sender" route add default via 10.1.1.1 &&
		ip -n "$receiver" route add default via 10.1.2.1 &&
		ip netns exec "$router" sysctl -qw net.ipv4.ip_forward=1 &&
		no_offloads "$sender" eth0 && no_offloads "$receiver" eth0 &&
		no_offloads "$router" left && no_offloads "$router" right &&
		tc -n "$router" qdisc add dev right root tbf rate "${link_mbit}mbit" burst 16kb limit "$1"
}

# So that the queue counts packets, not super-packets.
no_offloads()
{
	ip netns exec "$1" ethtool -K "$2" tso off gso off gro off >/dev/null 2>&1
}

### Traffic

# Everything that traffic writes lies in $out.
setup_out()
{
	out=$(mktemp -d) || return
	defer rm -r "$out"
}

# start NAME NAMESPACE ARGUMENTS...: mlcc-burst in the background; its output is $out/NAME.
start()
{
	local name=$1 namespace=$2
	shift 2

	ip netns exec "$namespace" "$burst" "$@" >"$out/$name" 2>"$out/$name.err" \
		{carrier_lock}>&- &
	printf -v "pid_$name" '%s' "$!"
	defer stop "$!"
}

stop()
{
	kill "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	return 0
}

# stop_named NAME: lets it write its last words first.
stop_named()
{
	local pid=pid_$1

	stop "${!pid}"
}

# is_listening PORT [NAMESPACE]
is_listening()
{
	[ -n "$(ip netns exec "${2-$receiver}" ss -Hltn "sport = :$1")" ]
}

# receive NAME PORT [ARGUMENTS...]
receive()
{
	local name=$1 port=$2
	shift 2

	start "$name" "$receiver" recv --listen "10.1.2.2:$port" --sample-ms 100 "$@"
	slowwait - is_listening "$port"
}

# received NAME: bytes so far; without Python, which is slow to start in emulation
received()
{
	local bytes

	bytes=$(sed -n 's/.*"received_bytes":\([0-9]*\).*}$/\1/p' "$out/$1" | sort -n | tail -n 1)
	echo "${bytes:-0}"
}

# has_received NAME BYTES
has_received()
{
	[ "$(received "$1")" -ge "$2" ]
}

# has_grown NAME FROM: by a megabyte
has_grown()
{
	has_received "$1" $(($2 + 1000000))
}

# both_received BYTES: mine and theirs, together
both_received()
{
	[ $(($(received mine) + $(received theirs))) -ge "$1" ]
}

# The congestion control of the connections to PORT, as the kernel names it.
cc_in_use()
{
	ip netns exec "$sender" ss -Htin "dport = :$1" | grep -ow -m 1 "$2"
}

### Results

# refused STATUS PATTERN COMMAND...: in one line that has the pattern
refused()
{
	local said status

	said=$("${@:3}" 2>&1)
	status=$?
	# shellcheck disable=SC2053  # a pattern
	[ "$status" -eq "$1" ] && [[ $said == *$2* && $said != *$'\n'* ]] && return
	echo "${*:3}: status $status, wanted $1 and '$2'; said: $said"
	return 1
}

# told NAME FUNCTION: one result from a function that starts traffic, so not in a subshell.
told()
{
	local status

	"$2" >"$out/said" 2>&1
	status=$?
	ktap_note "$(<"$out/said")"
	case $status in
	"$KSFT_PASS") ktap_ok "$1" ;;
	"$KSFT_SKIP") ktap_skip "$1" "$(tail -n 1 "$out/said")" ;;
	*) ktap_fail "$1" ;;
	esac
}
