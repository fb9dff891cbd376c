/* SPDX-License-Identifier: GPL-2.0 */
/* What an administrator has said of jobs, by network namespace and id. */
#ifndef MLCC_SETTINGS_H
#define MLCC_SETTINGS_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <net/net_namespace.h>

#include "mlcc.h"
#include "../include/mlcc/uapi/mlcc_netlink.h"

#define MLCC_PROFILE_NONE	MLCC_PROFILE_COUNT	/* no choice: the default profile */
#define MLCC_PENDING		BIT_ULL(63)		/* in "pending": there is something */

struct mlcc_setting {
	u64 phase_bytes;	/* hint, 0: learn */
	u64 net_cookie;		/* the namespace that it was set in */
	atomic64_t pending;	/* bytes of a phase announced before the first flow; else 0 */
	u32 profile;		/* enum mlcc_profile_id or MLCC_PROFILE_NONE */
	u32 class;		/* enum mlcc_class */
	u32 gen;		/* of "phase_bytes", see mlcc_job_hint_gen() */
	u32 id;
	char name[MLCC_JOB_NAME_MAX + 1];	/* "": none */
	struct hlist_node node;
	struct rcu_head rcu;
};

/* Writers hold it; it also puts what they do to the jobs into the order of their settings. */
extern struct mutex mlcc_settings_lock;

/* Setting of job @id in the namespace itself, or NULL; the caller is in an RCU read section. */
struct mlcc_setting *mlcc_setting_find(u64 cookie, u32 id);
/*
 * The setting that holds there for flows of @whose: its own, else the initial namespace's; for a
 * user's only the former, for those that root has given to a job of the host's only the latter.
 */
struct mlcc_setting *mlcc_setting_of(u64 cookie, u32 id, u32 whose);
/* The namespace's setting with the least id from *@id on; sets *@id. */
struct mlcc_setting *mlcc_setting_next(struct net *net, unsigned long *id);

int mlcc_setting_put(struct net *net, struct mlcc_setting *set, bool create);
struct mlcc_setting *mlcc_setting_take(struct net *net, u32 id);

int mlcc_settings_init(void);
void mlcc_settings_exit(void);

static inline bool mlcc_net_is_initial(u64 cookie)
{
	return cookie == init_net.net_cookie;
}

#endif /* MLCC_SETTINGS_H */
