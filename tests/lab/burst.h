/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mlcc-burst: shared types of the job emulator. See burst.c for what it does
 * and for the wire format.
 */
#ifndef MLCC_BURST_H
#define MLCC_BURST_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/queue.h>

#define BURST_MAX_PEERS		64
#define BURST_MAX_SOURCES	16
#define BURST_MAX_FLOWS		256	/* per peer */
#define BURST_MAX_REQUESTS	1024
#define BURST_ENDLESS		UINT64_MAX	/* message length of a bulk flow */

enum burst_exit {
	EXIT_OK = 0,
	EXIT_SYSTEM = 1,	/* the kernel refused something */
	EXIT_USAGE = 2,		/* the command line is wrong */
	EXIT_STUCK = 3,		/* a flow made no progress before --timeout-s */
};

enum burst_mode { MODE_RECV, MODE_JOB, MODE_BULK, MODE_SHORT };

struct request {
	double gap_ms;		/* since the one before was due */
	uint64_t bytes;
};

struct options {
	enum burst_mode mode;
	const char *job;
	const char *cc;
	uint32_t mark;
	bool listening;
	struct sockaddr_in listen;
	struct sockaddr_in peers[BURST_MAX_PEERS];
	uint32_t n_peers;
	struct in_addr sources[BURST_MAX_SOURCES];
	uint32_t n_sources;
	uint32_t flows;		/* connections per peer */
	uint32_t inbound;	/* connections that other workers open to us */
	uint64_t lead;		/* bytes sent ahead of those received, 0: any */
	uint64_t bytes;		/* per phase, or per request */
	uint32_t iterations;	/* 0: until SIGTERM */
	double start_ms;
	double connect_ms;	/* its connections are opened so late */
	double compute_ms;
	double noise;		/* standard deviation of the compute time, relative */
	uint64_t seed;
	double every_ms;
	struct request requests[BURST_MAX_REQUESTS];	/* again and again; none: every_ms */
	uint32_t n_requests;
	int64_t at_ns;		/* CLOCK_MONOTONIC; 0: now */
	double timeout_s;
	uint32_t sample_ms;
	struct {
		const char *socket;	/* of mlccd; NULL: phases are not announced */
		uint32_t job;
		double claim;		/* announced bytes / true ones */
		double restart_ms;	/* how often a phase is announced anew; 0: once */
	} hint;
};

/* Options (burst_options.c). */
void options_parse(struct options *opt, int argc, char **argv);

/* The closing record (burst.c). */
void report_totals(const struct options *opt, uint64_t bytes, uint64_t retransmits);

/* One line on stderr, and the end. */
__attribute__((noreturn, format(printf, 2, 3)))
void die(enum burst_exit status, const char *fmt, ...);

/* Event loop (burst_loop.c): one epoll set, timers by deadline. */
struct watch {
	int fd;
	void (*ready)(struct watch *watch, uint32_t events);
};

int64_t now_ns(void);
int64_t ms_to_ns(double ms);
int64_t start_ns(const struct options *opt);
void loop_open(void);
void loop_add(struct watch *watch, uint32_t events);
void loop_sample_every(const struct options *opt);
bool loop_stopped(void);
bool loop_step(int64_t deadline_ns);
void loop_until(int64_t deadline_ns);

/* Sockets (burst_socket.c). */
int socket_listen(const struct options *opt);
int socket_connect(const struct options *opt, uint32_t flow);
uint32_t socket_retransmits(int fd);

/* Every message: this header, then zeros up to length (header included). */
struct header {
	uint32_t magic;
	uint32_t reserved;
	uint64_t length;
} __attribute__((packed));

#define BURST_MAGIC	0x6d6c6363u

/* A connection that another opened. */
struct inbound {
	struct watch watch;	/* first: the loop has its address */
	LIST_ENTRY(inbound) link;
	uint64_t messages;	/* complete ones */
};

/* Receiving side: all connections (burst_accept.c). */
void inbound_open(const struct options *opt);
uint64_t inbound_bytes(void);
bool inbound_reached(uint32_t connections, uint64_t messages);
void inbound_received(uint64_t bytes);
void inbound_closed(struct inbound *in, int error);
/* And one of them (burst_inbound.c, burst_verbs_inbound.c, burst_net_inbound.c); NULL: no memory. */
struct inbound *inbound_new(void);

/* Sending side (burst_connect.c). */
struct flow {
	struct watch watch;
	uint32_t index;
	bool connected;
	bool refused;
	struct header header;
	uint64_t length;	/* of the message being sent, header included */
	uint64_t sent;		/* of it, handed to the kernel */
	uint64_t allowed;	/* of it, that may be handed over by now */
	int64_t done_ns;	/* when its acknowledgement arrived; 0: not yet */
	void *transport;	/* what that keeps of it */
};

void flow_open(struct flow *flow, const struct options *opt, uint32_t index);
bool flow_refused(struct flow *flow);
struct flow *flows_open(const struct options *opt, uint32_t *n);
void flows_totals(const struct options *opt, const struct flow *flows, uint32_t n, uint64_t bytes);
uint64_t flow_left(const struct flow *flow);
void flow_send(struct flow *flow, uint64_t length, uint64_t allowed);
void flow_allow(struct flow *flow, uint64_t allowed);
void flow_close(struct flow *flow);
__attribute__((noreturn))
void flow_stuck(const struct flow *flow, const struct options *opt);

/* And what is each transport's (burst_flow.c, burst_verbs_flow.c, burst_net_flow.c). */
extern const size_t transport_size;	/* of what it keeps */
void transport_open(struct flow *flow);
void transport_ready(struct watch *watch, uint32_t events);
/* Sends what may be and can be, once connected. */
void transport_write(struct flow *flow);
void transport_close(struct flow *flow);

/* Announcing phases to mlccd (burst_hint.c); nothing happens without --hint. */
void hint_open(const struct options *opt);
void hint_start(uint64_t bytes);
void hint_end(void);

/* Roles: burst_job.c, and burst_traffic.c for the ordinary flows. */
void job_run(const struct options *opt);
void bulk_run(const struct options *opt);
void short_run(const struct options *opt);

#endif
