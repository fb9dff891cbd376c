// SPDX-License-Identifier: GPL-2.0
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "nccl.h"

typedef void logger(int level, unsigned long flags, const char *file, int line, const char *format,
		    ...);

struct table {
	const char *name;
	void *init;
	int (*start)(void *ctx, void **handle, void *descr);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, void *args);
	int (*finalize)(void *ctx);
};

int nccl_version, nccl_mask;
int nccl_warnings;

static const struct table *table;
static void *lib;
static int pid;		/* getpid() is a system call */

static void die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

static void must(int result, const char *what)
{
	if (result)
		die(what);
}

/* The clock */

static _Atomic uint64_t ahead_ns;
static atomic_bool real;
static _Atomic uint64_t frozen_ns;
static _Atomic uint64_t wall_ahead_ns;	/* 0: the clock of day is left alone */

int clock_sleeps;
uint64_t clock_slept_ns;
void (*clock_asleep)(void);

static uint64_t real_ns(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static uint64_t mono_ns(void)
{
	uint64_t ns = 0, now;

	if (!atomic_load(&real) && !atomic_load(&frozen_ns)) {
		now = real_ns();
		atomic_compare_exchange_strong(&frozen_ns, &ns, now);
	}
	ns = atomic_load(&real) ? real_ns() : atomic_load(&frozen_ns);
	return ns + atomic_load(&ahead_ns);
}

/* These take the place of the C library's, for the plugin too. */

int clock_gettime(clockid_t id, struct timespec *t)
{
	uint64_t ns = mono_ns();

	if (id == CLOCK_REALTIME && atomic_load(&wall_ahead_ns))
		ns += atomic_load(&wall_ahead_ns);
	else if (id != CLOCK_MONOTONIC)
		return syscall(SYS_clock_gettime, id, t);
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *left)
{
	uint64_t until = t->tv_sec * 1000000000ULL + t->tv_nsec, now = mono_ns();

	if (id != CLOCK_MONOTONIC || flags != TIMER_ABSTIME)
		die("a sleep that has no end of its own");
	clock_sleeps++;
	clock_slept_ns += until > now ? until - now : 0;
	if (clock_asleep)
		clock_asleep();
	if (until > now)
		atomic_fetch_add(&ahead_ns, until - now);
	return 0;
}

void clock_set_wall_ns(uint64_t ns)
{
	atomic_store(&wall_ahead_ns, ns - mono_ns());
}

void clock_forward_ms(unsigned int ms)
{
	atomic_fetch_add(&ahead_ns, ms * 1000000ULL);
}

void clock_real(void)
{
	atomic_store(&real, true);
}

/* Loading */

void nccl_load(int version)
{
	const char *path = getenv("MLCC_PLUGIN");
	char symbol[32];

	lib = dlopen(path ? path : "", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		die(dlerror());
	snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
	table = dlsym(lib, symbol);
	if (!table)
		die(symbol);
	nccl_version = version;
	pid = getpid();
}

void nccl_unload(void)
{
	dlclose(lib);
	table = NULL;
}

static void log_it(int level, unsigned long flags, const char *file, int line, const char *format,
		   ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("# log %d: %s\n", level, text);
	if (level == 2)
		__atomic_fetch_add(&nccl_warnings, 1, __ATOMIC_RELAXED);
}

struct comm nccl_init(uint64_t id, int nodes, int ranks)
{
	struct comm c = { NULL, nodes, ranks };
	int (*v3)(void **, int *) = table->init;
	int (*v4)(void **, int *, const char *, uint64_t, int, int, int, logger *) = table->init;
	int (*v5)(void **, uint64_t, int *, const char *, int, int, int, logger *) = table->init;
	int result;

	if (nccl_version == 3)
		result = v3(&c.ctx, &nccl_mask);
	else if (nccl_version == 4)
		result = v4(&c.ctx, &nccl_mask, NULL, id, nodes, ranks, 0, log_it);
	else
		result = v5(&c.ctx, id, &nccl_mask, "name", nodes, ranks, 0, log_it);
	must(result, "init failed");
	return c;
}

void nccl_finalize(struct comm *c)
{
	must(table->finalize(c->ctx), "finalize failed");
}

/* Descriptors */

struct descr {
	uint8_t *at;
};

static struct descr descr_new(uint64_t type, void *parent)
{
	static const size_t sizes[] = { 120, 104, 112, 112, 136 };
	size_t size = sizes[nccl_version - 3];
	struct descr d = { malloc(size) };

	memset(d.at, 0xa5, size);
	if (nccl_version <= 4)
		d.at[0] = type;
	else
		memcpy(d.at, &type, 8);
	memcpy(d.at + 8, &parent, 8);
	memset(d.at + 16, 0, 4);
	return d;
}

static void put(struct descr *d, size_t offset, uint64_t value, size_t size)
{
	memcpy(d->at + offset, &value, size);
}

static void put_ptr(struct descr *d, size_t offset, const void *value)
{
	memcpy(d->at + offset, &value, sizeof(value));
}

static void *start(void *ctx, struct descr *d)
{
	void *handle = (void *)0xbad;

	must(table->start(ctx, &handle, d->at), "startEvent failed");
	free(d->at);
	return handle;
}

void *nccl_coll(const struct comm *c, const struct coll *what)
{
	struct descr d = descr_new(2, NULL);
	size_t v3 = nccl_version == 3 ? 16 : 0;

	if (v3) {
		put_ptr(&d, 24, "name");
		put(&d, 32, what->comm_id, 8);
	}
	put(&d, 24 + v3, 1, 8);
	put_ptr(&d, 32 + v3, what->func);
	put(&d, 56 + v3, what->count, 8);
	put(&d, 64 + v3, 0, 4);
	put_ptr(&d, 72 + v3, what->datatype);
	put(&d, 80 + v3, what->channels, 1);
	put_ptr(&d, 88 + v3, what->algo);
	put_ptr(&d, 96 + v3, what->proto);
	return start(c->ctx, &d);
}

void *nccl_p2p(const struct comm *c, const char *func, size_t count, int peer)
{
	struct descr d = descr_new(4, NULL);
	size_t v3 = nccl_version == 3 ? 16 : 0;

	if (v3)
		put(&d, 32, 77, 8);
	put_ptr(&d, 24 + v3, func);
	put_ptr(&d, 40 + v3, "ncclInt8");
	put(&d, 48 + v3, count, 8);
	put(&d, 56 + v3, peer, 4);
	if (nccl_version > 4)
		put(&d, 60, 1, 1);
	return start(c->ctx, &d);
}

void *nccl_event(const struct comm *c, uint64_t type, void *parent)
{
	struct descr d = descr_new(type, parent);

	return start(c->ctx, &d);
}

static struct op op_start(void *ctx, void *parent, int pid, int channel, bool send)
{
	struct descr d = descr_new(8, parent);

	put(&d, 24, pid, 4);
	put(&d, 28, channel, 1);
	put(&d, 32, 1, 4);
	put(&d, 36, 4, 4);
	put(&d, 40, 4 << 20, 4);
	put(&d, 44, send, 4);
	return (struct op){ start(ctx, &d), 0 };
}

struct op nccl_op(const struct comm *c, void *parent, int channel, bool send)
{
	return op_start(c->ctx, parent, pid, channel, send);
}

struct op nccl_op_pxn(void)
{
	return op_start((void *)0xdead0000dead0000, (void *)0xdead1111dead1113, pid + 1, 0, true);
}

void nccl_state(void *handle, int state, size_t trans_size)
{
	size_t *args = malloc(nccl_version == 3 ? 16 : 8);

	args[0] = trans_size;
	if (nccl_version == 3)
		args[1] = 0;
	must(table->record(handle, state, args), "recordEventState failed");
	free(args);
}

void nccl_stop(void *handle)
{
	must(table->stop(handle), "stopEvent failed");
}

void nccl_progress(struct op *op)
{
	if (nccl_version > 3)
		nccl_state(op->handle, 19, 0);
}

static void send_v3(struct op *op, size_t bytes)
{
	nccl_state(op->handle, 0, op->total);
	nccl_state(op->handle, 1, op->total);
	op->total += bytes;
	nccl_state(op->handle, 2, op->total);
	nccl_state(op->handle, 3, op->total);
}

void nccl_send(const struct comm *c, struct op *op, size_t bytes)
{
	void *step;

	if (nccl_version == 3) {
		send_v3(op, bytes);
		return;
	}
	/* another thread's init may set it */
	if (!(__atomic_load_n(&nccl_mask, __ATOMIC_RELAXED) & 16))
		return;
	step = nccl_event(c, 16, op->handle);
	nccl_state(step, 8, 0);
	for (int i = 0; i < 3; i++)
		nccl_state(step, 20, 12345);
	nccl_state(step, 9, bytes);
	nccl_stop(step);
	op->total += bytes;
}
