# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # names of here are used there, and of there here
# mlccd as a test runs it, never with the operator's configuration. Who includes this has included
# common.sh.

config=/nonexistent

# One for tests whose jobs talk over the loopback.
keep_loopback()
{
	config=$out/mlccd.conf
	printf '[jobs]\nskip = none\n' >"$config"
}

ctl()
{
	"$repo/build/userspace/mlcc-ctl/mlcc-ctl" --socket "$out/run/mlccd.sock" "$@"
}

# One that launchers find first on a search path.
install_ctl()
{
	mkdir "$out/bin" && printf '#!/bin/sh\nexec %s --socket %s "$@"\n' \
		"$repo/build/userspace/mlcc-ctl/mlcc-ctl" "$out/run/mlccd.sock" >"$out/bin/mlcc-ctl" &&
		chmod +x "$out/bin/mlcc-ctl"
}

# What a process finds out of a connection of its own: the DSCP of its SYN, and of the rest, and the
# class that its job is shown with.
wire='
import json, socket, subprocess
packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
packets.bind(("lo", 0x0800))
packets.settimeout(10)
l = socket.create_server(("127.0.0.1", 0))
a = socket.create_connection(l.getsockname())
while True:
    packet = packets.recv(2048)
    tcp = packet[4 * (packet[0] & 15):]
    if packet[9] == 6 and tcp[13] & 18 == 2 and tcp[2:4] == l.getsockname()[1].to_bytes(2, "big"):
        break
shown = subprocess.run(["mlcc-ctl", "-j", "show", "--self"], capture_output=True, text=True)
print(packet[1] >> 2, a.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) >> 2,
      "none" if shown.returncode else json.loads(shown.stdout)[0]["class"])
'

# Not a function in the background: $! would be a shell around mlccd.
start_daemon()
{
	"$mlccd" --config "$config" --run-dir "$out/run" 2>>"$out/log" {carrier_lock}>&- &
	daemon=$!
	slowwait - ctl status >/dev/null 2>&1 || { cat "$out/log"; return 1; }
}

unload_mlccd()
{
	"$mlccd" --config /nonexistent --run-dir "$out/run" --unload
}
