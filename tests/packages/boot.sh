#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# boot.sh ROOT COMMAND...: starts systemd in a root file system, as a machine of its own would, with a
# part of the host's cgroups; runs the command there as a service, prints what it prints, and ends
# with its status (tests/bare --packages). The kernel and the network are the host's.

set -eu

root=$1
shift
cat >"$root/etc/systemd/system/boot-test.service" <<END
[Unit]
After=multi-user.target
SuccessAction=exit
FailureAction=exit
FailureActionExitStatus=1
[Service]
Type=oneshot
ExecStart=$*
StandardOutput=append:/run/said
StandardError=append:/run/said
[Install]
WantedBy=multi-user.target
END
wanted=$root/etc/systemd/system/multi-user.target.wants
mkdir -p "$wanted"
ln -sf ../boot-test.service "$wanted"

cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
ours=$(mktemp -d "$cgroups/boot-test.XXXXXX")
chmod 755 "$ours"
# shellcheck disable=SC2317  # the trap calls it
leave()
{
	echo 0 >"$cgroups/cgroup.procs"
	find "$ours" -depth -type d -exec rmdir {} +
}
trap leave EXIT
echo 0 >"$ours/cgroup.procs"

mount -t tmpfs -o mode=755 tmpfs "$root/run"
: >"$root/run/said"
status=0
# shellcheck disable=SC2016  # the inner shell expands it
unshare --pid --mount --cgroup --uts --ipc --fork --kill-child sh -euc '
	cd "$1"
	mount --rbind . .
	cd "$1"
	mount -t proc proc proc
	mount -t sysfs sysfs sys
	mount -t cgroup2 cgroup2 sys/fs/cgroup
	mount --rbind /dev dev
	pivot_root . .
	umount --lazy .
	exec env -i container=mlcc PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		/lib/systemd/systemd --system --unit=multi-user.target \
		--log-target=null --show-status=no
' sh "$root" </dev/null >/dev/null 2>&1 || status=$?
cat "$root/run/said"
exit "$status"
