// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * lead: one progress for a job of several hosts (include/mlcc/lead.h has why, and the rule).
 *
 *	each host, each millisecond (--cadence) while the job sends, else each 5 ms:
 *		bytes that the carrier has counted  ->  the first host, which tracks them
 *		the carrier's mlcc_job_hear()       <-  its answer
 *
 * With more than 16 hosts they report less often, so that no leader hears more than 16 in a
 * millisecond: of 64 each 4 ms.  It ends with the job.
 */
#include <endian.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include "../../include/mlcc/lead.h"
#include "../common/clock.h"
#include "../libmlcc/libmlcc.h"
#include "cli.h"

#define PORT		793		/* without --port */
#define PORT_MAX	1023		/* root's */
#define REPORTS		16		/* that a leader takes in a millisecond */
#define IDLE_US		5000		/* between two reports while nothing is sent */
#define CADENCE_MAX	16000		/* three of them fit into MLCC_LEAD_OLD_US */
#define SILENT_US	1000000		/* after which a host is said to be silent */
#define MAGIC		"mlcclead"
#define LEAD_HOSTS	256
#define LEAD_JOB_LEN	64

/*
 * What hosts say to each other: a datagram each way, of one size, from and to one UDP port, which
 * only root may have, in network byte order.  Whatever comes from elsewhere is not heard.
 */

enum lead_kind { LEAD_REPORTS = 1, LEAD_ANSWERS };

struct lead_message {
	char magic[8];
	char job[LEAD_JOB_LEN];		/* NUL to its end */
	/* LEAD_REPORTS: bytes that the host has sent, ever; LEAD_ANSWERS: that are known of it */
	uint64_t sent;
	uint32_t kind;
	struct mlcc_lead_answer answer;
	uint32_t zero;
};

struct lead_net {
	char job[LEAD_JOB_LEN];		/* as all hosts call it */
	unsigned int count, here;	/* hosts, and which one this is */
	const char *names[LEAD_HOSTS];
	struct sockaddr_in6 addresses[LEAD_HOSTS];	/* or sockaddr_in */
	int fd;
};

/* Between the host's byte order and the network's. */
static void swap_bytes(struct lead_message *m)
{
	uint32_t *const words[] = { &m->kind, &m->answer.progress, &m->answer.best_us,
				    &m->answer.gap_us, &m->answer.age_us };

	m->sent = htobe64(m->sent);
	for (unsigned int i = 0; i < COUNT(words); i++)
		*words[i] = htobe32(*words[i]);
}

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

/*
 * Finds the addresses, and which of them is this host's: that of @here, or of an interface.  What
 * is wrong ends the program.
 */
