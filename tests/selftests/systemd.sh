#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mlccd under systemd, as it is installed: activation, readiness, reload, restart, and what its
# hardening has to let it do. systemd runs as process 1 of a namespace and takes over the control
# groups, so this is for virtual machines: `tests/vm/vm run 6.12 -- tests/selftests/systemd.sh`.

# shellcheck disable=SC2154,SC2317  # main calls the cases by name; setup_* set variables by name

# shellcheck source=tests/selftests/common.sh
. "$(dirname "$0")/common.sh"

systemd=/lib/systemd/systemd
conf=/etc/mlcc/mlccd.conf

# In the namespaces of the init that is under test.
inside()
{
	nsenter --target "$init" --mount --pid "$@"
}

systemctl()
{
	inside systemctl "$@"
}

ctl()
{
	inside mlcc-ctl "$@"
}

install_mlccd()
{
	make -s -C "$repo" install-mlccd install-mlcc-ctl PREFIX=/usr/local >"$out/install" 2>&1 ||
		{ cat "$out/install"; return 1; }
}

# What systemd knows: what mlccd's units need of its own, and what has been installed.
choose_units()
{
	local own=/lib/systemd/system

	mkdir -p "$out/units/sysinit.target.wants" &&
		ln -s "$own/systemd-journald.service" "$out/units/sysinit.target.wants" &&
		cp "$own"/{sysinit,basic,sockets,shutdown}.target "$own/systemd-journald.service" \
			"$own"/systemd-journald{,-dev-log}.socket "$out/units"
}

# Its own /run: the journal and the sockets of the test are nobody else's.
start_systemd()
{
	choose_units || return
	# shellcheck disable=SC2016  # the inner shell expands it
	unshare --pid --mount --fork --kill-child --mount-proc sh -c '
		mount -t tmpfs -o mode=755 tmpfs /run &&
		exec env -i container=mlcc PATH="$PATH" \
			SYSTEMD_UNIT_PATH="$2:/usr/local/lib/systemd/system" \
			"$1" --system --unit=basic.target --log-target=kmsg --show-status=no' \
		sh "$systemd" "$out/units" >"$out/systemd" 2>&1 {carrier_lock}>&- &
	unshare=$!
	defer stop "$unshare"
	if ! slowwait - find_init || ! find_init || ! slowwait - is_up; then
		cat "$out/systemd"
		dmesg | tail -n 40
		return 1
	fi
}

# Process 1 of the namespace; empty as long as there is none.
find_init()
{
	init=$(<"/proc/$unshare/task/$unshare/children")
	init=${init% }
	[ -n "$init" ]
}

is_up()
{
	[[ $(systemctl is-system-running 2>/dev/null) == @(running|degraded|starting) ]] &&
		systemctl -q is-active basic.target
}

state_is()
{
	prints "$1" systemctl show -P ActiveState -P SubState mlccd.service
}

main_pid()
{
	systemctl show -P MainPID "${1:-mlccd.service}"
}

the_first_request_starts_it()
{
	systemctl start mlccd.socket && state_is $'inactive\ndead' || return
	# on a busy host it takes longer than mlcc-ctl waits
	slowwait - ctl status || { inside journalctl -q --no-pager | tail -n 30; return 1; }
	# active only comes after READY=1
	state_is $'active\nrunning'
}

it_has_carrier_and_tagger()
{
	ctl -j status | json '[d["carrier"], d["tagger"]]' | tee "$out/status"
	grep -q "'module', True" "$out/status"
}

# Nor may what it starts go to a keeper of its own.
who_reads_requests_has_no_rights()
{
	local said

	said=$(inside cat "/proc/$(main_pid)/status" |
		awk '/^(Uid|CapBnd|Seccomp):/ { print $2 }' | paste -sd ' ')
	echo "uid, capabilities, filter: $said"
	[[ $said == [1-9]*" 0000000000000000 2" ]] &&
		[ "$(inside stat -c '%U %G %a' /run/mlcc /run/mlcc/keeper.sock /run/mlcc/metrics.sock |
			paste -sd ' ')" = "root root 755 root mlcc 660 root root 660" ]
}

