// SPDX-License-Identifier: GPL-2.0
/*
 * A network plugin of NCCL's over TCP, version 9, as plain as can be: one connection, no threads,
 * memory of the host only.  On the wire a message is its length, 8 bytes, and what is in it.
 *
 * A send is done when the kernel has taken all of it.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../../userspace/nccl-net/abi.h"
#include "tcp.h"

#define REQUESTS	32
#define NCCL_INVALID	4
#define UNSENT_BYTES	(128 * 1024)

struct comm;

struct request {
	struct comm *comm;
	bool taken;
	char *data;
	uint64_t room;		/* for a message, or its length */
	uint64_t size;		/* what goes over the wire */
	uint64_t moved;		/* of the length and what follows */
};

struct comm {
	int fd;
	bool sends;
	struct request requests[REQUESTS];
	unsigned int first, count;	/* those that are not done, in their order */
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

static int comm_new(int fd, bool sends, void **comm)
{
	struct comm *c = fd < 0 ? NULL : calloc(1, sizeof(*c));
	int unsent = UNSENT_BYTES;

	if (!c)
		return NCCL_SYSTEM_ERROR;
	c->fd = fd;
	c->sends = sends;
	/* as mlcc-burst has it */
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	*comm = c;
	return 0;
}

static int do_listen(int dev, void *handle, void **comm)
{
	(void)dev;
	return comm_new(tcp_listen(handle), false, comm);
}

static int do_connect(int dev, void *handle, void **comm, void **offload)
{
	struct handle *h = handle;
	struct comm *c;
	int stands;

	(void)dev;
	(void)offload;
	*comm = NULL;
	if (!h->connecting && comm_new(tcp_connect(h), true, &h->connecting))
		return NCCL_SYSTEM_ERROR;
	c = h->connecting;
	stands = tcp_connected(c->fd, h);
	if (stands > 0)
		*comm = c;
	return stands < 0 ? NCCL_SYSTEM_ERROR : 0;
}

static int do_accept(void *listening, void **comm, void **offload)
{
	struct comm *l = listening;
	int fd = tcp_accept(l->fd);

	(void)offload;
	*comm = NULL;
	return fd == -1 ? 0 : comm_new(fd, false, comm);
}

static int reg_mr(void *comm, void *data, size_t size, int type, void **mhandle)
{
	(void)comm;
	(void)data;
	(void)size;
	*mhandle = NULL;
	return type == 1 ? 0 : NCCL_INVALID;
}

static int dereg_mr(void *comm, void *mhandle)
{
	(void)comm;
	(void)mhandle;
	return 0;
}

static int request_new(struct comm *c, void *data, size_t size, void **request)
{
	struct request *r = &c->requests[(c->first + c->count) % REQUESTS];

	*request = NULL;
	if (c->count == REQUESTS || r->taken)
		return 0;
	*r = (struct request){ c, true, data, size, size, 0 };
	c->count++;
	*request = r;
	return 0;
}

static int isend(void *comm, void *data, size_t size, int tag, void *mhandle, void **request)
{
	(void)tag;
	(void)mhandle;
	return request_new(comm, data, size, request);
}

static int irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
		 void **request)
{
	(void)tags;
	(void)mhandles;
	return n == 1 ? request_new(comm, data[0], sizes[0], request) : NCCL_INVALID;
}

static bool is_done(const struct request *r)
{
	return r->moved == sizeof(r->size) + r->size;
}

/* What is to be moved next of it: its length, or what is in it. */
static struct iovec part_of(struct request *r)
{
	const uint64_t head = sizeof(r->size);

	if (r->moved < head)
		return (struct iovec){ (char *)&r->size + r->moved, head - r->moved };
	return (struct iovec){ r->data + (r->moved - head), r->size - (r->moved - head) };
}

/* The oldest one, as far as it goes.  1: it is done, 0: not yet, -1: an error. */
static int move(struct comm *c)
{
	struct request *r = &c->requests[c->first];

	while (!is_done(r)) {
		struct iovec part = part_of(r);
		ssize_t n = c->sends ? send(c->fd, part.iov_base, part.iov_len, MSG_NOSIGNAL) :
				       recv(c->fd, part.iov_base, part.iov_len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -1;
		r->moved += (uint64_t)n;
		/* what comes is longer than the room for it */
		if (r->moved == sizeof(r->size) && r->size > r->room)
			return -1;
	}
	c->first = (c->first + 1) % REQUESTS;
	c->count--;
	return 1;
}

static int test(void *request, int *done, int *sizes)
{
	struct request *r = request;
	int moved = 1;

	while (moved > 0 && !is_done(r))
		moved = move(r->comm);
	if (moved < 0)
		return NCCL_SYSTEM_ERROR;
	*done = is_done(r);
	if (*done && sizes)
		*sizes = (int)r->size;
	r->taken = !*done;
	return 0;
}

static int do_close(void *comm)
{
	struct comm *c = comm;

	close(c->fd);
	free(c);
	return 0;
}

__attribute__((visibility("default"))) const struct net ncclNetPlugin_v9 = {
	.name = "sockets",
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
