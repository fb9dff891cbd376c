// SPDX-License-Identifier: GPL-2.0
/* NCCL's network plugin interface as mlcc-burst uses it: version 9. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "burst_net.h"

#define POLL_NS		1000000
#define HOST_MEMORY	1
#define TABLE		"ncclNetPlugin_v9"

static const struct net *net;
static LIST_HEAD(, net_poll) polls = LIST_HEAD_INITIALIZER(polls);

__attribute__((format(printf, 5, 6)))
static void logger(int level, unsigned long subsystems, const char *file, int line,
		   const char *format, ...)
{
	va_list args;

	(void)subsystems;
	(void)file;
	(void)line;
	if (level != NCCL_LOG_WARN)
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static void check(int err, const char *what)
{
	if (err)
		die(EXIT_SYSTEM, "network plugin: %s: error %d", what, err);
}

static void tick(struct watch *watch, uint32_t events)
{
	struct net_poll *poll, *next;
	uint64_t times;

	(void)events;
	if (read(watch->fd, &times, sizeof(times)) < 0)
		return;
	for (poll = LIST_FIRST(&polls); poll; poll = next) {
		next = LIST_NEXT(poll, link);
		poll->look(poll);
	}
}

static void start_ticking(void)
{
	static const struct itimerspec often = { { 0, POLL_NS }, { 0, POLL_NS } };
	static struct watch timer = { .ready = tick };

	timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer.fd < 0 || timerfd_settime(timer.fd, 0, &often, NULL))
		die(EXIT_SYSTEM, "timerfd: %s", strerror(errno));
	loop_add(&timer, EPOLLIN);
}

void net_open(void)
{
	const char *path = getenv("NCCL_NET_PLUGIN");
	void *lib;

	if (net)
		return;
	if (!path)
		die(EXIT_USAGE, "NCCL_NET_PLUGIN: the path of a network plugin is wanted");
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		die(EXIT_SYSTEM, "%s", dlerror());
	net = dlsym(lib, TABLE);
	if (!net)
		die(EXIT_SYSTEM, "%s: has no " TABLE, path);
	check(net->init.v8(logger), "init");
	start_ticking();
}

void net_poll_add(struct net_poll *poll)
{
	LIST_INSERT_HEAD(&polls, poll, link);
}

void net_listen(void *handle, void **comm)
{
	check(((int (*)(int, void *, void **))net->listen)(0, handle, comm), "listen");
}

void net_connect(void *handle, void **comm)
{
	void *offload = NULL;

	check(net->connect.v8(0, handle, comm, &offload), "connect");
}

void net_accept(void *listening, void **comm)
{
	void *offload = NULL;

	check(((int (*)(void *, void **, void **))net->accept)(listening, comm, &offload),
	      "accept");
}

void *net_register(void *comm, void *data, size_t size)
{
	void *mhandle = NULL;

	check(net->reg_mr(comm, data, size, HOST_MEMORY, &mhandle), "registration of memory");
	return mhandle;
}

void *net_send(void *comm, void *data, size_t size, void *mhandle)
{
	void *request = NULL;

	check(net->isend.v9(comm, data, size, 0, mhandle, &request), "isend");
	return request;
}

void *net_receive(void *comm, void *data, size_t size, void *mhandle)
{
	int (*irecv)(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
		     void **request) = (void *)net->irecv;
	void *request = NULL;
	int tag = 0;

	check(irecv(comm, 1, &data, &size, &tag, &mhandle, &request), "irecv");
	return request;
}

bool net_done(void *request, size_t *size)
{
	int done = 0, bytes = 0;

	check(net->test(request, &done, &bytes), "test");
	*size = (size_t)bytes;
	return done;
}
