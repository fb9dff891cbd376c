// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What was read of sockets, as a file that says the same later, anywhere.  Its format is ss(8)'s, so
 * what ss prints in a loop is read, too:
 *
 *	# mlcc-ctl observe 1		whoever changes what a word means counts on
 *	1764500000.123456		a look: seconds, which grow
 *	ESTAB 0 0 10.1.1.2:45678 10.1.2.2:5000 cgroup:/train.slice/bert dev:eth0 rtt:0.5 ...
 *
 * A look has all sockets of each cgroup that it has any of.  Words are as ss has them, 0 where there
 * is none; "dev", "exceeds" and "ca_state" are ours.  Words that are not known are left out, and lines that
 * begin with a space go on with the socket before, as without "ss -O".
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/clock.h"
#include "ctl.h"
#include "observe.h"

#define VERSION		1
#define MAGIC		"# mlcc-ctl observe "
#define LINE		65536
#define SOCKETS		65536		/* of a look */
#define ABSENT		16		/* looks, and it is gone: the silent are in every tenth */
#define RECORD_BYTES	(1LL << 30)
#define TIME_MAX	4e9		/* s */

#define AT(field)	offsetof(struct tcp_info, tcpi_##field), sizeof(((struct tcp_info *)0)->tcpi_##field)

/* Numbers, some in thousandths; of retransmits the total is behind a slash. */
static const struct word {
	const char *name;
	size_t at, size;
	unsigned int scale;
	const char *unit;
} words[] = {
	{ " rtt:", AT(rtt), 1000, "" },
	{ " minrtt:", AT(min_rtt), 1000, "" },
	{ " cwnd:", AT(snd_cwnd), 1, "" },
	{ " unacked:", AT(unacked), 1, "" },
	{ " retrans:", AT(retrans), 1, "" },
	{ " lost:", AT(lost), 1, "" },
	{ " sacked:", AT(sacked), 1, "" },
	{ " backoff:", AT(backoff), 1, "" },
	{ " ca_state:", AT(ca_state), 1, "" },
	{ " notsent:", AT(notsent_bytes), 1, "" },
	{ " bytes_acked:", AT(bytes_acked), 1, "" },
	{ " bytes_received:", AT(bytes_received), 1, "" },
	{ " delivered_ce:", AT(delivered_ce), 1, "" },
	{ " lastack:", AT(last_ack_recv), 1, "" },
	{ " busy:", AT(busy_time), 1000, "ms" },
	{ " rwnd_limited:", AT(rwnd_limited), 1000, "ms" },
	{ " sndbuf_limited:", AT(sndbuf_limited), 1000, "ms" },
};

/*** Writing ***/

/* Without printf(), which takes longer than to ask the kernel. */
static char *put_number(char *at, uint64_t v, int digits)
{
	char text[20];
	int n = 0;

	for (; v || n < digits; v /= 10)
		text[n++] = '0' + v % 10;
	while (n)
		*at++ = text[--n];
	return at;
}

static char *put_address(char *at, uint8_t family, const __be32 *address, __be16 port)
{
	at = stpcpy(at, family == AF_INET6 ? "[" : "");
	inet_ntop(family, address, at, INET6_ADDRSTRLEN);
	at = stpcpy(at + strlen(at), family == AF_INET6 ? "]:" : ":");
	return stpcpy(put_number(at, ntohs(port), 1), " ");
}

static char *put_word(char *at, const struct word *w, const struct tcp_info *i)
{
	const void *from = (const char *)i + w->at;
	uint64_t v = w->size == 1 ? *(uint8_t *)from : w->size == 4 ? *(uint32_t *)from : *(uint64_t *)from;
	bool total = from == &i->tcpi_retrans && i->tcpi_total_retrans;

	if (!v && !total)
		return at;
	at = put_number(stpcpy(at, w->name), v / w->scale, 1);
	if (v % w->scale)
		at = put_number(stpcpy(at, "."), v % w->scale, 3);
	at = stpcpy(at, w->unit);
	return total ? put_number(stpcpy(at, "/"), i->tcpi_total_retrans, 1) : at;
}

