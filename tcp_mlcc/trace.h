/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: mlcc:phase_start and mlcc:phase_end once a phase of a job, mlcc:gain_change when the
 * progress of a flow enters another sixteenth.  Progress and gains are Q16, 65536 is 1.0; printed
 * as decimal fractions.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mlcc

#if !defined(MLCC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MLCC_TRACE_H

#include <linux/tracepoint.h>
#include <net/inet_sock.h>

#include "slot.h"

TRACE_EVENT(phase_start,
	    TP_PROTO(const struct mlcc_slot *s),
	    TP_ARGS(s),
	    TP_STRUCT__entry(__field(u32, netns)
			     __field(u32, job)
			     __field(u32, seq)
			     __field(u32, hits)
			     __field(u64, d_phase)),
	    TP_fast_assign(__entry->netns = s->netns;
			   __entry->job = s->id;
			   __entry->seq = READ_ONCE(s->job.seq);
			   __entry->hits = READ_ONCE(s->job.hits);
			   __entry->d_phase = READ_ONCE(s->job.d_phase);),
	    TP_printk("netns=%u job=%u phase=%u d_phase=%llu hits=%u",
		      __entry->netns, __entry->job, __entry->seq, __entry->d_phase,
		      __entry->hits));

TRACE_EVENT(phase_end,
	    TP_PROTO(const struct mlcc_slot *s, u32 seq, u64 d_sent),
	    TP_ARGS(s, seq, d_sent),
	    TP_STRUCT__entry(__field(u32, netns)
			     __field(u32, job)
			     __field(u32, seq)
			     __field(u32, comm_us)
			     __field(u32, gap_us)
			     __field(u32, iteration_us)
			     __field(u64, d_sent)
			     __field(u64, d_learnt)),
	    TP_fast_assign(__entry->netns = s->netns;
			   __entry->job = s->id;
			   __entry->seq = seq;
			   __entry->comm_us = READ_ONCE(s->job.comm_us);
			   __entry->gap_us = READ_ONCE(s->job.gap_us);
			   __entry->iteration_us = READ_ONCE(s->job.period_us);
			   __entry->d_sent = d_sent;
			   __entry->d_learnt = READ_ONCE(s->job.d_learnt);),
	    TP_printk("netns=%u job=%u phase=%u d_sent=%llu d_learnt=%llu comm_us=%u gap_us=%u iteration_us=%u",
		      __entry->netns, __entry->job, __entry->seq, __entry->d_sent,
		      __entry->d_learnt, __entry->comm_us, __entry->gap_us, __entry->iteration_us));

TRACE_EVENT(gain_change,
	    TP_PROTO(const struct sock *sk, const struct mlcc_slot *s, u32 p, u32 grow, u32 yield),
	    TP_ARGS(sk, s, p, grow, yield),
	    TP_STRUCT__entry(__field(const void *, skaddr)
			     __field(u32, netns)
			     __field(u32, job)
			     __field(u16, sport)
			     __field(u16, dport)
			     __field(bool, neutral)
			     __field(u32, p)
			     __field(u32, grow)
			     __field(u32, yield)
			     __field(u32, cwnd)),
	    TP_fast_assign(__entry->skaddr = sk;
			   __entry->netns = s->netns;
			   __entry->job = s->id;
			   __entry->sport = inet_sk(sk)->inet_num;
			   __entry->dport = ntohs(inet_sk(sk)->inet_dport);
			   __entry->neutral = p == MLCC_NEUTRAL;
			   __entry->p = p == MLCC_NEUTRAL ? 0 : p;
			   __entry->grow = grow;
			   __entry->yield = yield;
			   __entry->cwnd = tcp_snd_cwnd(tcp_sk(sk));),
	    TP_printk("netns=%u job=%u sport=%u dport=%u neutral=%d p=%u.%03u grow=%u.%03u yield=%u.%03u cwnd=%u",
		      __entry->netns, __entry->job, __entry->sport, __entry->dport,
		      __entry->neutral,
		      MLCC_WHOLE(__entry->p), MLCC_MILLI(__entry->p),
		      MLCC_WHOLE(__entry->grow), MLCC_MILLI(__entry->grow),
		      MLCC_WHOLE(__entry->yield), MLCC_MILLI(__entry->yield), __entry->cwnd));

#endif /* MLCC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
