/* SPDX-License-Identifier: GPL-2.0 */
/* The jobs that have open flows on this host. */
#ifndef MLCC_JOB_H
#define MLCC_JOB_H

#include <net/net_namespace.h>

#include "slot.h"

u32 mlcc_mark_mask(void);
void mlcc_mark_set_mask(u32 mask);
u32 mlcc_mark_id(const struct sock *sk);

/* A flow's reference.  @tagged: root has given it to the job, whoever owns the namespace. */
struct mlcc_slot *mlcc_slot_get(struct net *net, u32 id, bool tagged);
void mlcc_slot_put(struct mlcc_slot *s);
void mlcc_slot_refresh(struct mlcc_slot *s, struct net *net);
/* Takes over the class alone, at once; returns whether a setting holds for the job. */
bool mlcc_slot_classify(struct mlcc_slot *s);

/*
 * Slot after @s of those that go by what namespace @cookie says of job @id, which is set or
 * was.  With a reference; @s loses its own.  Begin with NULL; at the end comes NULL.
 */
struct mlcc_slot *mlcc_slot_next(struct mlcc_slot *s, u64 cookie, u32 id);

/* The one of these slots that was active last, or NULL; the caller is in an RCU read section. */
const struct mlcc_slot *mlcc_slots_sum(u64 cookie, u32 id, struct mlcc_totals *t);

void mlcc_slots_check_empty(void);

#endif /* MLCC_JOB_H */