static void lead_find(struct lead_net *n, char **names, unsigned int count, const char *here,
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

static void lead_open(struct lead_net *n, bool at_address)
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

static void lead_say(const struct lead_net *n, unsigned int host, struct lead_message m)
{
	memcpy(m.magic, MAGIC, sizeof(m.magic));
	memcpy(m.job, n->job, sizeof(m.job));
	m.zero = 0;
	swap_bytes(&m);
	/* what is lost the next one makes good */
	sendto(n->fd, &m, sizeof(m), MSG_NOSIGNAL, (struct sockaddr *)&n->addresses[host],
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

/* Which host has said it; -EAGAIN: no datagram is there; -EBADMSG: it is none of this job's. */
static int lead_hear(const struct lead_net *n, struct lead_message *m)
{
	struct sockaddr_in6 from = { };
	socklen_t length = sizeof(from);
	ssize_t got = recvfrom(n->fd, m, sizeof(*m), MSG_TRUNC, (struct sockaddr *)&from, &length);

	if (got < 0)
		return -EAGAIN;
	if (got != sizeof(*m) || memcmp(m->magic, MAGIC, sizeof(m->magic)) ||
	    memcmp(m->job, n->job, sizeof(m->job)))
		return -EBADMSG;
	swap_bytes(m);
	return who(n, &from);
}

/*** A host ***/

/* What is known of a host: of all of them, or by one that is led of the first. */
struct peer {
	uint64_t counted, reported_us;
	bool known, silent;
};

struct lead {
	struct mlcc *m;
	uint32_t id;			/* the job's, on this host */
	struct lead_net net;
	struct mlcc_job tracker;	/* the leader's, of all that the job sends */
	struct peer peers[LEAD_HOSTS];
	uint64_t begun_us;
	uint64_t sent, answered;	/* bytes, ever, and of these known to the leader */
	uint32_t interval_us;		/* while the job sends */
};

static volatile sig_atomic_t over;

static void take_signal(int number)
{
	over = 1;
}

static bool leads(const struct lead *l)
{
	return !l->net.here;
}

static void lead_event(const struct lead *l, const char *event, const char *host)
{
	struct json_object *o;

	if (!common.json) {
		warn("%s: %s: %s", l->net.job, event, host);
		return;
	}
	o = json_object_new_object();
	put_string(o, "event", event);
	put_string(o, "job", l->net.job);
	put_string(o, "host", host);
	answer(o);
}

/*** The carrier ***/

static int find_job(const struct mlcc_job_info *info, void *arg)
{
	struct lead *l = arg;
	char id[16];

	snprintf(id, sizeof(id), "%u", info->conf.id);
	if (strcmp(id, l->net.job) && strcmp(info->conf.name, l->net.job))
		return 0;
	l->id = info->conf.id;
	return 1;
}

/* Neutral, until there is an answer. */
static int lead_hear_answer(struct lead *l, const struct mlcc_lead_answer *a)
{
	struct mlcc_answer_conf conf = { .id = l->id, .progress = MLCC_NEUTRAL };

	if (a)
		conf = (struct mlcc_answer_conf){
			l->id, a->progress, a->best_us, a->gap_us, a->age_us
		};
	return mlcc_job_hear(l->m, &conf);
}

static void lead_open_job(struct lead *l)
{
	int found;

	if (mlcc_open(&l->m, MLCC_CARRIER_ANY))
		die(EXIT_FAILED, "%s", mlcc_error(l->m));
	found = mlcc_job_each(l->m, find_job, l);
	if (found < 0 || (found && !common.dry_run && lead_hear_answer(l, NULL)))
		die(EXIT_FAILED, "%s", mlcc_error(l->m));
	if (!found)
		die(EXIT_FAILED, "no job '%s': 'mlcc-ctl show' lists them", l->net.job);
}

/*** What hosts say ***/

static void peer_heard(struct lead *l, unsigned int host, uint64_t now)
{
	struct peer *p = &l->peers[host];

	if (p->silent)
		lead_event(l, "heard", l->net.names[host]);
	p->silent = false;
	p->reported_us = now;
}

/* Of those that this one should hear. */
static void tell_silent(struct lead *l, uint64_t now)
{
	for (unsigned int i = leads(l); i < (leads(l) ? l->net.count : 1); i++) {
		struct peer *p = &l->peers[i];
		uint64_t since = p->reported_us ? p->reported_us : l->begun_us;

		if (p->silent || now - since < SILENT_US)
			continue;
		p->silent = true;
		lead_event(l, "silent", l->net.names[i]);
	}
}

/* A host that is heard for the first time may have sent long before. */
static struct mlcc_lead_answer take_report(struct lead *l, unsigned int host, uint64_t sent,
					   uint64_t now)
{
	struct peer *p = &l->peers[host];

	if (p->known)
		mlcc_lead_report(&l->tracker, &p->counted, sent, now,
				 mlcc_us32(now - p->reported_us));
	else
		p->counted = sent;
	p->known = true;
	peer_heard(l, host, now);
	return mlcc_lead_answer(&l->tracker, now);
}

static int take_message(struct lead *l, unsigned int host, struct lead_message *m, uint64_t now)
{
	if (leads(l) && host && m->kind == LEAD_REPORTS) {
		m->answer = take_report(l, host, m->sent, now);
		m->kind = LEAD_ANSWERS;
		lead_say(&l->net, host, *m);
	} else if (!leads(l) && !host && m->kind == LEAD_ANSWERS) {
		peer_heard(l, host, now);
		l->answered = m->sent;
		return lead_hear_answer(l, &m->answer);
	}
	return 0;
}

/* No more than may be there by rights: whoever sends more does not keep us here. */
static int take_messages(struct lead *l)
{
	struct lead_message m;
	int host, err = 0;

	for (unsigned int i = 0; i < 2 * LEAD_HOSTS && !err; i++) {
		host = lead_hear(&l->net, &m);
		if (host == -EAGAIN)
			break;
		if (host >= 0)
			err = take_message(l, host, &m, now_us());
	}
	return err;
}

/* Reports what the job has sent; returns the microseconds until the next time, or an error. */
static int lead_report(struct lead *l)
{
	struct lead_message m = { .kind = LEAD_REPORTS };
	struct mlcc_job_info info;
	uint64_t now = now_us();
	bool sends;
	int err = mlcc_job_get(l->m, l->id, &info);

	if (err)
		return err;
	sends = info.bytes != l->sent || info.bytes != l->answered;
	l->sent = info.bytes;
	m.sent = info.bytes;
	tell_silent(l, now);
	if (leads(l)) {
		m.answer = take_report(l, 0, m.sent, now);
		l->answered = m.sent;
		err = lead_hear_answer(l, &m.answer);
	} else {
		lead_say(&l->net, 0, m);
	}
	return err ? err : sends || l->interval_us > IDLE_US ? (int)l->interval_us : IDLE_US;
}

static int lead_loop(struct lead *l)
{
	struct pollfd ready = { .fd = l->net.fd, .events = POLLIN };
	uint64_t next = now_us(), now;
	sigset_t none;
	int ret = 0;

	sigemptyset(&none);
	while (!over && ret >= 0) {
		now = now_us();
		if (now >= next) {
			ret = lead_report(l);
			next = now + (ret > 0 ? ret : 0);
			continue;
		}
		struct timespec t = { (next - now) / 1000000, (next - now) % 1000000 * 1000 };

		if (ppoll(&ready, 1, &t, &none) > 0)
			ret = take_messages(l);
	}
	return ret < 0 ? ret : 0;
}

static void lead_run(struct lead *l)
{
	struct sigaction action = { .sa_handler = take_signal };
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	l->begun_us = now_us();
	lead_event(l, leads(l) ? "leads" : "led", l->net.names[0]);
	sd_notify(0, "READY=1");
	err = lead_loop(l);
	if (err && err != -ENOENT)
		die(EXIT_FAILED, "%s", mlcc_error(l->m));
	lead_event(l, "end", l->net.names[l->net.here]);
}

int verb_lead(int argc, char **argv)
{
	static const struct option_of opts[] = {
		{ "here", OPTION_TEXT },
		{ "port", OPTION_WHOLE, .min = 1, .max = PORT_MAX },
		{ "cadence", OPTION_TIME, .min = MLCC_LEAD_US, .max = CADENCE_MAX },
		{ }
	};
	static struct lead l;
	struct json_object *own = options_take(argc, argv, "", opts, NULL, NULL);
	const char *here = option_text(own, "here");
	uint16_t port = option_u64(own, "port", PORT);
	unsigned int hosts;
	uint32_t least_us;

	l.interval_us = option_u64(own, "cadence", MLCC_LEAD_US);
	hosts = argc - optind - 1;
	if (argc - optind < 3 || hosts > LEAD_HOSTS)
		die(EXIT_USAGE, "lead: give JOB and 2 to %d HOSTs, the leader first", LEAD_HOSTS);
	if (strlen(argv[optind]) >= LEAD_JOB_LEN)
		die(EXIT_USAGE, "JOB: at most %d characters", LEAD_JOB_LEN - 1);
	strcpy(l.net.job, argv[optind]);
	lead_find(&l.net, argv + optind + 1, hosts, here, port);
	least_us = MLCC_LEAD_US * ((hosts + REPORTS - 1) / REPORTS);
	if (l.interval_us < least_us)
		l.interval_us = least_us;
	lead_open_job(&l);
	if (!common.dry_run) {
		lead_open(&l.net, here);
		lead_run(&l);
	}
	mlcc_close(l.m);
	return EXIT_FINE;
}
