// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <endian.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "cli.h"
#include "lead_net.h"

#define MAGIC	"mlcclead"

/* Network byte order. */
struct datagram {
	char magic[8];
	char job[LEAD_JOB_LEN];		/* NUL to its end */
	uint64_t sent;
	uint32_t kind, progress, best_us, gap_us, age_us, zero;
};

static bool is_address(const struct sockaddr *a, const struct sockaddr_in6 *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;

	if (a->sa_family != b->sin6_family)
		return false;
	if (a->sa_family == AF_INET)
		return a4->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return !memcmp(&a6->sin6_addr, &b->sin6_addr, sizeof(b->sin6_addr));
}

/* In the family of the first one. */
static void find_address(struct lead_net *n, unsigned int i, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV }, *a;
	int err;

	if (i)
		hints.ai_family = n->addresses->sin6_family;
	err = getaddrinfo(n->names[i], port, &hints, &a);
	if (err)
		die(EXIT_USAGE, "%s: %s", n->names[i], gai_strerror(err));
	memcpy(&n->addresses[i], a->ai_addr, a->ai_addrlen);
	freeaddrinfo(a);
	for (unsigned int k = 0; k < i; k++)
		if (is_address((struct sockaddr *)&n->addresses[k], &n->addresses[i]))
			die(EXIT_USAGE, "%s and %s have one address", n->names[k], n->names[i]);
}

static int find_here(const struct lead_net *n, const char *here)
{
	struct ifaddrs *all, *a;
	int found = -1;

	for (unsigned int i = 0; i < n->count && here; i++)
		if (!strcmp(n->names[i], here))
			return i;
	if (here || getifaddrs(&all))
		return found;
	for (a = all; a; a = a->ifa_next)
		for (unsigned int i = 0; i < n->count && a->ifa_addr; i++)
			if (is_address(a->ifa_addr, &n->addresses[i]))
				found = i;
	freeifaddrs(all);
	return found;
}

void lead_find(struct lead_net *n, char **names, unsigned int count, const char *here,
	       uint16_t port)
{
	char text[8];
	int found;

	snprintf(text, sizeof(text), "%u", port);
	n->count = count;
	for (unsigned int i = 0; i < count; i++) {
		n->names[i] = names[i];
		find_address(n, i, text);
	}
	found = find_here(n, here);
	if (found < 0)
		die(EXIT_USAGE, "%s is none of the hosts: --here says which of them this is",
		    here ? here : "this host");
	n->here = found;
}

void lead_open(struct lead_net *n, bool at_address)
{
	struct sockaddr_in6 own = n->addresses[n->here];
	int family = own.sin6_family;

	if (!at_address && family == AF_INET)
		((struct sockaddr_in *)&own)->sin_addr.s_addr = INADDR_ANY;
	else if (!at_address)
		own.sin6_addr = in6addr_any;
	n->fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->fd < 0 || bind(n->fd, (struct sockaddr *)&own, sizeof(own)))
		die(EXIT_FAILED, "UDP port %u: %s%s", ntohs(own.sin6_port), strerror(errno),
		    errno == EADDRINUSE ? "; --port takes another one, the same on all hosts" : "");
}

void lead_say(const struct lead_net *n, unsigned int host, const struct lead_message *m)
{
	struct datagram d = {
		.magic = MAGIC, .sent = htobe64(m->sent), .kind = htobe32(m->kind),
		.progress = htobe32(m->answer.progress), .best_us = htobe32(m->answer.best_us),
		.gap_us = htobe32(m->answer.gap_us), .age_us = htobe32(m->answer.age_us),
	};

	memcpy(d.job, n->job, sizeof(d.job));
	/* what is lost the next one makes good */
	sendto(n->fd, &d, sizeof(d), MSG_NOSIGNAL, (struct sockaddr *)&n->addresses[host],
	       sizeof(n->addresses[host]));
}

static int who(const struct lead_net *n, const struct sockaddr_in6 *from)
{
	for (unsigned int i = 0; i < n->count; i++)
		if (from->sin6_port == n->addresses[i].sin6_port &&
		    is_address((const struct sockaddr *)from, &n->addresses[i]))
			return i;
	return -EBADMSG;
}

int lead_hear(const struct lead_net *n, struct lead_message *m)
{
	struct sockaddr_in6 from = { };
	socklen_t length = sizeof(from);
	struct datagram d;
	ssize_t got = recvfrom(n->fd, &d, sizeof(d), MSG_TRUNC, (struct sockaddr *)&from, &length);

	if (got < 0)
		return -EAGAIN;
	if (got != sizeof(d) || memcmp(d.magic, MAGIC, sizeof(d.magic)) ||
	    memcmp(d.job, n->job, sizeof(d.job)))
		return -EBADMSG;
	*m = (struct lead_message){
		.kind = be32toh(d.kind), .sent = be64toh(d.sent),
		.answer = {
			.progress = be32toh(d.progress), .best_us = be32toh(d.best_us),
			.gap_us = be32toh(d.gap_us), .age_us = be32toh(d.age_us),
		},
	};
	return who(n, &from);
}
