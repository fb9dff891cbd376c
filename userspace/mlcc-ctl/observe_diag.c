// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A dump makes the kernel walk its whole table of connections, milliseconds on a large host. So it
 * is for finding them; then each is asked for by its address, many in one call.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "ctl.h"
#include "observe.h"

#define REPLY		2048
#define BUFFER		32768
#define STATES		(1 << 1 | 1 << 4 | 1 << 8)	/* established, FIN_WAIT1, CLOSE_WAIT */
#define DEVICES		64

static struct mnl_socket *diag, *route;
static char devices[DEVICES][IF_NAMESIZE];
static unsigned int device_count;

static struct mnl_socket *open_netlink(int bus)
{
	struct mnl_socket *s = mnl_socket_open2(bus, SOCK_CLOEXEC);

	if (!s || mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) < 0)
		die(EXIT_FAILED, "netlink: %s", strerror(errno));
	return s;
}

void observe_open(void)
{
	diag = open_netlink(NETLINK_SOCK_DIAG);
	route = open_netlink(NETLINK_ROUTE);
}

/* What a reply says of a socket; NULL: nothing. */
static const struct inet_diag_msg *reply_of(const struct nlmsghdr *nlh)
{
	if (nlh->nlmsg_type < NLMSG_MIN_TYPE ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(struct inet_diag_msg))
		return NULL;
	return mnl_nlmsg_get_payload(nlh);
}

static int take_found(const struct nlmsghdr *nlh, void *o)
{
	const struct inet_diag_msg *m = reply_of(nlh);
	const struct nlattr *attr;
	uint64_t cgroup = 0;

	if (!m)
		return MNL_CB_OK;
	mnl_attr_for_each(attr, nlh, sizeof(*m))
		if (mnl_attr_get_type(attr) == INET_DIAG_CGROUP_ID &&
		    mnl_attr_get_payload_len(attr) == sizeof(cgroup))
			cgroup = mnl_attr_get_u64(attr);
	observe_found(o, m, cgroup);
	return MNL_CB_OK;
}

/* By the older of two requests: that walks the table once, for both families. */
void observe_search(struct observe *o)
{
	_Alignas(struct nlmsghdr) char buf[BUFFER];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct inet_diag_req *req;
	int ret = MNL_CB_OK;

	nlh->nlmsg_type = TCPDIAG_GETSOCK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = o->search;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->idiag_states = STATES;
	if (mnl_socket_sendto(diag, nlh, nlh->nlmsg_len) < 0)
		die(EXIT_FAILED, "sock_diag: %s", strerror(errno));
	while (ret > MNL_CB_STOP) {
		ret = mnl_socket_recvfrom(diag, buf, sizeof(buf));
		if (ret > 0)
			ret = mnl_cb_run(buf, ret, o->search, mnl_socket_get_portid(diag),
					 take_found, o);
	}
	/* EINTR: the table has changed meanwhile; it is searched again soon */
	if (ret < 0 && errno != EINTR)
		die(EXIT_FAILED, "sock_diag: %s", strerror(errno));
}

/* The number of a request is that of its socket. */
static void take_reply(struct observe_socket **sockets, unsigned int n, const struct nlmsghdr *nlh)
{
	const struct inet_diag_msg *m = reply_of(nlh);
	const struct nlattr *attr;
	struct observe_flow *f;

	if (nlh->nlmsg_seq >= n)
		return;
	f = &sockets[nlh->nlmsg_seq]->flow;
	sockets[nlh->nlmsg_seq]->gone |= nlh->nlmsg_type == NLMSG_ERROR;
	if (!m)
		return;
	mnl_attr_for_each(attr, nlh, sizeof(*m)) {
		size_t len = mnl_attr_get_payload_len(attr);

		if (mnl_attr_get_type(attr) != INET_DIAG_INFO)
			continue;
		memcpy(&f->now, mnl_attr_get_payload(attr), len < sizeof(f->now) ? len : sizeof(f->now));
		f->fresh = true;
	}
}