# A connection that is there before what makes a job of it: prints its algorithm, and whether it has
# a mark, after the command in its arguments.
connection='
import socket, subprocess, sys
l = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(l.getsockname())
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
cc = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
print(cc.rstrip(b"\0").decode(), s.getsockopt(socket.SOL_SOCKET, 36) > 0)
'

sockets_of_a_job_are_tagged()
{
	local said

	said=$(ctl run --strict --skip none --name run -- "$python" -c "$connection" true)
	[ "$said" = "mlcc True" ] || { echo "said: $said"; return 1; }
	prints "[]" ctl -j show
}

sockets_that_are_there_are_tagged()
{
	local said

	mkdir "$cgroups/there" || return
	# shellcheck disable=SC2016  # the inner shell expands it
	said=$(inside sh -c 'echo 0 >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroups/there" \
		"$python" -c "$connection" mlcc-ctl set-job --skip none --cgroup there --name there)
	[ "$said" = "mlcc True" ] || { echo "said: $said"; return 1; }
}

limit()
{
	ctl -j status | json 'd["limits"]["jobs_per_user"]'
}

reload_reads_the_configuration()
{
	local pid

	pid=$(main_pid)
	sed -i 's/^jobs-per-user = .*/jobs-per-user = 5/' "$conf" || return
	systemctl reload mlccd.service || return
	slowwait - prints 5 limit && state_is $'active\nrunning' && [ "$(main_pid)" = "$pid" ]
}

is_back()
{
	[ "$(main_pid)" -gt 0 ] && [ "$(main_pid)" != "$1" ] &&
		[ "$(main_pid mlccd-keeper.service)" != "$2" ] && state_is $'active\nrunning'
}

jobs()
{
	ctl -j show | json '[(j["id"], j["name"], j["cgroup"]) for j in d]'
}

# With either the other ends, and both are back.
jobs_survive_kill_9()
{
	local pid keeper before

	pid=$(main_pid) keeper=$(main_pid mlccd-keeper.service) before=$(jobs)
	[[ $before == *there* ]] || { echo "before: $before"; return 1; }
	systemctl kill --kill-whom=main --signal=KILL "$1" || return
	slowwait - is_back "$pid" "$keeper" >"$out/back" || { cat "$out/back"; return 1; }
	prints "$before" jobs
}

jobs_end_with_their_cgroups()
{
	rmdir "$cgroups/there" && slowwait - prints "[]" ctl -j show
}

# What it was refused, it complains of.
it_has_complained_of_nothing()
{
	inside journalctl -q -u mlccd.service -o cat | grep -q 'ready: ' ||
		{ inside journalctl --no-pager; return 1; }
	! inside journalctl -q -u 'mlccd*' -p warning -o cat | grep -v -e 'status=9/KILL' \
		-e 'status=2/INVALIDARGUMENT' -e "Failed with result '"
}

stop_takes_its_sockets_away()
{
	systemctl stop mlccd.service mlccd.socket &&
		[ "$(inside ls /run/mlcc)" = $'jobs\nsocket' ] && [ "$(main_pid mlccd-keeper.service)" = 0 ]
}

main()
{
	ktap_start
	require_guest make unshare nsenter setpriv systemctl journalctl
	[ -x "$systemd" ] || ktap_skip_all "systemd is not installed"
	require_cgroup2
	setup_out
	require_free_carrier
	modprobe tcp_mlcc && defer slowwait - rmmod tcp_mlcc || exit 1
	install_mlccd && start_systemd || exit 1
	each ktap_check the_first_request_starts_it it_has_carrier_and_tagger \
		who_reads_requests_has_no_rights sockets_of_a_job_are_tagged \
		sockets_that_are_there_are_tagged reload_reads_the_configuration
	ktap_check "jobs survive kill -9, and it comes back" jobs_survive_kill_9 mlccd.service
	ktap_check "and that of its keeper" jobs_survive_kill_9 mlccd-keeper.service
	each ktap_check jobs_end_with_their_cgroups it_has_complained_of_nothing stop_takes_its_sockets_away
	ktap_finish
}

main