static size_t put_socket(char *line, const struct observe_group *g, const struct observe_socket *s)
{
	char *at = stpcpy(line, "ESTAB 0 0 ");

	at = put_address(at, s->family, s->id.idiag_src, s->id.idiag_sport);
	at = put_address(at, s->family, s->id.idiag_dst, s->id.idiag_dport);
	at = stpcpy(stpcpy(at, "cgroup:/"), g->path);
	if (s->device)
		at = stpcpy(stpcpy(at, " dev:"), observe_device_name(s->device));
	at = stpcpy(at, s->flow.exceeds ? " exceeds" : "");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		at = put_word(at, &words[i], &s->flow.now);
	*at++ = '\n';
	return at - line;
}

static void failed(const char *option, const char *name)
{
	die(EXIT_FAILED, "%s: %s: %s", option, name, strerror(errno));
}

static FILE *record;
static long long recorded;

void observe_write(struct observe *o, uint64_t now)
{
	char line[2048];

	if (!record) {
		record = fopen(o->record, "we");
		recorded = record ? fprintf(record, MAGIC "%d\n", VERSION) : 0;
	}
	if (!record)
		failed("--record", o->record);
	now += o->since_1970_us;
	recorded += fprintf(record, "%llu.%06llu\n", now / 1000000ULL, now % 1000000ULL);
	for (unsigned int i = 0; i < o->count; i++)
		for (struct observe_flow *f = o->groups[i]->job.flows; f; f = f->next)
			if (f->fresh)
				recorded += fwrite(line, 1, put_socket(line, o->groups[i],
								       (struct observe_socket *)f), record);
	if (fflush(record))
		failed("--record", o->record);
	if (recorded < RECORD_BYTES)
		return;
	warn("--record: %s has %lld bytes: that is all", o->record, recorded);
	fclose(record);
	o->record = NULL;
}

/*** Reading ***/

static struct {
	const char *name;
	unsigned long line;
	unsigned int sockets;		/* of this look */
	uint64_t now;			/* when that is, 0: none yet */
	bool told;			/* any word of any socket */
	/* the socket that this line is of, or goes on with */
	bool any;
	uint8_t family;
	struct inet_diag_sockid id;
	struct tcp_info info;
	char cgroup[1024];
	uint64_t device;
	bool exceeds;
} from;

static void __attribute__((__noreturn__)) refuse(const char *text, const char *why)
{
	die(EXIT_FAILED, "--from: %s: line %lu: '%.40s' %s", from.name, from.line, text, why);
}

/* A number of at most @max at @s, a part of @text.  Returns what is behind it. */
static char *take_number(const char *text, const char *s, double max, double *v)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		refuse(text, "has no number");
	*v = strtod(s, &end);
	if (!(*v <= max))
		refuse(text, "has a number that cannot be");
	return end;
}

static void take_info(const struct word *w, const char *text)
{
	double v, max = w->size == 1 ? UINT8_MAX : w->size == 4 ? UINT32_MAX : 1ULL << 53;
	const char *end = take_number(text, text + strlen(w->name + 1), max / w->scale, &v);
	void *at = (char *)&from.info + w->at;

	v = v * w->scale + 0.5;
	if (w->size == 1)
		*(uint8_t *)at = v;
	else if (w->size == 4)
		*(uint32_t *)at = v;
	else
		*(uint64_t *)at = v;
	if (at == &from.info.tcpi_retrans && *end == '/') {
		take_number(text, end + 1, UINT32_MAX, &v);
		from.info.tcpi_total_retrans = v;
	}
	from.told = true;
}

static void take_words(char **rest)
{
	for (char *text; (text = strtok_r(NULL, " \t\n", rest));) {
		/* ss may have it twice */
		if (!strncmp(text, "cgroup:", 7) && !*from.cgroup)
			snprintf(from.cgroup, sizeof(from.cgroup), "%s", text + 7);
		else if (!strncmp(text, "uid:", 4) && !*from.cgroup)
			snprintf(from.cgroup, sizeof(from.cgroup), "/uid-%s", text + 4);
		else if (!strncmp(text, "dev:", 4))
			from.device = observe_device_bit(text + 4);
		from.exceeds |= !strcmp(text, "exceeds");
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (!strncmp(text, words[i].name + 1, strlen(words[i].name + 1)))
				take_info(&words[i], text);
	}
}

