// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The configuration file: sections, "key = value" lines, comments after '#'.
 *
 * Everything is one table of keys.  A key that is unknown, given twice or out of its section is an
 * error, as a misspelt limit would else be no limit.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/number.h"
#include "config.h"
#include "../../include/mlcc/uapi/mlcc_netlink.h"

#define FILE_MAX	65536

struct parse {
	struct config c;
	const char *name;
	unsigned int line;
	const char *section;	/* of keys[], NULL before the first */
	uint32_t seen;		/* keys that were given */
	struct err *e;
};

struct key {
	const char *section, *name;
	int (*set)(struct parse *p, const struct key *k, char *value);
	size_t offset;
	uint32_t min, max;
};

__attribute__((__format__(__printf__, 2, 3)))
static int wrong(struct parse *p, const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	make_printable(what, true);
	return fail(p->e, -EINVAL, "%.40s:%u: %s", p->name, p->line, what);
}

static int config_number(struct parse *p, const char *what, const char *s, uint32_t min,
			 uint32_t max, uint32_t *to)
{
	struct err e;
	uint64_t v;

	if (number_whole(what, s, min, max, &v, &e))
		return wrong(p, "%s", e.text);
	*to = v;
	return 0;
}

static int set_number(struct parse *p, const struct key *k, char *value)
{
	return config_number(p, k->name, value, k->min, k->max,
			     (uint32_t *)((char *)&p->c + k->offset));
}

/* The job's bits have to be in one piece. */
static int set_mask(struct parse *p, const struct key *k, char *value)
{
	uint32_t v;
	int err;

	err = config_number(p, k->name, value, k->min, k->max, &v);
	if (err)
		return err;
	if ((v >> __builtin_ctz(v)) & ((v >> __builtin_ctz(v)) + 1))
		return wrong(p, "%s = %.40s: its bits are not in one piece", k->name, value);
	p->c.mark_mask = v;
	return 0;
}

static int set_bool(struct parse *p, const struct key *k, char *value)
{
	bool yes = !strcmp(value, "yes");

	if (!yes && strcmp(value, "no"))
		return wrong(p, "%s = %.40s: yes or no is wanted", k->name, value);
	*(bool *)((char *)&p->c + k->offset) = yes;
	return 0;
}

/* Without @blanks around it. */
static char *trim(char *s, const char *blanks)
{
	s += strspn(s, blanks);
	for (size_t n = strlen(s); n && strchr(blanks, s[n - 1]); n--)
		s[n - 1] = '\0';
	return s;
}

/* Cuts the next word off a list with commas; NULL at its end. */
static char *next_word(char **rest)
{
	char *word = strsep(rest, ",");

	return word ? trim(word, " \t") : NULL;
}

static bool config_name_ok(const char *s)
{
	size_t n = strspn(s, MLCC_NAME_CHARS);

	return n && n < MLCC_NAME_LEN && !s[n];
}

static int set_profiles(struct parse *p, const struct key *k, char *value)
{
	char *word;

	p->c.profile_count = 0;
	if (!strcmp(value, "*"))
		return 0;
	while ((word = next_word(&value))) {
		if (!config_name_ok(word))
			return wrong(p, "%s: '%.40s' is no profile's name", k->name, word);
		if (p->c.profile_count == CONFIG_PROFILES)
			return wrong(p, "%s: at most %d", k->name, CONFIG_PROFILES);
		snprintf(p->c.profiles[p->c.profile_count++], MLCC_NAME_LEN, "%s", word);
	}
	return 0;
}

static int set_skip(struct parse *p, const struct key *k, char *value)
{
	char why[MLCC_ERROR_LEN];

	if (mlcc_skip_check(value, why))
		return wrong(p, "%s%s", k->name, strchr(why, ':'));
	strcpy((char *)&p->c + k->offset, *value ? value : "none");
	return 0;
}

static int set_link(struct parse *p, const struct key *k, char *value)
{
	if (*value && !config_name_ok(value))
		return wrong(p, "%s: '%.40s' is no name", k->name, value);
	strcpy(p->c.link, value);
	return 0;
}

/* No names: who would tell what they mean need not be there when the host boots. */
static int set_address(struct parse *p, const struct key *k, char *value)
{
	struct in6_addr a;

	if (inet_pton(AF_INET, value, &a) != 1 && inet_pton(AF_INET6, value, &a) != 1)
		return wrong(p, "%s = %.40s: an IPv4 or IPv6 address is wanted", k->name, value);
	snprintf(p->c.metrics_address, sizeof(p->c.metrics_address), "%s", value);
	return 0;
}

static int config_set_dscp(struct parse *p, const struct key *k, char *value)
{
	unsigned int count = 0;
	uint32_t v;
	char *word;
	int err;

	while ((word = next_word(&value))) {
		if (count == CONFIG_CLASSES)
			return wrong(p, "%s: %d numbers are wanted", k->name, CONFIG_CLASSES);
		err = config_number(p, k->name, word, k->min, k->max, &v);
		if (err)
			return err;
		p->c.dscp[count++] = v;
	}
	if (count != CONFIG_CLASSES)
		return wrong(p, "%s: %d numbers are wanted", k->name, CONFIG_CLASSES);
	return 0;
}

#define NUMBER(section, key, field, min, max) \
	{ section, key, set_number, offsetof(struct config, field), min, max }

