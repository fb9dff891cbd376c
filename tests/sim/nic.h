/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdma/dcqcn/ and the phase tracker behind a few calls, for C++, which their headers are not
 * written in.  Nothing is decided here: each call makes those that rdma/dcqcn/job.h lists.
 *
 *	nic_host	a job on one host: the progress that its flows there share
 *	mlcc_job	its tracker, or the leader's (tracker.h)
 *	nic_flow	a flow's reaction point, at the sender
 *	nic_np		a flow's notification point, at the receiver
 *	nic_group	a job on one host, as TMDML's notification points have it
 *
 * Rates are kb/s, sizes bytes; times are nanoseconds of the simulation and do not wrap.
 */
#ifndef MLCC_SIM_NIC_H
#define MLCC_SIM_NIC_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mlcc_job;
struct mlcc_profile;
struct nic_host;
struct nic_flow;
struct nic_np;
struct nic_group;

struct nic_setup {
	int variant;			/* of DCQCN */
	const struct mlcc_profile *profile;	/* NULL: plain DCQCN */
	uint32_t line_kbps;		/* the port's rate */
	uint32_t time_ns;		/* T; 0: the variant's */
};

/* One of MLCC_RP_VARIANT_NAMES. */
int nic_variant(const char *name);

/* @leader NULL: the host goes by its own progress; else by what it is told (lead.h). */
struct nic_host *nic_host_new(struct mlcc_job *leader);
struct mlcc_job *nic_host_tracker(struct nic_host *host);

/* Each tick: what the leader has answered in the last one arrives, and what the host has sent. */
void nic_host_report(struct nic_host *host, uint64_t now);
/* After all have reported. */
void nic_host_answer(struct nic_host *host, uint64_t now);

/* @host NULL: plain DCQCN, or a flow of no job. */
struct nic_flow *nic_flow_new(const struct nic_setup *setup, struct nic_host *host, uint64_t now);

/* The flow begins to send with nothing in flight.  @rtt: ns, of an empty network */
void nic_start(struct nic_flow *f, uint64_t now, uint64_t rtt);

/* A packet of @wire bytes leaves, @fresh bytes of which are sent for the first time. */
uint32_t nic_sent(struct nic_flow *f, uint64_t now, uint32_t wire, uint32_t fresh);

/* A CNP has come.  Both return the flow's rate. */
uint32_t nic_cnp(struct nic_flow *f, uint64_t now);

uint32_t nic_rate(const struct nic_flow *f);

/* The same with the increases that have become due by now. */
uint32_t nic_increased(struct nic_flow *f, uint64_t now);

/* T: how often the rate may rise by itself, ns. */
uint32_t nic_period(const struct nic_flow *f);

struct nic_group *nic_group_new(void);

/* @group NULL: plain DCQCN's. */
struct nic_np *nic_np_new(const struct nic_setup *setup, struct nic_group *group);

/* A packet has come with @payload bytes. */
void nic_arrived(struct nic_np *np, uint64_t now, uint32_t payload);

/* ... and was marked; returns whether it is to be answered with a CNP. */
bool nic_marked(struct nic_np *np, uint64_t now);

#ifdef __cplusplus
}
#endif

#endif /* MLCC_SIM_NIC_H */
