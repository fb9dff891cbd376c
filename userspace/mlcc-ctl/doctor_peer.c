// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * doctor --peer: which DSCPs come through, to another host and back.
 *
 *	--peer asks with DSCP d --> --peer-listen sees d', answers with DSCP d that d' has arrived
 *
 * An answer is as long as what asked for it, and is never answered: a sender whose address is forged
 * gets no more than was sent, and two that listen have nothing to say to each other.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "ctl.h"
#include "findings.h"

#define PORT		"4793"		/* UDP */
#define MAGIC		"mlccdscp"
#define DSCPS		64
#define DEFAULTS	0x405050503ULL	/* mlccd.conf's, and background's 1, a bit for each */
#define ROUNDS		5		/* packets may be lost, and addresses looked up first */
#define QUIET_MS	500		/* after which those of a round are */

enum { ASKS = 1, ANSWERS };

struct probe {
	char magic[8];
	uint64_t nonce;			/* of who asks, so that nobody else answers */
	uint8_t kind, dscp;
	uint8_t arrived;		/* of an answer: with which DSCP */
	uint8_t zero[5];
};

static uint64_t answered;		/* a bit for each DSCP */
static uint8_t seen[2][DSCPS];		/* as it arrived there, and here */

/* Connected to a host, or bound, to both families where there are both. */
static int open_socket(const char *host)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_PASSIVE }, *a;
	int fd, off = 0, on = 1, err;

	if (!host)
		hints.ai_family = access("/proc/net/if_inet6", F_OK) ? AF_INET : AF_INET6;
	err = getaddrinfo(host, PORT, &hints, &a);
	if (err)
		die(EXIT_USAGE, "--peer: %s: %s", host, gai_strerror(err));
	fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on));
	if ((host ? connect : bind)(fd, a->ai_addr, a->ai_addrlen))
		die(EXIT_FAILED, "%s, UDP port " PORT ": %s", host ? host : "--peer-listen",
		    strerror(errno));
	freeaddrinfo(a);
	return fd;
}

/* Whatever family the next packet is of. */
static void mark(int fd, int dscp)
{
	int tc = dscp << 2;

	setsockopt(fd, IPPROTO_IP, IP_TOS, &tc, sizeof(tc));
	setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tc, sizeof(tc));
}

/* The next packet's DSCP; < 0: it is none of that kind.  @from: NULL, or who has sent it. */
static int receive_probe(int fd, struct probe *p, int kind, struct sockaddr_in6 *from)
{
	struct iovec data = { p, sizeof(*p) };
	char control[64];
	struct msghdr m = { from, from ? sizeof(*from) : 0, &data, 1, control, sizeof(control) };

	if (recvmsg(fd, &m, 0) != sizeof(*p) || m.msg_flags & MSG_TRUNC || p->kind != kind ||
	    memcmp(p->magic, MAGIC, sizeof(p->magic)) || p->dscp >= DSCPS || p->arrived >= DSCPS)
		return -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			return *CMSG_DATA(c) >> 2;
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			return (*(unsigned int *)CMSG_DATA(c) & 0xff) >> 2;
	}
	return -1;
}

int peer_listen(void)
{
	int fd = open_socket(NULL), dscp;
	struct sockaddr_in6 from;	/* or a shorter one */
	struct probe p;

	warn("answers 'mlcc-ctl doctor --peer' on UDP port " PORT " until it is stopped");
	for (;;) {
		dscp = receive_probe(fd, &p, ASKS, &from);
		if (dscp < 0)
			continue;
		p.kind = ANSWERS;
		p.arrived = dscp;
		mark(fd, p.dscp);
		sendto(fd, &p, sizeof(p), MSG_NOSIGNAL, (struct sockaddr *)&from, sizeof(from));
	}
}

static void ask_all(int fd)
{
	struct probe p = { .magic = MAGIC, .kind = ASKS }, a;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int dscp;

	if (getrandom(&p.nonce, sizeof(p.nonce), 0) != sizeof(p.nonce))
		die(EXIT_FAILED, "--peer: no random number");
	for (int round = 0; round < ROUNDS && ~answered; round++) {
		for (p.dscp = 0; p.dscp < DSCPS; p.dscp++) {
			mark(fd, p.dscp);
			if (~answered >> p.dscp & 1)
				send(fd, &p, sizeof(p), MSG_NOSIGNAL);
		}
		/* whoever sends more than was asked does not keep us here */
		for (int i = 0; i < 2 * DSCPS && ~answered && poll(&ready, 1, QUIET_MS) > 0; i++) {
			dscp = receive_probe(fd, &a, ANSWERS, NULL);
			if (dscp < 0 || a.nonce != p.nonce)
				continue;
			answered |= 1ULL << a.dscp;
			seen[0][a.dscp] = a.arrived;
			seen[1][a.dscp] = dscp;
		}
	}
}

/* A line of one direction, with all that arrived as another one. */
static void say_direction(const char *host, const char *way, const uint8_t *as)
{
	char text[400] = "", end[16] = "";
	uint64_t changed = 0;

	for (int i = 0; i < DSCPS; i++)
		changed |= (answered >> i & (as[i] != i)) << i;
	for (int i = 0, last; i < DSCPS; i = last + 1) {
		size_t used = strlen(text);

		last = i;
		if (!(changed >> i & 1))
			continue;
		while (last + 1 < DSCPS && changed >> (last + 1) & 1 && as[last + 1] == as[i])
			snprintf(end, sizeof(end), "-%d", ++last);
		snprintf(text + used, sizeof(text) - used, "%s%d%s as %d", used ? ", " : "", i,
			 last > i ? end : "", as[i]);
	}
	if (!changed)
		result(~answered ? NOTE : FINE, "dscp", "", "%s %s %d of 64 DSCPs arrive as they were sent",
		       way, host, __builtin_popcountll(answered));
	else
		result(changed & DEFAULTS ? BAD : NOTE, "dscp", __builtin_popcountll(~changed) == 1 ?
		       "a guess: a port of a switch that does not trust DSCPs" :
		       "look for what rewrites them: a packet filter, a tunnel, a switch's map",
		       "%s %s DSCPs arrive as others: %s", way, host, text);
}

int peer_ask(const char *host)
{
	int fd = open_socket(host);

	findings_begin();
	ask_all(fd);
	if (answered) {
		say_direction(host, "to", seen[0]);
		say_direction(host, "from", seen[1]);
	} else {
		result(BAD, "peer", "'mlcc-ctl doctor --peer-listen' has to run there, and filters to pass it",
		       "%s does not answer on UDP port " PORT, host);
	}
	check_forced("of RDMA it overrides DSCPs, which this does not see");
	return findings_end();
}