static const struct key keys[] = {
	{ "daemon", "mark-mask", set_mask, 0, 1, UINT32_MAX },
	NUMBER("daemon", "cgroup-poll-ms", poll_ms, 10, 60000),
	NUMBER("daemon", "peer-timeout-ms", peer_timeout_ms, 10, 600000),
	NUMBER("daemon", "connections", connections, 4, 10000),
	NUMBER("daemon", "metrics-port", metrics_port, 0, 65535),
	{ "daemon", "metrics-address", set_address, 0, 0, 0 },
	{ "daemon", "link", set_link, 0, 0, 0 },
	{ "jobs", "skip", set_skip, offsetof(struct config, skip), 0, 0 },
	{ "jobs", "background", set_skip, offsetof(struct config, background), 0, 0 },
	{ "limits", "users", set_bool, offsetof(struct config, users), 0, 0 },
	NUMBER("limits", "jobs-per-user", jobs_per_user, 0, 65535),
	NUMBER("limits", "rings-per-user", rings_per_user, 0, 1024),
	NUMBER("limits", "connections-per-user", connections_per_user, 1, 10000),
	NUMBER("limits", "requests-per-second", requests_per_second, 1, 1000000),
	NUMBER("limits", "requests-burst", requests_burst, 1, 1000000),
	NUMBER("limits", "hints-per-second", hints_per_second, 1, 10000000),
	NUMBER("limits", "hints-burst", hints_burst, 1, 10000000),
	NUMBER("limits", "priority-classes", priority_classes, 0, CONFIG_CLASSES),
	{ "limits", "latency-class", set_bool, offsetof(struct config, latency_class), 0, 0 },
	{ "limits", "profiles", set_profiles, 0, 0, 0 },
	{ "priority", "dscp", config_set_dscp, 0, 0, 63 },
};

#define KEYS	(sizeof(keys) / sizeof(*keys))

void config_default(struct config *c)
{
	*c = (struct config){
		.mark_mask = MLCC_MARK_MASK, .poll_ms = 1000, .peer_timeout_ms = 10000,
		.metrics_address = "127.0.0.1", .skip = "lo", .background = "none",
		.connections = 1024, .users = true, .jobs_per_user = 16, .rings_per_user = 128,
		.connections_per_user = 32, .requests_per_second = 50, .requests_burst = 200,
		.hints_per_second = 2000, .hints_burst = 4000,
		.profiles = { "interleave" }, .profile_count = 1,
		/* CS0, then rising to AF42; neither expedited forwarding nor network control */
		.dscp = { 0, 8, 10, 16, 18, 24, 26, 34 },
	};
}

static int section(struct parse *p, char *s)
{
	char *end = strchr(s, ']');

	if (!end || end[1])
		return wrong(p, "'%.40s': [SECTION] is wanted", s);
	*end = '\0';
	for (size_t i = 0; i < KEYS; i++)
		if (!strcmp(keys[i].section, s + 1)) {
			p->section = keys[i].section;
			return 0;
		}
	return wrong(p, "no section [%.40s]: daemon, jobs, limits, priority", s + 1);
}

static int assignment(struct parse *p, char *s)
{
	char *value = strchr(s, '=');

	if (!value)
		return wrong(p, "'%.40s': KEY = VALUE is wanted", s);
	*value++ = '\0';
	s = trim(s, " \t");
	value = trim(value, " \t");
	if (!p->section)
		return wrong(p, "'%.40s' comes before any [SECTION]", s);
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].section, p->section) || strcmp(keys[i].name, s))
			continue;
		if (p->seen & 1U << i)
			return wrong(p, "%s is given twice", s);
		p->seen |= 1U << i;
		return keys[i].set(p, &keys[i], value);
	}
	return wrong(p, "no key '%.40s' in [%s]", s, p->section);
}

int config_parse(struct config *c, const char *name, char *text, size_t len, struct err *e)
{
	struct parse p = { .name = name, .e = e };
	const char *end = text + len;
	char *line;
	int err = 0;

	_Static_assert(KEYS <= 32, "seen has a bit for each");
	config_default(&p.c);
	while (!err && (line = strsep(&text, "\n"))) {
		p.line++;
		if (!text && line + strlen(line) != end)
			return wrong(&p, "a zero byte");
		line[strcspn(line, "#")] = '\0';
		line = trim(line, " \t\r");
		if (*line)
			err = *line == '[' ? section(&p, line) : assignment(&p, line);
	}
	if (!err)
		*c = p.c;
	return err;
}

int config_load(struct config *c, const char *path, int fd, bool may_lack, struct err *e)
{
	AUTO_FREE char *text = malloc(FILE_MAX + 1);
	ssize_t len = 0, n = 1;
	int err;

	if (fd == -ENOENT && may_lack) {
		config_default(c);
		return 0;
	}
	while (fd >= 0 && text && len <= FILE_MAX && n > 0) {
		n = read(fd, text + len, FILE_MAX + 1 - len);
		len += n > 0 ? n : 0;
	}
	err = fd < 0 ? -fd : n < 0 ? errno : !text ? ENOMEM : len > FILE_MAX ? EFBIG : 0;
	if (fd >= 0)
		close(fd);
	if (err)
		return fail(e, -err, "%.150s: %s", path, strerror(err));
	text[len] = '\0';
	return config_parse(c, path, text, len, e);
}

int config_read(struct config *c, const char *path, bool may_lack, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return config_load(c, path, fd < 0 ? -errno : fd, may_lack, e);
}

bool config_profile_allowed(const struct config *c, const char *name)
{
	for (uint32_t i = 0; i < c->profile_count; i++)
		if (!strcmp(c->profiles[i], name))
			return true;
	/* the default profile is the administrator's choice */
	return !c->profile_count || !*name;
}