static size_t put_question(void *at, uint32_t seq, const struct observe_socket *s)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(at);
	struct inet_diag_req_v2 *req;

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = seq;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->sdiag_family = s->family;
	req->sdiag_protocol = IPPROTO_TCP;
	req->idiag_ext = 1 << (INET_DIAG_INFO - 1);
	req->id = s->id;
	return nlh->nlmsg_len;
}

void observe_ask(struct observe_socket **sockets, unsigned int n)
{
	static _Alignas(struct nlmsghdr) char replies[OBSERVE_BATCH][REPLY];
	_Alignas(struct nlmsghdr) char buf[OBSERVE_BATCH * 128];
	struct mmsghdr msgs[OBSERVE_BATCH] = { };
	struct iovec at[OBSERVE_BATCH];
	size_t len = 0;
	int got;

	for (unsigned int i = 0; i < n; i++) {
		at[i] = (struct iovec){ replies[i], REPLY };
		msgs[i].msg_hdr.msg_iov = &at[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
		len += put_question(buf + len, i, sockets[i]);
	}
	if (mnl_socket_sendto(diag, buf, len) < 0)
		die(EXIT_FAILED, "sock_diag: %s", strerror(errno));
	/* the kernel has answered before it returns */
	got = recvmmsg(mnl_socket_get_fd(diag), msgs, n, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++)
		if (mnl_nlmsg_ok((void *)replies[i], msgs[i].msg_len))
			take_reply(sockets, n, (void *)replies[i]);
}

/*** Devices ***/

uint64_t observe_device_bit(const char *name)
{
	char clean[IF_NAMESIZE];
	unsigned int i = 0;

	snprintf(clean, sizeof(clean), "%s", name);
	observe_clean(clean);	/* whoever has made it may have named it for those who read metrics */
	while (i < device_count && strcmp(devices[i], clean))
		i++;
	if (i == DEVICES)
		return 0;
	strcpy(devices[i], clean);
	device_count += i == device_count;
	return 1ULL << i;
}

const char *observe_device_name(uint64_t bits)
{
	return bits ? devices[__builtin_ctzll(bits)] : "?";
}

static int take_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr;
	char name[IF_NAMESIZE];

	mnl_attr_for_each(attr, nlh, sizeof(struct rtmsg))
		if (mnl_attr_get_type(attr) == RTA_OIF &&
		    if_indextoname(mnl_attr_get_u32(attr), name))
			*(uint64_t *)arg = observe_device_bit(name);
	return MNL_CB_OK;
}

/* With the ports, of several next hops it is the one that they choose. */
uint64_t observe_device(uint8_t family, const struct inet_diag_sockid *id)
{
	_Alignas(struct nlmsghdr) char buf[BUFFER];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	bool mapped = family == AF_INET6 && IN6_IS_ADDR_V4MAPPED((struct in6_addr *)id->idiag_dst);
	size_t skip = mapped ? 12 : 0, size = family == AF_INET || mapped ? 4 : 16;
	struct rtmsg *rtm;
	uint64_t bit = 0;
	int len;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = size == 4 ? AF_INET : AF_INET6;
	rtm->rtm_dst_len = rtm->rtm_src_len = 8 * size;
	mnl_attr_put(nlh, RTA_DST, size, (const char *)id->idiag_dst + skip);
	mnl_attr_put(nlh, RTA_SRC, size, (const char *)id->idiag_src + skip);
	mnl_attr_put_u8(nlh, RTA_IP_PROTO, IPPROTO_TCP);
	mnl_attr_put_u16(nlh, RTA_SPORT, id->idiag_sport);
	mnl_attr_put_u16(nlh, RTA_DPORT, id->idiag_dport);
	if (mnl_socket_sendto(route, nlh, nlh->nlmsg_len) < 0)
		return 0;
	len = mnl_socket_recvfrom(route, buf, sizeof(buf));
	if (len > 0)
		mnl_cb_run(buf, len, 0, 0, take_route, &bit);
	return bit;
}
