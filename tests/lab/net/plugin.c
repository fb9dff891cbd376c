// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin.h"

#define BACKLOG	16

/* What NCCL carries from who listens to who connects, 128 bytes at most. */
struct handle {
	struct sockaddr_in address;
	struct comm *connecting;	/* between two tries */
};

static int init(nccl_logger log)
{
	(void)log;
	return 0;
}

static int devices(int *n)
{
	*n = 1;
	return 0;
}

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

static int comm_new(int fd, bool sends, struct comm **comm)
{
	struct comm *c = fd < 0 ? NULL : calloc(1, sizeof(*c));

	*comm = c;
	if (!c)
		return NCCL_SYSTEM_ERROR;
	c->fd = fd;
	c->sends = sends;
	c->own = calloc(1, transport_size);
	return c->own ? 0 : NCCL_SYSTEM_ERROR;
}

static int do_listen(int dev, void *handle, void **comm)
{
	struct handle *h = handle;
	socklen_t size = sizeof(h->address);
	int fd = tcp_socket();

	(void)dev;
	memset(h, 0, sizeof(*h));
	if (fd < 0 || own_address(&h->address))
		return NCCL_SYSTEM_ERROR;
	h->address.sin_port = 0;
	if (bind(fd, (struct sockaddr *)&h->address, size) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&h->address, &size))
		return NCCL_SYSTEM_ERROR;
	return comm_new(fd, false, (struct comm **)comm);
}

/* Once TCP stands; 1: the connection does, 0: not yet, -1: an error. */
static int further(struct comm *c)
{
	if (!c->started && transport_start(c))
		return -1;
	c->started = true;
	return transport_ready(c);
}

static int do_connect(int dev, void *handle, void **comm, void **offload)
{
	struct handle *h = handle;
	int stands;

	(void)dev;
	(void)offload;
	*comm = NULL;
	if (!h->connecting && comm_new(tcp_socket(), true, &h->connecting))
		return NCCL_SYSTEM_ERROR;
	/* asked again it says how the first time ended */
	if (connect(h->connecting->fd, (const struct sockaddr *)&h->address, sizeof(h->address)) &&
	    errno != EISCONN)
		return errno == EALREADY || errno == EINPROGRESS ? 0 : NCCL_SYSTEM_ERROR;
	stands = further(h->connecting);
	if (stands > 0)
		*comm = h->connecting;
	return stands < 0 ? NCCL_SYSTEM_ERROR : 0;
}

static int do_accept(void *listening, void **comm, void **offload)
{
	struct comm *l = listening;
	int fd, stands, one = 1;

	(void)offload;
	*comm = NULL;
	if (!l->accepting) {
		fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 && errno == EAGAIN)
			return 0;
		if (comm_new(fd, false, &l->accepting))
			return NCCL_SYSTEM_ERROR;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}
	stands = further(l->accepting);
	if (stands > 0) {
		*comm = l->accepting;
		l->accepting = NULL;
	}
	return stands < 0 ? NCCL_SYSTEM_ERROR : 0;
}

static int do_close(void *comm)
{
	struct comm *c = comm;

	if (c->started)
		transport_close(c);
	close(c->fd);
	free(c->own);
	free(c);
	return 0;
}

__attribute__((visibility("default"))) const struct net ncclNetPlugin_v9 = {
	.name = transport_name,
	.init.v8 = init,
	.devices = (net_unknown *)devices,
	.listen = (net_unknown *)do_listen,
	.connect.v8 = do_connect,
	.accept = (net_unknown *)do_accept,
	.reg_mr = reg_mr,
	.dereg_mr = dereg_mr,
	.isend.v9 = isend,
	.irecv = (net_unknown *)irecv,
	.test = test,
	.close_send = do_close,
	.close_recv = (net_unknown *)do_close,
	.close_listen = (net_unknown *)do_close,
};
