/* SPDX-License-Identifier: GPL-2.0 */
/* What is told to tracepoints and to the listeners of the netlink group, as it happens. */
#ifndef MLCC_EVENT_H
#define MLCC_EVENT_H

#include <net/net_namespace.h>

#include "settings.h"
#include "slot.h"

/* A job's phase before something that may end it. */
struct mlcc_phase_was {
	u64 start_acked;
	u32 seq;
};

static __always_inline void mlcc_phase_was(const struct mlcc_slot *s, struct mlcc_phase_was *was)
{
	was->start_acked = READ_ONCE(s->job.start_acked);
	was->seq = READ_ONCE(s->job.seq);
}

/* A phase of @s has begun, and the one before has ended.  @net: the job's, if it is known. */
void mlcc_phase_begun(struct net *net, const struct mlcc_slot *s,
		      const struct mlcc_phase_was *was);

/*
 * MLCC_CMD_JOB_SET_NTF, or _DEL_NTF.  The caller holds mlcc_settings_lock, so events come in the
 * order of what they tell.
 */
void mlcc_event_job(struct net *net, u8 cmd, const struct mlcc_setting *set);

#endif /* MLCC_EVENT_H */
