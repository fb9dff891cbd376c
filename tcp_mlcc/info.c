// SPDX-License-Identifier: GPL-2.0
/*
 * What `ss -ti` shows of a flow.  The kernel offers three layouts, none of them ours:
 *
 *	flow of a job		bbr:(bw:…,mrtt:…,pacing_gain:G,cwnd_gain:P)
 *				bw	delivery rate as measured, mrtt: smallest round trip
 *				G	"grow" of the rule, not shared yet; 1 while neutral
 *				P	progress of the phase, 0..1; absent: 0 or neutral
 *				That factor paces nothing, and BBR is not at work.
 *	no job, with ECN	dctcp:(ce_state:…,alpha:…,ab_ecn:…,ab_tot:…), as DCTCP
 *	no job, no ECN		nothing, as Reno and CUBIC
 *
 * "ss" asks without the socket's lock, so the flow may be given to another algorithm meanwhile:
 * only numbers are read here, no pointer is followed.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>

#include "mlcc.h"
#include "profile.h"

#define MLCC_GAIN_SHIFT (MLCC_SHIFT - 8)	/* BBR's gains are Q8 */

static bool mlcc_wanted(u32 ext, int layout)
{
	return ext & (1 << (layout - 1) | 1 << (INET_DIAG_VEGASINFO - 1));
}

static u64 mlcc_delivery_rate(const struct tcp_sock *tp)
{
	u32 rate = READ_ONCE(tp->rate_delivered);
	u32 us = READ_ONCE(tp->rate_interval_us);

	return us ? div_u64((u64)rate * READ_ONCE(tp->mss_cache) * USEC_PER_SEC, us) : 0;
}

static u32 mlcc_gain(const struct mlcc_sk *ca, u32 p)
{
	u32 id = READ_ONCE(ca->profile);
	struct mlcc_profile pr;

	if (p > MLCC_ONE || id >= MLCC_PROFILE_COUNT)
		return MLCC_ONE;
	mlcc_profile_read(id, &pr);
	return mlcc_grow(&pr, p);
}

static size_t mlcc_info_job(const struct sock *sk, struct tcp_bbr_info *info)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct mlcc_sk *ca = mlcc_sk(sk);
	u32 p = READ_ONCE(ca->flow.p);
	u64 bw = mlcc_delivery_rate(tp);

	memset(info, 0, sizeof(*info));
	info->bbr_bw_lo = lower_32_bits(bw);
	info->bbr_bw_hi = upper_32_bits(bw);
	info->bbr_min_rtt = tcp_min_rtt(tp);
	info->bbr_pacing_gain = mlcc_gain(ca, p) >> MLCC_GAIN_SHIFT;
	info->bbr_cwnd_gain = p > MLCC_ONE ? 0 : p >> MLCC_GAIN_SHIFT;
	return sizeof(*info);
}

static size_t mlcc_info_ecn(const struct sock *sk, struct tcp_dctcp_info *info)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct mlcc_dctcp *d = &mlcc_sk(sk)->dctcp;
	u32 mss = READ_ONCE(tp->mss_cache);

	memset(info, 0, sizeof(*info));
	info->dctcp_enabled = 1;
	info->dctcp_ce_state = READ_ONCE(d->ce_state);
	info->dctcp_alpha = READ_ONCE(d->alpha) >> (MLCC_SHIFT - 10);	/* DCTCP's is Q10 */
	info->dctcp_ab_ecn = mss * (READ_ONCE(tp->delivered_ce) - READ_ONCE(d->delivered_ce));
	info->dctcp_ab_tot = mss * (READ_ONCE(tp->delivered) - READ_ONCE(d->delivered));
	return sizeof(*info);
}

size_t mlcc_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct mlcc_sk *ca = mlcc_sk(sk);

	if (READ_ONCE(ca->slot)) {
		if (!mlcc_wanted(ext, INET_DIAG_BBRINFO))
			return 0;
		*attr = INET_DIAG_BBRINFO;
		return mlcc_info_job(sk, &info->bbr);
	}
	if (!ca->ecn || !mlcc_wanted(ext, INET_DIAG_DCTCPINFO))
		return 0;
	*attr = INET_DIAG_DCTCPINFO;
	return mlcc_info_ecn(sk, &info->dctcp);
}
