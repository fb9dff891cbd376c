// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * doctor, what can be tried: that it is there says not that it works.
 *
 * A connection over the loopback is made by this program, run as a job's command by itself.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/sysroot.h"
#include "ctl.h"
#include "findings.h"

/* mov r0, 0; exit */
static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

int try_bpf(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = BPF_CGROUP_SOCK_OPS);
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCK_OPS, "mlcc_try", "GPL", nothing, 2, &o);

	return fd < 0 ? -errno : fd;
}

/* Which member of struct tcp_congestion_ops is of this name; -1: none, and @id is not set. */
static int operation(const char *name, __u32 *id)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int found = btf ? btf__find_by_name_kind(btf, "tcp_congestion_ops", BTF_KIND_STRUCT) : -1;
	const struct btf_type *t = found < 0 ? NULL : btf__type_by_id(btf, found);
	int at = -1;

	for (int i = 0; t && at < 0 && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name))
			at = i;
	if (at >= 0)
		*id = found;
	btf__free(btf);
	return at;
}

int try_struct_ops(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o);
	AUTO_CLOSE int fd = -1;
	int at;

	libbpf_set_print(NULL);
	at = operation("undo_cwnd", &o.attach_btf_id);
	if (at < 0)
		return -ENOENT;
	o.expected_attach_type = at;
	fd = bpf_prog_load(BPF_PROG_TYPE_STRUCT_OPS, "mlcc_try", "GPL", nothing, 2, &o);
	return fd < 0 ? -errno : 0;
}

int try_cc(const char *name)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)) ? -errno : 0;
}

/*** A connection ***/

