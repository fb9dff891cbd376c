// SPDX-License-Identifier: GPL-2.0
/*
 * Events of the netlink family: sent to the namespace that the job was set in, and built only if
 * somebody listens there.  Phases roll over in softirq, so nothing waits here, and what there is no
 * memory for is lost.  A job has at most one start and one end a phase.
 */
#include <net/genetlink.h>

#include "event.h"
#include "netlink.h"
#include "trace.h"

#define MLCC_EVENT_SIZE	512

static struct sk_buff *mlcc_event_new(u8 cmd, void **head, struct nlattr **nest)
{
	struct sk_buff *skb = genlmsg_new(MLCC_EVENT_SIZE, GFP_ATOMIC | __GFP_NOWARN);

	if (!skb)
		return NULL;
	*head = genlmsg_put(skb, 0, 0, &mlcc_family, 0, cmd);
	*nest = *head ? nla_nest_start(skb, MLCC_ATTR_JOB) : NULL;
	if (*nest)
		return skb;
	nlmsg_free(skb);
	return NULL;
}

static void mlcc_event_send(struct net *net, struct sk_buff *skb, void *head, struct nlattr *nest,
			    int err)
{
	if (err) {
		nlmsg_free(skb);
		return;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, head);
	genlmsg_multicast_netns(&mlcc_family, net, skb, 0, MLCC_GROUP_EVENTS, GFP_ATOMIC);
}

static bool mlcc_event_wanted(struct net *net)
{
	return genl_has_listeners(&mlcc_family, net, MLCC_GROUP_EVENTS);
}

static int mlcc_put_start(struct sk_buff *skb, const struct mlcc_slot *s)
{
	const struct mlcc_job *j = &s->job;

	if (nla_put_u32(skb, MLCC_JOB_ID, s->id) ||
	    nla_put_u32(skb, MLCC_JOB_PHASES, READ_ONCE(j->seq)) ||
	    mlcc_put_u64(skb, MLCC_JOB_D_PHASE, READ_ONCE(j->d_phase)) ||
	    mlcc_put_u64(skb, MLCC_JOB_D_LEARNT, READ_ONCE(j->d_learnt)) ||
	    nla_put_u32(skb, MLCC_JOB_HITS, READ_ONCE(j->hits)))
		return -EMSGSIZE;
	return 0;
}

static int mlcc_put_end(struct sk_buff *skb, const struct mlcc_slot *s,
			const struct mlcc_phase_was *was)
{
	const struct mlcc_job *j = &s->job;
	u64 d_sent = READ_ONCE(j->start_acked) - was->start_acked;

	if (nla_put_u32(skb, MLCC_JOB_ID, s->id) ||
	    nla_put_u32(skb, MLCC_JOB_PHASES, was->seq) ||
	    mlcc_put_u64(skb, MLCC_JOB_D_SENT, d_sent) ||
	    mlcc_put_u64(skb, MLCC_JOB_D_LEARNT, READ_ONCE(j->d_learnt)) ||
	    nla_put_u32(skb, MLCC_JOB_COMM_US, READ_ONCE(j->comm_us)) ||
	    nla_put_u32(skb, MLCC_JOB_ITERATION_US, READ_ONCE(j->period_us)))
		return -EMSGSIZE;
	return 0;
}

/* @was: of the phase that ended; NULL: another one has begun. */
static void mlcc_event_phase(struct net *net, const struct mlcc_slot *s,
			     const struct mlcc_phase_was *was)
{
	struct nlattr *nest;
	struct sk_buff *skb;
	void *head;

	skb = mlcc_event_new(was ? MLCC_CMD_PHASE_END_NTF : MLCC_CMD_PHASE_START_NTF, &head,
			     &nest);
	if (skb)
		mlcc_event_send(net, skb, head, nest,
				was ? mlcc_put_end(skb, s, was) : mlcc_put_start(skb, s));
}

void mlcc_phase_begun(struct net *net, const struct mlcc_slot *s,
		      const struct mlcc_phase_was *was)
{
	const struct mlcc_setting *set;

	if (was->seq)
		trace_phase_end(s, was->seq, READ_ONCE(s->job.start_acked) - was->start_acked);
	trace_phase_start(s);

	/* a namespace whose settings can still be found has its sockets (settings.c) */
	rcu_read_lock();
	set = mlcc_setting_of(s->net_cookie, s->id, s->owner.whose);
	if (set && mlcc_net_is_initial(set->net_cookie))
		net = &init_net;
	if (set && mlcc_event_wanted(net)) {
		if (was->seq)
			mlcc_event_phase(net, s, was);
		mlcc_event_phase(net, s, NULL);
	}
	rcu_read_unlock();
}

void mlcc_event_job(struct net *net, u8 cmd, const struct mlcc_setting *set)
{
	struct nlattr *nest;
	struct sk_buff *skb;
	void *head;
	int err;

	if (!mlcc_event_wanted(net))
		return;
	skb = mlcc_event_new(cmd, &head, &nest);
	if (!skb)
		return;
	rcu_read_lock();
	err = cmd == MLCC_CMD_JOB_DEL_NTF ? mlcc_put_name(skb, set) : mlcc_put_job(skb, set);
	rcu_read_unlock();
	mlcc_event_send(net, skb, head, nest, err);
}
