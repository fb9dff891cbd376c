/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The hosts of a job, and what they say to each other: a datagram each way, of one size, from and to
 * one UDP port, which only root may have.  Whatever comes from elsewhere is not heard.
 */
#ifndef MLCC_DCQCN_LEAD_NET_H
#define MLCC_DCQCN_LEAD_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../include/mlcc/lead.h"

#define LEAD_HOSTS	256
#define LEAD_JOB_LEN	64

enum lead_kind { LEAD_REPORTS = 1, LEAD_ANSWERS };

struct lead_message {
	enum lead_kind kind;
	/* LEAD_REPORTS: bytes that the host has sent, ever; LEAD_ANSWERS: that are known of it */
	uint64_t sent;
	struct mlcc_lead_answer answer;
};

struct lead_net {
	char job[LEAD_JOB_LEN];		/* as all hosts call it */
	unsigned int count, here;	/* hosts, and which one this is */
	const char *names[LEAD_HOSTS];
	struct sockaddr_in6 addresses[LEAD_HOSTS];	/* or sockaddr_in */
	int fd;
};

/*
 * Finds the addresses, and which of them is this host's: that of @here, or of an interface.  What
 * is wrong ends the program.
 */
void lead_find(struct lead_net *n, char **names, unsigned int count, const char *here,
	       uint16_t port);
void lead_open(struct lead_net *n, bool at_address);
void lead_say(const struct lead_net *n, unsigned int host, const struct lead_message *m);
/* Which host has said it; -EAGAIN: no datagram is there; -EBADMSG: it is none of this job's. */
int lead_hear(const struct lead_net *n, struct lead_message *m);

#endif /* MLCC_DCQCN_LEAD_NET_H */