/* Whether a byte arrives; @s: the two ends. */
static bool doctor_try_connected(int s[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval t = { .tv_sec = 5 };
	socklen_t len = sizeof(a);
	char byte = 0;

	s[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(s[0], SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	if (bind(l, (struct sockaddr *)&a, len) || listen(l, 1) ||
	    getsockname(l, (struct sockaddr *)&a, &len) ||
	    connect(s[0], (struct sockaddr *)&a, len))
		return false;
	s[1] = accept(l, NULL, NULL);
	setsockopt(s[1], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	return send(s[0], &byte, 1, MSG_NOSIGNAL) == 1 && recv(s[1], &byte, 1, 0) == 1;
}

int try_connection(void)
{
	socklen_t len = 16, mark_len = sizeof(int);
	char cc[17] = "";
	int s[2], mark = 0;

	if (!doctor_try_connected(s)) {
		printf("0 -\n");
		return EXIT_FAILED;
	}
	getsockopt(s[0], IPPROTO_TCP, TCP_CONGESTION, cc, &len);
	getsockopt(s[0], SOL_SOCKET, SO_MARK, &mark, &mark_len);
	printf("%d %s\n", mark, cc);
	return EXIT_FINE;
}

void check_connection(bool carrier)
{
	char line[1024], self[256] = "", cc[32] = "";
	unsigned int mark = 0;
	FILE *f;

	if (common.dry_run)
		return;
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || strpbrk(self, "'\\"))
		return;
	if (common.place)
		setenv("MLCC_TRIED_AT", common.place, 1);
	snprintf(line, sizeof(line),
		 "'%s' %s run --strict --skip none -- '%s' doctor --connection 2>&1", self,
		 common.place ? "--socket \"$MLCC_TRIED_AT\"" : "", self);
	f = popen(line, "re");
	if (!f || !fgets(line, sizeof(line), f))
		*line = '\0';
	if (f)
		pclose(f);
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%u %31s", &mark, cc) != 2)
		result(NOTE, "connection", "run doctor as root to see more",
		       "whether a job's are tagged is unknown: %.300s", line);
	else if (!strcmp(cc, "-"))
		result(BAD, "connection", "packet filters, policy rules for its mark, or lo is down",
		       "a job's connection over the loopback does not carry a byte");
	else if (!mark || (carrier && strncmp(cc, "mlcc", 4)))
		result(BAD, "connection", "see the lines on tagger and carrier",
		       "a job's has the mark %u and the congestion control %s", mark, cc);
	else
		result(carrier ? FINE : NOTE, "connection", "",
		       "a job's has its mark and %s, and carries a byte", cc);
}

/*** Others' use of marks ***/

static uint64_t number_of(struct json_object *o, const char *key, uint64_t otherwise)
{
	const char *s = get_string(o, key);

	return *s ? strtoull(s, NULL, 0) : otherwise;
}

/* What @command prints as JSON; NULL: it fails. */
static struct json_object *printed_by(const char *command)
{
	FILE *f = popen(command, "re");
	struct json_object *o = f ? json_object_from_fd(fileno(f)) : NULL;

	if (f && !pclose(f))
		return o;
	json_object_put(o);
	return NULL;
}

#define ELSEWHERE	"give it bits that mark-mask of mlccd.conf has not"

/* Whether all was looked at, and nothing found. */
static bool check_rules_of(const char *command, uint64_t mask)
{
	AUTO_PUT struct json_object *list = printed_by(command);
	struct json_object *rule;
	bool fine = true;

	if (!list) {
		result(NOTE, "marks", "", "policy rules are not looked at: '%.40s' fails", command);
		return false;
	}
	json_each(rule, list) {
		uint64_t of = number_of(rule, "fwmask", UINT32_MAX);
		uint64_t mark = number_of(rule, "fwmark", 0);

		if (!(mark & of & mask) || mark & of & ~mask)
			continue;
		fine = false;
		result(BAD, "marks", ELSEWHERE,
		       "the policy rule %s is of fwmark %#llx: it takes connections of job %llu",
		       get_string(rule, "priority"), (unsigned long long)mark,
		       (unsigned long long)((mark & mask) >> __builtin_ctzll(mask)));
	}
	return fine;
}

/* The bits of an expression of nft's that are those of the packet's mark, or of its socket's. */
static uint64_t mark_bits(struct json_object *e)
{
	static const char *const kinds[] = { "meta", "socket", "&", "|", "^" };
	struct json_object *o = NULL;
	uint64_t own, number;
	size_t i = 0;

	while (i < COUNT(kinds) && !json_object_object_get_ex(e, kinds[i], &o))
		i++;
	if (i == COUNT(kinds))
		return 0;
	if (i < 2)
		return strcmp(get_string(o, "key"), "mark") ? 0 : UINT32_MAX;
	own = mark_bits(json_member(o, 0));
	number = json_object_get_int64(json_member(o, 1));
	return i == 2 ? own & number : own & ~number;
}

static bool is_of_mark(struct json_object *e)
{
	struct json_object *o;

	return json_object_object_get_ex(e, "meta", &o) && !strcmp(get_string(o, "key"), "mark");
}

/* What a statement of a rule does with marks of @mask; NULL: nothing. */
static const char *does_with_marks(struct json_object *statement, uint64_t mask)
{
	struct json_object *o, *left, *right;
	uint64_t of, value;

	if (json_object_object_get_ex(statement, "match", &o) &&
	    json_object_object_get_ex(o, "left", &left) &&
	    json_object_object_get_ex(o, "right", &right)) {
		of = mark_bits(left);
		value = json_object_get_int64(right);
		/* others than one number, and than equality, may be any */
		if (of & mask && (!json_object_is_type(right, json_type_int) ||
				  strcmp(get_string(o, "op"), "==") ||
				  (value & mask && !(value & of & ~mask))))
			return "looks for";
	}
	if (json_object_object_get_ex(statement, "vmap", &o) &&
	    json_object_object_get_ex(o, "key", &left) && mark_bits(left) & mask)
		return "looks for";
	if (json_object_object_get_ex(statement, "mangle", &o) &&
	    json_object_object_get_ex(o, "key", &left) && is_of_mark(left) &&
	    json_object_object_get_ex(o, "value", &right) && ~mark_bits(right) & mask)
		return "writes";
	/* of iptables, and in no words of nft's */
	if (json_object_object_get_ex(statement, "xt", &o) &&
	    strcasestr(get_string(o, "name"), "mark"))
		return "may look for or write";
	return NULL;
}

static bool check_filter_rule(struct json_object *rule, uint64_t mask)
{
	struct json_object *list = NULL, *statement;
	bool fine = true;

	json_object_object_get_ex(rule, "expr", &list);
	json_each(statement, list) {
		const char *does = does_with_marks(statement, mask);

		if (!does)
			continue;
		fine = false;
		result(strcmp(does, "looks for") ? NOTE : BAD, "marks", ELSEWHERE,
		       "rule %s of nft's %s %s %s %s marks that jobs may have",
		       get_string(rule, "handle"), get_string(rule, "family"),
		       get_string(rule, "table"), get_string(rule, "chain"), does);
	}
	return fine;
}

/* nft tells iptables' rules as well, but for those of its older back end. */
static bool check_filters(uint64_t mask)
{
	AUTO_PUT struct json_object *ruleset = printed_by("nft -j list ruleset 2>/dev/null");
	struct json_object *list, *o, *rule;
	bool fine = true;

	if (!ruleset || !json_object_object_get_ex(ruleset, "nftables", &list)) {
		result(NOTE, "marks", "as root, with nft installed",
		       "what packet filters do with marks is unknown: 'nft -j list ruleset' fails");
		return false;
	}
	json_each(o, list)
		if (json_object_object_get_ex(o, "rule", &rule))
			fine &= check_filter_rule(rule, mask);
	return fine;
}

static bool has_older_tables(void)
{
	static const char *const lists[] = {
		"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names",
	};
	char line[64];
	bool any = false;

	for (size_t i = 0; i < COUNT(lists); i++) {
		AUTO_FCLOSE FILE *f = fopen(lists[i], "re");

		/* who may not read it cannot tell */
		any |= f ? !!fgets(line, sizeof(line), f) : errno != ENOENT;
	}
	return any;
}

void check_marks(uint64_t mask)
{
	bool fine;

	if (!mask)
		mask = 0xff;
	fine = check_rules_of("ip -j rule 2>/dev/null", mask);
	fine &= check_rules_of("ip -6 -j rule 2>/dev/null", mask);
	fine &= check_filters(mask);
	if (has_older_tables())
		result(NOTE, "marks", "'iptables-legacy-save' shows them",
		       "what tables of the older iptables do with marks is unknown");
	else if (fine)
		result(FINE, "marks", "", "no policy rule and no packet filter is about jobs' marks");
}

/*** Next hops ***/

/* A group's are not in the route where net.ipv4.nexthop_compat_mode is 0. */
static size_t next_hops(struct json_object *route, struct json_object *groups)
{
	struct json_object *list, *group;

	if (json_object_object_get_ex(route, "nexthops", &list))
		return json_object_array_length(list);
	json_each(group, groups)
		if (!strcmp(get_string(group, "id"), get_string(route, "nhid")) &&
		    json_object_object_get_ex(group, "group", &list))
			return json_object_array_length(list);
	return 1;
}

/* Or may; IPv6 has a flow's label besides. */
static bool ports_count(void)
{
	char policy[8];

	return !first_line("/proc/sys/net/ipv4/fib_multipath_hash_policy", policy, sizeof(policy)) ||
	       (*policy != '0' && *policy != '2');
}

void check_paths(void)
{
	AUTO_PUT struct json_object *routes = printed_by("ip -j route show table all 2>/dev/null");
	AUTO_PUT struct json_object *groups = printed_by("ip -j nexthop 2>/dev/null");
	struct json_object *route;
	const char *to = "";
	size_t most = 1;

	json_each(route, routes) {
		size_t hops = next_hops(route, groups);

		if (hops > most) {
			most = hops;
			to = get_string(route, "dst");
		}
	}
	if (!routes)
		result(NOTE, "paths", "",
		       "whether routes have several next hops is unknown: 'ip -j route' fails");
	else if (most == 1)
		result(FINE, "paths", "",
		       "no route has several next hops; those of switches are not seen from here");
	else
		result(NOTE, "paths", "'mlcc-ctl run --paths 8' spreads NCCL's connections",
		       "the route to %s has %zu next hops%s", to, most, ports_count() ? "" :
		       "; IPv4's are chosen by addresses alone (net.ipv4.fib_multipath_hash_policy)");
}
