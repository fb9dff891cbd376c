/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the BPF programs read of the kernel's types: names, not layouts.  Where a field lies, libbpf
 * finds out when it loads them (CO-RE), so the build needs nothing of any kernel.  Bits are an exception:
 * the compiler takes their places as they are here, unless BPF_CORE_READ_BITFIELD() reads them.
 */
#ifndef MLCC_BPF_KERNEL_H
#define MLCC_BPF_KERNEL_H

#include <linux/bpf.h>

#include "../include/mlcc/types.h"

/* macros are not in BTF */
#define AF_INET6		10
#define TCP_CONGESTION		13
#define MLCC_ECN_MODE		0x11	/* TCP_ECN_OK or MODE_RFC3168, and MODE_ACCECN */

enum {
	IPPROTO_IP	= 0,
	IPPROTO_TCP	= 6,
	IPPROTO_IPV6	= 41,
};

/* sock_common.skc_state */
enum {
	TCP_SYN_SENT	= 2,
	TCP_SYN_RECV	= 3,
	TCP_CLOSE	= 7,
	TCP_LISTEN	= 10,
};

/* inet_connection_sock.icsk_ca_state */
enum tcp_ca_state {
	TCP_CA_Open,
	TCP_CA_Disorder,
	TCP_CA_CWR,
	TCP_CA_Recovery,
	TCP_CA_Loss,
};

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

/* inet_connection_sock.icsk_ack.pending */
enum {
	ICSK_ACK_TIMER	= 2,
	ICSK_ACK_NOW	= 16,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct user_namespace {
	struct user_namespace *parent;
	int level;
	struct {
		u32 val;
	} owner;
};

struct net {
	u64 net_cookie;
	struct {
		u32 inum;
	} ns;
	struct user_namespace *user_ns;
	struct ucounts *ucounts;
	struct {
		u8 sysctl_tcp_min_tso_segs;
	} ipv4;
};

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct {
		struct net *net;
	} skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct kernfs_node {
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[0];
};

struct sock {
	struct sock_common __sk_common;
	u32 sk_priority;
	u32 sk_mark;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	struct {
		struct cgroup *cgroup;
	} sk_cgrp_data;
};

struct ipv6_pinfo {
	u8 tclass;
};

struct inet_sock {
	struct ipv6_pinfo *pinet6;
	u8 tos;
};

/* libbpf goes by the members of tcp_congestion_ops that it is to fill in: that one is beside them */
struct tcp_congestion_ops___kernel {
	u32 flags;
	char name[16];
};

struct inet_connection_sock {
	const struct tcp_congestion_ops___kernel *icsk_ca_ops;
	u8 icsk_ca_state:5,
	   icsk_ca_initialized:1,
	   icsk_ca_setsockopt:1,
	   icsk_ca_dst_locked:1;
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
};

struct tcp_sock {
	u32 mss_cache;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 write_seq;
	u32 snd_una;
	u64 bytes_acked;
	u64 tcp_mstamp;
	u32 srtt_us;
	u32 packets_out;
	u32 max_packets_out;
	u32 snd_ssthresh;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 prior_cwnd;
	u32 delivered;
	u32 delivered_ce;
	u32 total_retrans;
	u8 is_cwnd_limited:1;
	u8 ecn_flags;
	u8 bpf_sock_ops_cb_flags;
	u8 tcp_usec_ts:1;	/* since Linux 6.7 */
	struct {
		u32 rcv_tsval;
		u16 saw_tstamp:1;
	} rx_opt;
	struct {
		u32 rtt_us;
	} rack;
	struct {
		struct {
			u32 v;
		} s[3];
	} rtt_min;
};

struct ack_sample {
	s32 rtt_us;
};

struct bpf_iter__tcp {
	struct sock_common *sk_common;
};

#pragma clang attribute pop

#endif /* MLCC_BPF_KERNEL_H */
