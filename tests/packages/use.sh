#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# use.sh TREE: the packages beside TREE from their installation to their purge, with a connection that
# runs through all of it; in a root file system with nothing in it (tests/bare --packages).

set -eu
export DEBIAN_FRONTEND=noninteractive

fail()
{
	echo "$*"
	exit 1
}

# until COMMAND...: for a minute at most
until_it()
{
	for _ in $(seq 600); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	fail "never: $*"
}

carrier()
{
	grep -qw mlcc /proc/sys/net/ipv4/tcp_available_congestion_control
}

# what the connection has sent; it has not, if it is the same
moves()
{
	before=$(cat /tmp/sent)
	until_it sh -c "[ \$(cat /tmp/sent) -gt $before ]"
}

# after WHAT VERSION: nothing that runs was lost by it, and this is installed
after()
{
	moves
	carrier || fail "$1 has taken the carrier away"
	mlcc-ctl show | grep -q lasting || fail "$1 has lost a job"
	[ "$(dpkg-query -W -f '${Version}' mlcc)" = "$2" ] || fail "$1 is no $2"
}

cd "$1/.."
apt-get -qq update
# only what somebody names; all that is needed has to come by itself
apt-get -qq install --no-install-recommends ./mlcc_*.deb >/dev/null
for tool in mlccd mlcc-ctl mlcc-bpf mlcc-dcqcn; do
	"$tool" --help >/dev/null || fail "$tool does not run"
done
carrier && fail "installing has loaded a carrier"

mlcc-bpf load
mlccd &
daemon=$!
until_it mlcc-ctl status
mlcc-ctl run --strict --name first -- sh -c 'mlcc-ctl show --self' | grep -q "name *first" ||
	fail "a command was no job"

apt-get -qq install --no-install-recommends ./mlcc-plan_*.deb ./python3-mlcc_*.deb \
	./libnccl-profiler-mlcc_*.deb ./libnccl-net-mlcc_*.deb ./libmlcc-ibverbs_*.deb \
	./libmlcc-hint0_*.deb ./libmlcc-dev_*.deb >/dev/null
mlcc-plan --help >/dev/null
[ "$(mlcc-ctl run --paths 8 -- printenv NCCL_IBVERBS_LIB)" = libmlcc-ibverbs.so ] ||
	fail "libmlcc-ibverbs is not found"
dpkg -L mlcc | grep -q "/mlccd-rules.yml$" || fail "rules and dashboards are not in the package"
mlcc-ctl set-job --id 9 --name lasting --phase-bytes 1M >/dev/null
MLCC_JOB=9 python3 -c 'import mlcc_torch; assert mlcc_torch.Hints().linked is True'
python3 - <<'END' &
import os
import socket
import time

listener = socket.create_server(("127.0.0.1", 0))
sender = socket.socket()
sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"mlcc")
sender.connect(listener.getsockname())
receiver, _ = listener.accept()
sent = 0
while True:
    sender.sendall(bytes(1000))
    receiver.recv(1000, socket.MSG_WAITALL)
    sent += 1000
    with open("/tmp/sent.new", "w") as file:
        file.write(str(sent))
    os.rename("/tmp/sent.new", "/tmp/sent")
    time.sleep(0.01)
END
flow=$!
until_it test -s /tmp/sent

# the same programs under the next version, as dpkg sees an upgrade; and back, as after a bad one
next=$(mktemp -d)
for package in mlcc mlcc-plan python3-mlcc libnccl-profiler-mlcc libnccl-net-mlcc libmlcc-hint0 \
	libmlcc-ibverbs libmlcc-dev; do
	dpkg-deb --raw-extract ./"$package"_*.deb "$next/$package"
	sed -i 's/^Version: .*/&+next/; s/(= \([^)]*\))/(= \1+next)/' "$next/$package/DEBIAN/control"
	dpkg-deb --build "$next/$package" "$next/$package.deb" >/dev/null
done
version=$(dpkg-query -W -f '${Version}' mlcc)
apt-get -qq install --no-install-recommends "$next"/*.deb >/dev/null
after "an upgrade" "$version+next"
apt-get -qq install --allow-downgrades --no-install-recommends ./mlcc_*.deb >/dev/null
after "going back" "$version"
apt-get -qq install --reinstall --no-install-recommends ./mlcc_*.deb >/dev/null
after "installing again" "$version"

# a kernel's headers are enough for DKMS
apt-get -qq install --no-install-recommends ./mlcc-dkms_*.deb "linux-headers-$(dpkg --print-architecture)" \
	>/dev/null 2>&1
for build in /lib/modules/*/build; do
	kernel=${build#/lib/modules/}
	dkms install mlcc/0.1 -k "${kernel%/build}" >/tmp/dkms 2>&1 || { cat /tmp/dkms; exit 1; }
done
dkms status mlcc
[ -n "$(find /lib/modules -name 'tcp_mlcc.ko*')" ] || fail "no module was built"

# soft-RoCE, for the kernels that it is for; its source is 150 MB
for build in /lib/modules/6.12.*/build; do
	[ -e "$build" ] || continue
	kernel=${build#/lib/modules/}
	apt-get -qq install --no-install-recommends ./mlcc-rxe-dkms_*.deb linux-source-6.12 >/dev/null 2>&1
	dkms install mlcc-rxe/0.1 -k "${kernel%/build}" >/tmp/dkms 2>&1 || { cat /tmp/dkms; exit 1; }
	[ -n "$(find "${build%/build}/updates" -name 'rdma_rxe.ko*')" ] || fail "no rdma_rxe was built"
done

kill "$daemon"
wait "$daemon" || :
echo "# an administrator's line" >>/etc/mlcc/mlccd.conf
apt-get -qq remove mlcc mlcc-plan python3-mlcc >/dev/null
moves
carrier && fail "removing has left the carrier"
[ ! -e /sys/fs/bpf/mlcc ] || fail "pins are left"
grep -q "administrator" /etc/mlcc/mlccd.conf || fail "removing has taken the configuration"
apt-get -qq purge mlcc >/dev/null
[ ! -e /etc/mlcc ] || fail "purging has left the configuration"
moves
kill "$flow"
