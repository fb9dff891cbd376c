/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection to mlccd: who our job is, and a ring that is handed over.
 *
 * link_attach() is for init and may wait, 200 ms in all.  Everything else never does: it runs at the
 * edges of phases, on NCCL's threads, under the edge lock of phase.c, as does link_attach().
 *
 *	        attach, or           reply              closed by mlccd
 *	DOWN ------------------> ASKED -----> UP ------------------------+
 *	  ^     at most every 2 s   |                                    |
 *	  +-------------------------+------------------------------------+
 *
 * Each process of a job announces its own part of a phase; mlccd makes one of them.  Only one on a
 * host waits for the slot of a plan, the first whose job is about to send: the others wait for it in
 * the collective, and look every 2 s whether it has gone.
 */
#ifndef MLCC_NCCL_LINK_H
#define MLCC_NCCL_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "settings.h"

struct mlcc_ring;

/* Whether phases are told, now or as soon as there is an mlccd again. */
bool link_attached(void);

/* 0, or a negative error number after one line in the log. */
int link_attach(const struct settings *s);

/* What a phase that begins is a good time for. */
void link_edge(uint64_t now_ns);

void link_start(uint64_t bytes, uint64_t now_ns);
void link_end(uint64_t now_ns);

/* The ring, if mlccd is there and it is we who wait: it shows the job's plan.  NULL: none does. */
struct mlcc_ring *link_plan(void);

/* Once after some of these. */
void link_wake(void);

#endif /* MLCC_NCCL_LINK_H */
