// SPDX-License-Identifier: GPL-2.0
/*
 * The plugin over TCP.  On the wire a message is its length, 8 bytes, and what is in it.  A send is
 * done when the kernel has taken all of it.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "plugin.h"

#define UNSENT_BYTES	(128 * 1024)

struct request {
	struct comm *comm;
	bool taken;
	char *data;
	uint64_t room;		/* for a message, or its length */
	uint64_t size;		/* what goes over the wire */
	uint64_t moved;		/* of the length and what follows */
};

struct transport {
	struct request requests[REQUESTS];
	unsigned int first, count;	/* those that are not done, in their order */
};

const char transport_name[] = "sockets";
const size_t transport_size = sizeof(struct transport);

int transport_start(struct comm *c)
{
	int unsent = UNSENT_BYTES;

	/* as mlcc-burst has it */
	return setsockopt(c->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

int transport_ready(struct comm *c)
{
	(void)c;
	return 1;
}

void transport_close(struct comm *c)
{
	(void)c;
}

int reg_mr(void *comm, void *data, size_t size, int type, void **mhandle)
{
	(void)comm;
	(void)data;
	(void)size;
	*mhandle = NULL;
	return type == HOST_MEMORY ? 0 : NCCL_INVALID;
}

int dereg_mr(void *comm, void *mhandle)
{
	(void)comm;
	(void)mhandle;
	return 0;
}

static int request_new(struct comm *c, void *data, size_t size, void **request)
{
	struct transport *t = c->own;
	struct request *r = &t->requests[(t->first + t->count) % REQUESTS];

	*request = NULL;
	if (t->count == REQUESTS || r->taken)
		return 0;
	*r = (struct request){ c, true, data, size, size, 0 };
	t->count++;
	*request = r;
	return 0;
}

int isend(void *comm, void *data, size_t size, int tag, void *mhandle, void **request)
{
	(void)tag;
	(void)mhandle;
	return request_new(comm, data, size, request);
}

int irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
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
	struct transport *t = c->own;
	struct request *r = &t->requests[t->first];

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
	t->first = (t->first + 1) % REQUESTS;
	t->count--;
	return 1;
}

int test(void *request, int *done, int *sizes)
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
