// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Policy rules, as rtnetlink tells them to anybody who may open its socket. */
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "rules.h"

struct search {
	uint32_t mark;
	bool found;
};

/* A rule that is about what has no mark, too, is about everybody's. */
static int look_at_rule(const struct nlmsghdr *m, void *arg)
{
	uint32_t is = 0, of = UINT32_MAX;
	const struct nlattr *a;
	struct search *s = arg;

	mnl_attr_for_each(a, m, sizeof(struct fib_rule_hdr)) {
		if (mnl_attr_get_type(a) == FRA_FWMARK && mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
			is = mnl_attr_get_u32(a);
		if (mnl_attr_get_type(a) == FRA_FWMASK && mnl_attr_validate(a, MNL_TYPE_U32) >= 0)
			of = mnl_attr_get_u32(a);
	}
	s->found |= is & of && (is & of) == (s->mark & of);
	return MNL_CB_OK;
}

bool rules_have(uint32_t mark)
{
	static _Alignas(struct nlmsghdr) char text[32768];
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct nlmsghdr *m = mnl_nlmsg_put_header(text);
	struct search s = { .mark = mark };
	ssize_t n;

	m->nlmsg_type = RTM_GETRULE;
	m->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(m, sizeof(struct fib_rule_hdr));
	if (!socket)
		return false;
	n = mnl_socket_sendto(socket, m, m->nlmsg_len);
	do {
		n = n < 0 ? n : mnl_socket_recvfrom(socket, text, sizeof(text));
	} while (n > 0 && mnl_cb_run(text, n, 0, 0, look_at_rule, &s) > 0);
	mnl_socket_close(socket);
	return s.found;
}
