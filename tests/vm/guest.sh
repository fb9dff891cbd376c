#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside of the guest, as the script that virtme-ng's init starts.
#
#   guest.sh DIR
#
# DIR is shared with the host. It holds `command` (arguments that end in NUL), `env` (shell
# assignments), `cwd` and `modules` (the directory that becomes /lib/modules/VERSION); `status` and
# `dmesg` are written into it. Output goes through two virtio
# ports, which are looked up in sysfs: their names in /dev come from udev, and not every host that
# lends its root file system has udev.

# A fork costs some 50 ms under emulation: what bash can do itself, it does.

readonly dir=$1

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

mount_once()
{
	local type=$1 where=$2

	[[ $mounts == *" $where $type "* ]] || mount -t "$type" "$type" "$where"
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
	local mounts

	mounts=$(</proc/mounts)
	mount_once cgroup2 /sys/fs/cgroup
	mount_once bpf /sys/fs/bpf
	mount_once debugfs /sys/kernel/debug
	mount_once tracefs /sys/kernel/tracing
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

run_command()
{
	local command

	mapfile -d '' -t command <"$dir/command"
	set -a
	# shellcheck disable=SC1091  # written by the host
	. "$dir/env"
	set +a
	cd "$(<"$dir/cwd")" || exit 125
	exec "${command[@]}"
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

main()
{
	local status

	setup_modules
	setup_mounts
	[ -e /sys/class/virtio-ports ] || modprobe virtio_console
	start_relays || return
	echo "mlcc-vm: the command starts" >/dev/kmsg
	(run_command) </dev/null >/run/mlcc.stdout 2>/run/mlcc.stderr
	status=$?
	finish_relays
	dmesg >"$dir/dmesg"
	# Last, and in one step: the host takes it for the sign that all went to the end.
	echo "$status" >"$dir/status.part" && mv "$dir/status.part" "$dir/status"
}

main
