#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compiles snippets against the kernel's headers and writes what works to a config header.
# Version numbers are not asked: distributions backport and patch.
#
# usage: probe.sh CONFIG_H CC [FLAGS...]
set -u

out=$1
shift
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# compiles CODE on top of net/tcp.h
try()
{
	code=$1
	shift
	printf '#include <net/tcp.h>\n%s\n' "$code" > "$tmp/probe.c"
	"$@" -Werror -fsyntax-only "$tmp/probe.c" 2> "$tmp/err"
}

# probe NAME MEANING CODE: defines NAME if CODE compiles
probe()
{
	name=$1
	meaning=$2
	code=$3
	shift 3
	if try "$code" "$@"; then
		printf '#define %s 1\t/* %s */\n' "$name" "$meaning"
	else
		printf '/* #undef %s: %s */\n' "$name" "$meaning"
	fi
}

# without this one every probe would answer no, and a broken set-up would look like an old kernel
if ! try 'struct tcp_congestion_ops mlcc_probe;' "$@"; then
	cat "$tmp/err" >&2
	echo "probe.sh: cannot compile against these kernel headers" >&2
	exit 1
fi

{
	echo '/* written by probe.sh */'
	probe MLCC_HAVE_CWND_EVENT_TX_START 'the start of a transmission has its own callback' \
		'struct tcp_congestion_ops mlcc_probe = { .cwnd_event_tx_start = (void *)0 };' "$@"
	probe MLCC_HAVE_SEND_ACK_FLAGS '__tcp_send_ack() takes TCP flags' \
		'void mlcc_probe(struct sock *sk);
		 void mlcc_probe(struct sock *sk) { __tcp_send_ack(sk, 0, 0); }' "$@"
	probe MLCC_HAVE_RESV_START_OP 'netlink families say from where on they are strict' \
		'#include <net/genetlink.h>
		 struct genl_family mlcc_probe = { .resv_start_op = 1 };' "$@"
	probe MLCC_HAVE_ECN_MODE 'AccECN: tcp_ecn_mode_any()' \
		'bool mlcc_probe(struct tcp_sock *tp);
		 bool mlcc_probe(struct tcp_sock *tp) { return tcp_ecn_mode_any(tp); }' "$@"
	probe MLCC_HAVE_SK_STORAGE 'BPF programs store values with sockets' \
		'#include <linux/bpf_local_storage.h>
		 const void *mlcc_probe(struct sock *sk, struct bpf_local_storage_elem *e);
		 const void *mlcc_probe(struct sock *sk, struct bpf_local_storage_elem *e)
		 { return sk->sk_bpf_storage->list.first == &e->snode && SDATA(e)->smap->map.name[0] ?
			  SDATA(e)->data : (void *)0; }' "$@"
	probe MLCC_HAVE_USEC_TS 'timestamps in microseconds' \
		'bool mlcc_probe(struct tcp_sock *tp);
		 bool mlcc_probe(struct tcp_sock *tp) { return tp->tcp_usec_ts; }' "$@"
} > "$tmp/config.h"
mv "$tmp/config.h" "$out"
