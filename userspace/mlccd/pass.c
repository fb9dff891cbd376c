// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "pass.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83	/* newer than the headers of distributions */
#endif

void pass_allow(int fd, bool yes)
{
	int value = yes;

	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof(value));
}

struct control {
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * PASS_FDS)];
	};
};

int pass_send(int fd, const void *what, size_t size, const int *fds, unsigned int count, int flags)
{
	struct iovec io = { .iov_base = (void *)what, .iov_len = size };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
	struct control control = { };
	struct cmsghdr *c;

	if (count) {
		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL | flags) < 0 ? -errno : 0;
}

/* Returns how many there were room for. */
static unsigned int take_fds(struct msghdr *m, int fds[PASS_FDS])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	unsigned int n;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	return n;
}

ssize_t pass_receive(int fd, void *to, size_t size, int fds[PASS_FDS], unsigned int *count,
		     int *flags)
{
	struct iovec io = { .iov_base = to, .iov_len = size };
	struct control control = { };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1,
		.msg_control = control.space, .msg_controllen = sizeof(control.space),
	};
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | *flags);

	*count = n < 0 ? 0 : take_fds(&m, fds);
	*flags = m.msg_flags;
	return n < 0 ? -errno : n;
}
