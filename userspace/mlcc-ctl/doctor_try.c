// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * doctor, what can be tried: that it is there says not that it works.
 *
 * A connection over the loopback is made by this program, run as a job's command by itself.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctl.h"
#include "findings.h"

int try_bpf(void)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr a = {
		.prog_type = BPF_PROG_TYPE_SOCK_OPS,
		.expected_attach_type = BPF_CGROUP_SOCK_OPS,
		.insns = (uintptr_t)nothing, .insn_cnt = 2, .license = (uintptr_t)"GPL",
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int try_cc(const char *name)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)))
		err = -errno;
	close(fd);
	return err;
}

/*** A connection ***/

/* Whether a byte arrives; @s: the two ends. */
static bool connected(int s[2])
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

	if (!connected(s)) {
		printf("0 -\n");
		return EXIT_REFUSED;
	}
	getsockopt(s[0], IPPROTO_TCP, TCP_CONGESTION, cc, &len);
	getsockopt(s[0], SOL_SOCKET, SO_MARK, &mark, &mark_len);
	printf("%d %s\n", mark, cc);
	return EXIT_FINE;
}

void check_connection(bool carrier)
{
	char line[512], self[256] = "", cc[32] = "";
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

static void check_rules_of(const char *command, uint64_t mask)
{
	char text[65536];
	struct json_object *list;
	FILE *f = popen(command, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (!f || pclose(f)) {
		result(NOTE, "marks", "", "policy rules are not looked at: '%.40s' fails", command);
		return;
	}
	list = json_tokener_parse(text);
	for (size_t i = 0; json_object_is_type(list, json_type_array) &&
	     i < json_object_array_length(list); i++) {
		struct json_object *rule = json_object_array_get_idx(list, i);
		uint64_t of = number_of(rule, "fwmask", UINT32_MAX);
		uint64_t mark = number_of(rule, "fwmark", 0);

		if (json_object_object_get_ex(rule, "fwmark", NULL) && of & mask &&
		    !(mark & of & ~mask))
			result(BAD, "marks", "give it bits that mark-mask of mlccd.conf has not",
			       "the policy rule %s is of fwmark %#llx: it takes connections of job %llu",
			       get_string(rule, "priority"), (unsigned long long)mark,
			       (unsigned long long)((mark & mask) >> __builtin_ctzll(mask)));
	}
	json_object_put(list);
}

void check_marks(uint64_t mask)
{
	if (!mask)
		mask = 0xff;
	check_rules_of("ip -j rule 2>/dev/null", mask);
	check_rules_of("ip -6 -j rule 2>/dev/null", mask);
	result(NOTE, "marks", "'nft list ruleset' and 'iptables-save' show them",
	       "what packet filters do with marks is not looked at");
}
