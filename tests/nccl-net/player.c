// SPDX-License-Identifier: GPL-2.0
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "player.h"

char player_warning[512], player_remark[512];
uint64_t clock_ns = 1000000000;

/* It takes the place of the C library's, for the plugin too. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id != CLOCK_MONOTONIC)
		return syscall(SYS_clock_gettime, id, t);
	t->tv_sec = clock_ns / 1000000000;
	t->tv_nsec = clock_ns % 1000000000;
	return 0;
}

static void logger(int level, unsigned long subsystems, const char *file, int line,
		   const char *format, ...)
{
	char *to = level == NCCL_LOG_WARN ? player_warning : player_remark;
	va_list args;

	va_start(args, format);
	vsnprintf(to, sizeof(player_warning), format, args);
	va_end(args);
}

struct player player_open(const char *path, int version)
{
	struct player p = { .lib = dlopen(path, RTLD_NOW | RTLD_LOCAL), .version = version };
	char name[32];

	if (!p.lib) {
		printf("Bail out! %s\n", dlerror());
		exit(1);
	}
	snprintf(name, sizeof(name), "ncclNetPlugin_v%d", version);
	p.net = dlsym(p.lib, name);
	return p;
}

int player_init(struct player *p)
{
	static int config = -1;

	if (p->version < 10)
		return p->net->init.v8(logger);
	if (p->version == 10)
		return p->net->init.v10(logger, NULL);
	return p->net->init.v11(&p->ctx, 5, &config, logger, NULL);
}

int player_connect(struct player *p, int dev, void *handle, void **comm, void **offload)
{
	static int config = -1;

	if (p->version < 10)
		return p->net->connect.v8(dev, handle, comm, offload);
	if (p->version == 10)
		return p->net->connect.v10(dev, &config, handle, comm, offload);
	return p->net->connect.v11(p->ctx, dev, handle, comm, offload);
}

int player_isend(struct player *p, void *comm, void *data, size_t size, void **request)
{
	*request = NULL;
	if (p->version == 8)
		return p->net->isend.v8(comm, data, size, 0, NULL, request);
	if (p->version == 9)
		return p->net->isend.v9(comm, data, size, 0, NULL, request);
	return p->net->isend.v10(comm, data, size, 0, NULL, NULL, request);
}

int player_isend_of_group(struct player *p, void *comm, void *data, size_t size, void **request)
{
	*request = (void *)2;
	return p->net->isend.v10(comm, data, size, 0, NULL, NULL, request);
}
