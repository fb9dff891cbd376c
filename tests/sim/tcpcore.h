/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mlcc's TCP core (include/mlcc/linux/tcp.h) behind a few calls, for C++: a third carrier beside
 * the module and the BPF program.  The caller keeps a socket's fields as the kernel has them, and
 * calls what the kernel would call; nothing is decided here.
 */
#ifndef MLCC_SIM_TCPCORE_H
#define MLCC_SIM_TCPCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../include/mlcc/path.h"
#include "../../include/mlcc/phase.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mlcc_profile;
struct sock;

/* A job on one host. */
struct mlcc_slot {
	struct mlcc_job job;
	struct mlcc_path paths[MLCC_PATHS];
	const struct mlcc_profile *profile;	/* NULL: it is of none */
};

/* A socket, with the kernel's names and units; windows are segments, times us. */
struct tcp_sock {
	uint32_t snd_cwnd, snd_ssthresh, prior_cwnd, snd_cwnd_clamp;
	uint32_t snd_una, snd_nxt, write_seq, rcv_nxt;
	uint32_t delivered, delivered_ce, total_retrans, packets_out, mss_cache;
	uint32_t srtt_us;			/* times 8 */
	uint32_t rate_delivered, rate_interval_us;
	uint64_t bytes_acked, tcp_mstamp;
	struct { uint32_t rcv_tsval; } rx_opt;
	uint8_t ecn_flags;

	/* elsewhere in the kernel */
	uint32_t min_rtt;
	bool limited;				/* by the window: there is more to send */
};

/* As the kernel's TCP_CA_*. */
enum { TCP_CORE_OPEN, TCP_CORE_DISORDER, TCP_CORE_CWR, TCP_CORE_RECOVERY, TCP_CORE_LOSS };

/* @job NULL: of none.  @ecn: was negotiated.  @peer: a number for the path, not 0 */
struct sock *tcp_core_new(struct mlcc_slot *job, bool ecn, uint32_t peer);
struct tcp_sock *tcp_core_sock(struct sock *sk);
void tcp_core_begin(struct sock *sk);		/* the socket's fields are there */

void tcp_core_acked(struct sock *sk, int32_t rtt_us);	/* pkts_acked */
void tcp_core_raise(struct sock *sk, uint32_t acked);	/* cong_avoid */
uint32_t tcp_core_reduced(struct sock *sk);			/* ssthresh */
void tcp_core_state(struct sock *sk, uint8_t state);		/* set_state */
void tcp_core_start(struct sock *sk);			/* CA_EVENT_TX_START */
uint64_t tcp_core_rate(const struct sock *sk);		/* sk_pacing_rate, bytes/s */
uint64_t tcp_core_pace(struct sock *sk);			/* min_tso_segs; the rate, 0: not paced */
void tcp_core_timeout(struct sock *sk);			/* CA_EVENT_LOSS */

#ifdef __cplusplus
}
#endif

#endif /* MLCC_SIM_TCPCORE_H */
