#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside of the guest, as the script that virtme-ng's init starts.
#
#   guest.sh DIR
#
# DIR is shared with the host. It holds `command`, a shell script, and `modules`, the directory that
# becomes /lib/modules/VERSION; `status` and `kmsg` are written into it. Output goes through two virtio
# ports, which are looked up in sysfs: their names in /dev come from udev, and not every host that
# lends its root file system has udev.

# A fork costs some 50 ms under emulation: what bash can do itself, it does.

readonly dir=$1 debugfs=/sys/kernel/debug

find_port()
{
	local port name

	for port in /sys/class/virtio-ports/*; do
		if read -r name 2>/dev/null <"$port/name" && [ "$name" = "$1" ]; then
			found_port=/dev/${port##*/}
			return 0
		fi
	done
	return 1
}

wait_for_port()
{
	local tries

	for ((tries = 0; tries < 100; tries++)); do
		find_port "$1" && return 0
		sleep 0.1
	done
	echo "guest.sh: no virtio port $1" >/dev/kmsg
	return 1
}

# /lib/modules is a tmpfs that virtme-ng's init mounted, with one link in it.
setup_modules()
{
	local modules

	modules=$(<"$dir/modules")
	ln -sfn "$modules" "/lib/modules/${modules##*/}"
}

setup_mounts()
{
	# virtme-ng's init has mounted what else there is
	mount -t bpf bpf /sys/fs/bpf
	# Without udev they lead to a virtio port, which can be opened only once.
	ln -sfn /proc/self/fd/1 /dev/stdout
	ln -sfn /proc/self/fd/2 /dev/stderr
}

# The command writes into pipes, so that it may open /dev/stdout again and again.
start_relays()
{
	local name

	relays=()
	mkfifo /run/mlcc.stdout /run/mlcc.stderr
	for name in stdout stderr; do
		wait_for_port "mlcc.$name" || return 1
		cat "/run/mlcc.$name" >"$found_port" &
		relays+=($!)
	done
}

# A daemon that the command left behind keeps the pipes open: do not wait for it for ever.
finish_relays()
{
	local tries

	for ((tries = 0; tries < 50; tries++)); do
		kill -0 "${relays[@]}" 2>/dev/null || return 0
		sleep 0.1
	done
}

# Of a debug kernel (tests/vm/debug): what it does while it boots is not the command's.
start_checkers()
{
	[ ! -e "$debugfs/kcsan" ] || echo on >"$debugfs/kcsan"
}

# Objects younger than five seconds are no leaks yet, nor are those that have changed since the last
# scan.
finish_kmemleak()
{
	local line

	sleep 6
	{ echo scan && echo scan; } >"$debugfs/kmemleak" || echo "BUG: kmemleak is off" >/dev/kmsg
	while IFS= read -r line; do
		echo "$line" >/dev/kmsg
	done <"$debugfs/kmemleak"
}

# A checker that has turned itself off would be content with everything.
finish_checkers()
{
	local said

	[ ! -e "$debugfs/kmemleak" ] || finish_kmemleak
	if [ -e /proc/lockdep_stats ]; then
		said=$(</proc/lockdep_stats)
		[[ $said =~ debug_locks:\ +1 ]] || echo "BUG: lockdep is off" >/dev/kmsg
	fi
	if [ -e "$debugfs/kcsan" ]; then
		said=$(<"$debugfs/kcsan")
		echo "mlcc-vm: kcsan: ${said//$'\n'/, }" >/dev/kmsg
		[[ $said == *"enabled: 1"* ]] || echo "BUG: kcsan is off" >/dev/kmsg
	fi
}

# What a test has cleared, too: dmesg would leave it out.
save_log()
{
	dd if=/dev/kmsg iflag=nonblock bs=8k of=/run/mlcc.kmsg 2>/dev/null
	cat /run/mlcc.kmsg >"$dir/kmsg"
}

main()
{
	local status

	setup_modules
	setup_mounts
	[ -e /sys/class/virtio-ports ] || modprobe virtio_console
	start_relays || return
	start_checkers
	echo "mlcc-vm: the command starts" >/dev/kmsg
	# shellcheck disable=SC1091  # written by the host
	(. "$dir/command") </dev/null >/run/mlcc.stdout 2>/run/mlcc.stderr
	status=$?
	finish_relays
	finish_checkers
	save_log
	# Last, and in one step: the host takes it for the sign that all went to the end.
	echo "$status" >"$dir/status.part" && mv "$dir/status.part" "$dir/status"
}

main