/* 10.1.1.2:5000, [fd00::1]:5000, perhaps with %eth0 behind the address */
static uint8_t take_address(const char *text, __be32 *address, __be16 *port)
{
	const char *colon = strrchr(text, ':');
	bool six = *text == '[';
	char host[64];
	double v;

	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - text) : 0, text);
	host[strcspn(host, "]%")] = '\0';
	if (!colon || inet_pton(six ? AF_INET6 : AF_INET, host + six, address) != 1)
		refuse(text, "is no address with a port, as of ss -tinH");
	take_number(text, colon + 1, UINT16_MAX, &v);
	*port = htons(v);
	return six ? AF_INET6 : AF_INET;
}

static void take_socket(char **rest)
{
	const char *word[4];

	for (int i = 0; i < 4; i++) {
		word[i] = strtok_r(NULL, " \t\n", rest);
		if (!word[i])
			refuse("", "is where two addresses should be, as of ss -tinH");
	}
	if (!from.now)
		refuse(word[2], "has no time before it, as of date +%s.%N");
	if (from.sockets++ == SOCKETS)
		refuse(word[2], "is one socket too many for a look");
	memset(&from.id, 0, sizeof(from.id));
	memset(&from.info, 0, sizeof(from.info));
	from.cgroup[0] = '\0';
	from.exceeds = false;
	from.device = observe_device_bit("?");	/* one, as nobody says that there are several */
	from.family = take_address(word[2], from.id.idiag_src, &from.id.idiag_sport);
	if (take_address(word[3], from.id.idiag_dst, &from.id.idiag_dport) != from.family)
		refuse(word[3], "is of another family");
	from.any = true;
}

static const char *group_name(void)
{
	if (*from.cgroup != '/')
		return *from.cgroup ? from.cgroup : "unnamed";
	observe_cut(from.cgroup);
	return from.cgroup[1] ? from.cgroup + 1 : "root";
}

static void end_socket(struct observe *o)
{
	struct observe_socket *s;
	struct observe_group *g;

	if (!from.any)
		return;
	from.any = false;
	s = observe_known(o, &from.id);
	if (!s && !observe_left_out(o, from.family, &from.id)) {
		g = observe_group(o, group_name());
		s = g ? observe_add(o, g, from.family, &from.id) : NULL;
	}
	if (!s)
		return;
	s->flow.now = from.info;
	s->flow.fresh = true;
	s->flow.exceeds = from.exceeds;
	s->device = from.device;
}

static void end_look(struct observe *o)
{
	if (from.now) {
		observe_drop(o, ABSENT);
		observe_looked(o, from.now);
	}
	o->search++;
	from.sockets = 0;
}

static void take_time(const char *text)
{
	double v;

	take_number(text, text, TIME_MAX, &v);
	if (v * 1e6 + 0.5 < from.now + 1.0)
		refuse(text, "is no later than the look before");
	from.now = v * 1e6 + 0.5;
}

static void from_line(struct observe *o, char *rest)
{
	bool goes_on = isspace((unsigned char)*rest);
	char *first;

	if (!strncmp(rest, MAGIC, strlen(MAGIC)) && atoi(rest + strlen(MAGIC)) != VERSION)
		refuse(strtok(rest, "\n"), "is not version 1");
	if (*rest == '#')
		return;
	if (goes_on && from.any)
		take_words(&rest);
	if (goes_on)
		return;
	end_socket(o);
	first = strtok_r(NULL, " \t\n", &rest);
	if (isdigit((unsigned char)*first)) {
		end_look(o);
		take_time(first);
	} else if (!strcmp(first, "ESTAB") || !strcmp(first, "FIN-WAIT-1") || !strcmp(first, "CLOSE-WAIT")) {
		take_socket(&rest);
		take_words(&rest);
	} else if (strcmp(first, "State") && first[strspn(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-12")]) {
		refuse(first, "is neither a time, nor a socket of ss -tinH");
	}
}

void observe_from(struct observe *o, const char *name)
{
	static char line[LINE];
	FILE *f = fopen(name, "re");

	from.name = name;
	while (f && fgets(line, sizeof(line), f)) {
		size_t len = strlen(line);

		from.line++;
		if (!len || line[len - 1] != '\n') {
			if (feof(f))
				break;	/* its writer was stopped */
			refuse("", "is too long, or no text");
		}
		from_line(o, line);
	}
	if (!f || ferror(f))
		failed("--from", name);
	end_socket(o);
	end_look(o);
	if (!from.told)
		die(EXIT_FAILED, "--from: %s: no socket with what ss -ti says of it", name);
}
