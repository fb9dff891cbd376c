// SPDX-License-Identifier: GPL-2.0
/* Attributes of a job, for replies and events. */
#include "job.h"
#include "netlink.h"
#include "profile.h"

int mlcc_put_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put_u64_64bit(skb, type, value, MLCC_JOB_PAD);
}

int mlcc_put_name(struct sk_buff *skb, const struct mlcc_setting *set)
{
	if (nla_put_u32(skb, MLCC_JOB_ID, set->id) ||
	    (*set->name && nla_put_string(skb, MLCC_JOB_NAME, set->name)))
		return -EMSGSIZE;
	return 0;
}

static int mlcc_put_totals(struct sk_buff *skb, const struct mlcc_totals *t)
{
	if (mlcc_put_u64(skb, MLCC_JOB_BYTES, t->bytes) ||
	    mlcc_put_u64(skb, MLCC_JOB_RETRANS, t->retrans) ||
	    mlcc_put_u64(skb, MLCC_JOB_CE, t->ce))
		return -EMSGSIZE;
	return 0;
}

/* Progress as the flows' last ACK found it, and the factor that goes with it. */
static int mlcc_put_progress(struct sk_buff *skb, const struct mlcc_slot *s, u64 d_sent)
{
	const struct mlcc_job *j = &s->job;
	u64 d_phase = READ_ONCE(j->d_phase);
	struct mlcc_profile pr;
	u32 p;

	if (!d_phase || d_sent > READ_ONCE(j->d_limit) ||
	    READ_ONCE(s->class) != MLCC_CLASS_TRAINING)
		return nla_put_u32(skb, MLCC_JOB_GAIN, MLCC_ONE);
	mlcc_profile_read(READ_ONCE(s->profile), &pr);
	p = mlcc_progress(d_sent, d_phase, READ_ONCE(j->recip));
	if (nla_put_u32(skb, MLCC_JOB_PROGRESS, p) ||
	    nla_put_u32(skb, MLCC_JOB_GAIN, mlcc_grow(&pr, p)))
		return -EMSGSIZE;
	return 0;
}

static int mlcc_put_learnt(struct sk_buff *skb, const struct mlcc_job *j)
{
	if (mlcc_put_u64(skb, MLCC_JOB_D_LEARNT, READ_ONCE(j->d_learnt)) ||
	    nla_put_u32(skb, MLCC_JOB_HITS, READ_ONCE(j->hits)) ||
	    nla_put_u32(skb, MLCC_JOB_ITERATION_US, READ_ONCE(j->period_us)) ||
	    nla_put_u32(skb, MLCC_JOB_COMM_US, READ_ONCE(j->comm_us)) ||
	    nla_put_u32(skb, MLCC_JOB_BEST_US, READ_ONCE(j->best_us)))
		return -EMSGSIZE;
	return 0;
}

static int mlcc_put_slot(struct sk_buff *skb, const struct mlcc_slot *s)
{
	const struct mlcc_job *j = &s->job;
	u64 start = READ_ONCE(j->start_acked);
	u64 d_sent = READ_ONCE(j->acked) - start;

	if (nla_put_u32(skb, MLCC_JOB_PHASES, READ_ONCE(j->seq)) ||
	    mlcc_put_u64(skb, MLCC_JOB_D_SENT, d_sent) ||
	    mlcc_put_u64(skb, MLCC_JOB_D_PHASE, READ_ONCE(j->d_phase)) ||
	    mlcc_put_progress(skb, s, d_sent) ||
	    mlcc_put_learnt(skb, j) ||
	    (READ_ONCE(j->hint_state) && nla_put_flag(skb, MLCC_JOB_HINTED)))
		return -EMSGSIZE;
	return 0;
}

static int mlcc_put_conf(struct sk_buff *skb, const struct mlcc_setting *set)
{
	static const char *const classes[] = MLCC_CLASS_NAMES;

	if (mlcc_put_name(skb, set) ||
	    (set->profile < MLCC_PROFILE_COUNT &&
	     nla_put_string(skb, MLCC_JOB_PROFILE, mlcc_profile_names[set->profile])) ||
	    mlcc_put_u64(skb, MLCC_JOB_PHASE_BYTES, set->phase_bytes) ||
	    (set->class != MLCC_CLASS_TRAINING &&
	     nla_put_string(skb, MLCC_JOB_CLASS, classes[set->class])))
		return -EMSGSIZE;
	return 0;
}

/*
 * A job of the initial namespace may have flows in several: sums are over all of them, the phase is
 * that of the namespace that was active last.
 */
int mlcc_put_job(struct sk_buff *skb, const struct mlcc_setting *set)
{
	const struct mlcc_slot *s;
	struct mlcc_totals t;

	s = mlcc_slots_sum(set->net_cookie, set->id, &t);
	if (mlcc_put_conf(skb, set) || nla_put_u32(skb, MLCC_JOB_FLOWS, t.flows))
		return -EMSGSIZE;
	if (s && (mlcc_put_slot(skb, s) || mlcc_put_totals(skb, &t)))
		return -EMSGSIZE;
	return 0;
}
