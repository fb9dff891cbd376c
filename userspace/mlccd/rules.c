// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Policy rules, as rtnetlink tells them to anybody who may open its socket. */
#include <linux/fib_rules.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rules.h"

/* A rule that is about what has no mark, too, is about everybody's. */
static bool is_about(struct nlmsghdr *m, uint32_t mark)
{
	struct rtattr *a = (struct rtattr *)((char *)NLMSG_DATA(m) +
					     NLMSG_ALIGN(sizeof(struct fib_rule_hdr)));
	int len = NLMSG_PAYLOAD(m, sizeof(struct fib_rule_hdr));
	uint32_t is = 0, of = UINT32_MAX;

	for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (RTA_PAYLOAD(a) != sizeof(is))
			continue;
		if (a->rta_type == FRA_FWMARK)
			memcpy(&is, RTA_DATA(a), sizeof(is));
		else if (a->rta_type == FRA_FWMASK)
			memcpy(&of, RTA_DATA(a), sizeof(of));
	}
	return is & of && (is & of) == (mark & of);
}

/* One packet of the answer; false: it was the last. */
static bool rules_look_at(struct nlmsghdr *m, unsigned int len, uint32_t mark, bool *found)
{
	for (; NLMSG_OK(m, len); m = NLMSG_NEXT(m, len)) {
		if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR)
			return false;
		*found |= m->nlmsg_type == RTM_NEWRULE && is_about(m, mark);
	}
	return true;
}

bool rules_have(uint32_t mark)
{
	const struct {
		struct nlmsghdr head;
		struct fib_rule_hdr rule;
	} all = { .head = {
		.nlmsg_len = sizeof(all), .nlmsg_type = RTM_GETRULE,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	} };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	static _Alignas(struct nlmsghdr) char text[32768];
	bool found = false;
	ssize_t n;

	if (fd >= 0 && send(fd, &all, sizeof(all), 0) == sizeof(all)) {
		do {
			n = recv(fd, text, sizeof(text), 0);
		} while (n > 0 && rules_look_at((struct nlmsghdr *)text, n, mark, &found));
	}
	if (fd >= 0)
		close(fd);
	return found;
}
