#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# three.sh TREE [prepare]: what Documentation/install.md calls three commands, on a machine that has booted
# and has nothing of mlcc, with the package beside TREE (tests/bare --packages).  What has to be
# there before it boots is made so by "prepare": nothing else, and what apt would download.

set -eu
export DEBIAN_FRONTEND=noninteractive HOME=/root

cd "$1/.."
if [ $# -gt 1 ]; then
	apt-get -qq autoremove --purge >/dev/null
	apt-get -qq install --no-install-recommends systemd-sysv python3-minimal iproute2 >/dev/null
	apt-get -qq install --no-install-recommends --download-only ./mlcc_*.deb
	exit
fi
began=$(date +%s)
apt-get -qq install --no-install-recommends ./mlcc_*.deb >/dev/null
mlcc-ctl doctor --fix
said=$(mlcc-ctl run --strict --skip none --name first -- python3 -c '
import socket
import subprocess

listener = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listener.getsockname())
subprocess.run(["ss", "-tiH", "dport", str(listener.getsockname()[1])], check=True)
')
echo "$said"
case $said in
*" mlcc "*) ;;
*) echo "the command's connection is without mlcc"; exit 1 ;;
esac
echo "three commands took $(($(date +%s) - began)) s"
[ "$(systemctl is-enabled mlccd.socket)" = disabled ] || { echo "the next boot is another"; exit 1; }
for _ in $(seq 100); do [ "$(mlcc-ctl -j show)" != "[]" ] || break; sleep 0.1; done
[ "$(mlcc-ctl -j show)" = "[]" ] || { echo "the job has not ended with its command"; exit 1; }

# and back, with the daemon running
apt-get -qq purge mlcc >/dev/null
systemctl is-active mlccd.service && { echo "purging has left the daemon"; exit 1; }
! grep -qw mlcc /proc/sys/net/ipv4/tcp_available_congestion_control
