/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What can be known of jobs that send by RDMA, from files alone:
 *
 *	soft-RoCE	<debugfs>/rxe/DEVICE/qps	QPs, their jobs, rates, CNPs (rdma/rxe)
 *	other NICs	FOLLOWED_DIR			what mlcc-dcqcn follow drives
 *	all		<sysfs>/class/infiniband	RoCE's counters of a port
 *
 * All paths are below the root that sysroot_set() has opened (common/sysroot.h).  What is not there
 * or makes no sense is left out.
 */
#ifndef MLCC_RDMA_H
#define MLCC_RDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic.h"

/*
 * What a running follow tells others: a file for each device, made anew once a second, gone at the
 * end.  After kill -9 it stays: one that has not been made anew for FOLLOWED_STALE_US is nobody's.
 *
 *	FOLLOWED_DIR/BACK END:DEVICE	{"version": 1, "updated_us": CLOCK_MONOTONIC, ...}
 */
#define FOLLOWED_DIR		"/run/mlcc/follow"
#define FOLLOWED_VERSION	1
#define FOLLOWED_EVERY_US	1000000
#define FOLLOWED_STALE_US	5000000
#define FOLLOWED_MAX		4096	/* bytes of a file */

#define RDMA_USES_MAX	4096
#define RDMA_PORTS_MAX	256

/* Of a port; vendors have different names for the same. */
enum rdma_counter {
	RDMA_ECN_MARKED,	/* packets that came with a mark */
	RDMA_CNP_SENT,
	RDMA_CNP_HANDLED,	/* by the reaction point */
	RDMA_CNP_IGNORED,
	RDMA_COUNTERS
};

struct rdma_port {
	char device[NAME_LEN], port[8];
	unsigned int there;	/* a bit for each counter */
	uint64_t count[RDMA_COUNTERS];
};

/* Open QPs of a job on a device. */
struct rdma_qps {
	uint32_t qps, paced;	/* paced: DCQCN is on */
	uint64_t sent, cnps;	/* of those that are open: bytes, CNPs handled */
	uint64_t rate, slowest;	/* kb/s, of those that are paced: sum, least */
};

/* A knob that follow drives; the strings are names, or "". */
struct rdma_follow {
	char backend[NAME_LEN], device[NAME_LEN], knob[NAME_LEN];
	char unit[16], scope[16], drive[16], state[16];
	uint32_t base, low, high;
	bool has_value, has_sent;
	uint32_t value;
	double gain;
	uint64_t sent;		/* bytes of the port since follow began */
};

/* A job on a device. */
struct rdma_use {
	uint32_t job;		/* 0: follow goes by the port, and knows no job */
	char device[NAME_LEN];	/* RDMA device; "": not known */
	bool follows;		/* which one holds */
	struct rdma_qps qps;
	struct rdma_follow follow;
};

struct rdma {
	struct rdma_use *use;
	struct rdma_port *port;
	size_t uses, ports;
};

/* Looks at everything anew; @all_ports: at counters of ports that no job is known to use, too. */
void rdma_read(struct rdma *r, bool all_ports);
void rdma_free(struct rdma *r);

/* The port of the device that a use is on; NULL: it has none of the counters. */
const struct rdma_port *rdma_port_of(const struct rdma *r, const struct rdma_use *u);
const char *rdma_counter_name(enum rdma_counter c);

/* One of them, by whatever name the port has it; false: it has not. */
bool rdma_counter(const char *device, const char *port, enum rdma_counter c, uint64_t *v);

/* One more, all zero; NULL: there are enough. */
struct rdma_use *rdma_add(struct rdma *r);

/* Letters, digits and ._:/@+-, as in what goes into JSON, labels and terminals. */
bool rdma_is_name(const char *s);

#endif /* MLCC_RDMA_H */
