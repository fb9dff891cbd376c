// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tcp.h"

#define BACKLOG	16

static int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* That of the first interface that is up and no loopback.  -1: there is none. */
static int own_address(struct sockaddr_in *address)
{
	struct ifaddrs *all, *i;
	int err = -1;

	if (getifaddrs(&all))
		return err;
	for (i = all; i && err; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && i->ifa_flags & IFF_UP &&
		    !(i->ifa_flags & IFF_LOOPBACK)) {
			memcpy(address, i->ifa_addr, sizeof(*address));
			err = 0;
		}
	freeifaddrs(all);
	return err;
}

int tcp_listen(struct handle *h)
{
	socklen_t size = sizeof(h->address);
	int fd = tcp_socket();

	memset(h, 0, sizeof(*h));
	if (fd < 0 || own_address(&h->address))
		goto failed;
	h->address.sin_port = 0;
	if (bind(fd, (struct sockaddr *)&h->address, size) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&h->address, &size))
		goto failed;
	return fd;
failed:
	if (fd >= 0)
		close(fd);
	return -1;
}

int tcp_connect(const struct handle *h)
{
	int fd = tcp_socket();

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&h->address, sizeof(h->address)) &&
	    errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

int tcp_connected(int fd, const struct handle *h)
{
	/* asked again it says how the first time ended */
	if (!connect(fd, (const struct sockaddr *)&h->address, sizeof(h->address)) ||
	    errno == EISCONN)
		return 1;
	return errno == EALREADY || errno == EINPROGRESS ? 0 : -1;
}

int tcp_accept(int fd)
{
	int one = 1, got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (got < 0)
		return errno == EAGAIN ? -1 : -2;
	setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return got;
}
