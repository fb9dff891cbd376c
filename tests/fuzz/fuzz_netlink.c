// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel replies to libmlcc, as a newer or a broken one might: the functions that talk to
 * the socket are these here, in the place of libmnl's.
 *
 * Input: a byte that says what is asked, then one packet of messages.  Sequence and port are put
 * right, or hardly any message would be looked at.
 */
#include <assert.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdint.h>
#include <string.h>

#include "../../include/mlcc/uapi/mlcc_netlink.h"
#include "../../userspace/libmlcc/libmlcc.h"

#define PORT	77
#define FAMILY	30

static const uint8_t *packet;		/* NULL: has been received */
static size_t packet_len;
static struct nlmsghdr asked;

struct mnl_socket *mnl_socket_open2(int bus, int flags)
{
	static int some;

	return (struct mnl_socket *)&some;
}

int mnl_socket_bind(struct mnl_socket *s, unsigned int groups, pid_t pid)
{
	return 0;
}

int mnl_socket_setsockopt(const struct mnl_socket *s, int type, void *buf, socklen_t len)
{
	return 0;
}

unsigned int mnl_socket_get_portid(const struct mnl_socket *s)
{
	return PORT;
}

int mnl_socket_close(struct mnl_socket *s)
{
	return 0;
}

ssize_t mnl_socket_sendto(const struct mnl_socket *s, const void *buf, size_t len)
{
	memcpy(&asked, buf, sizeof(asked));
	return len;
}

static size_t put_head(void *buf, uint16_t type)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_seq = asked.nlmsg_seq;
	nlh->nlmsg_pid = PORT;
	return nlh->nlmsg_len;
}

/* All went well: the end of every exchange. */
static ssize_t acknowledge(char *buf)
{
	struct nlmsgerr *err;

	put_head(buf, NLMSG_ERROR);
	err = mnl_nlmsg_put_extra_header((struct nlmsghdr *)buf, sizeof(*err));
	err->error = 0;
	return ((struct nlmsghdr *)buf)->nlmsg_len;
}

static ssize_t family(char *buf)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

	put_head(buf, GENL_ID_CTRL);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct genlmsghdr));
	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID, FAMILY);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, MLCC_GENL_NAME);
	return nlh->nlmsg_len + acknowledge(buf + nlh->nlmsg_len);
}

static ssize_t next_packet(char *buf, size_t size)
{
	int len = packet_len < size ? packet_len : size;

	memcpy(buf, packet, len);
	packet = NULL;
	for (struct nlmsghdr *nlh = (struct nlmsghdr *)buf; len >= (int)sizeof(*nlh);
	     nlh = mnl_nlmsg_next(nlh, &len)) {
		nlh->nlmsg_seq = asked.nlmsg_seq;
		nlh->nlmsg_pid = PORT;
		if (nlh->nlmsg_len < sizeof(*nlh) || nlh->nlmsg_len > (uint32_t)len)
			break;
	}
	return packet_len < size ? packet_len : size;
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *s, void *buf, size_t size)
{
	if (asked.nlmsg_type == GENL_ID_CTRL)
		return family(buf);
	return packet ? next_packet(buf, size) : acknowledge(buf);
}

static void check_text(const char *s, size_t size)
{
	assert(memchr(s, '\0', size));
}

static int check_job(const struct mlcc_job_info *info, void *arg)
{
	check_text(info->conf.name, sizeof(info->conf.name));
	check_text(info->conf.profile, sizeof(info->conf.profile));
	return 0;
}

static int check_profile(const struct mlcc_profile_conf *p, void *arg)
{
	check_text(p->name, sizeof(p->name));
	check_text(p->base, sizeof(p->base));
	check_text(p->restart, sizeof(p->restart));
	return 0;
}

static void ask(struct mlcc *m, uint8_t what)
{
	struct mlcc_job_conf conf = { .id = 1 };
	struct mlcc_profile_conf profile;
	struct mlcc_job_info info;

	switch (what % 5) {
	case 0:
		mlcc_job_each(m, check_job, NULL);
		break;
	case 1:
		if (!mlcc_job_get(m, 1, &info))
			check_job(&info, NULL);
		break;
	case 2:
		mlcc_profile_each(m, check_profile, NULL);
		break;
	case 3:
		if (!mlcc_profile_get(m, "mltcp", &profile))
			check_profile(&profile, NULL);
		break;
	default:
		mlcc_job_set(m, &conf, true);
	}
	check_text(mlcc_error(m), 256);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mlcc *m;

	if (!size)
		return 0;
	packet = NULL;
	assert(!mlcc_open(&m, MLCC_CARRIER_MODULE));
	packet = data + 1;
	packet_len = size - 1;
	ask(m, data[0]);
	mlcc_close(m);
	return 0;
}
