// SPDX-License-Identifier: BSD-2-Clause
/*
 * Hints of one process: the connection (link.h), the ring (ring.h), and the wait for the slot of a
 * plan (include/mlcc/shift.h).
 *
 * Of the processes of a host that announce a job one waits for slots: the others wait for it in
 * the collective.  It is mlccd that chooses it, and shows the plan to no other.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shift_ring.h"
#include "clock.h"
#include "link.h"
#include "mlcc_hint.h"

#define SOCKET		"/run/mlcc/mlccd.sock"
#define LINE_LEN	256

struct mlcc_hint {
	struct link link;
	struct ring ring;
	struct mlcc_shifter shifter;
	int64_t clock_ns;
	mlcc_hint_log *log;
	void *arg;
	pid_t pid;			/* whose ring it is */
	uint64_t hung_ns;		/* until then attach does not wait again */
	bool warned;			/* that mlccd is not there */
	bool warned_full;
	_Alignas(64) _Atomic uint64_t sent;
};

static void hint_say(struct mlcc_hint *h, bool warning, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void hint_say(struct mlcc_hint *h, bool warning, const char *format, ...)
{
	char line[LINE_LEN];
	va_list args;

	if (!h->log)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	for (char *s = line; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
	h->log(h->arg, warning, line);
}

static void warn_absent(struct mlcc_hint *h)
{
	h->warned = true;
	hint_say(h, true, "no phases are announced: mlccd at %s: %s", h->link.addr.sun_path,
		 h->link.why);
}

static void say_up(struct mlcc_hint *h)
{
	h->warned = false;
	hint_say(h, false, "announces the phases of job %u", h->link.job);
}

static const char *hint_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static const char *first_of(const char *a, const char *b)
{
	return a ? a : b;
}

static int hint_init(struct mlcc_hint *h, const struct mlcc_hint_options *o)
{
	const char *shift = hint_variable("MLCC_SHIFT");
	const char *socket = first_of(first_of(o->socket, hint_variable("MLCC_SOCKET")), SOCKET);
	const char *job = first_of(first_of(o->job, hint_variable("MLCC_JOB")),
				   first_of(hint_variable("MLCC_JOB_ID"), ""));
	bool plans = !o->no_plan && (!shift || strcmp(shift, "0"));
	int err;

	*h = (struct mlcc_hint){
		.clock_ns = o->clock_ns, .log = o->log, .arg = o->arg, .pid = getpid(),
	};
	err = link_init(&h->link, socket, job, plans, &h->ring);
	return err ? err : ring_make(&h->ring);
}

struct mlcc_hint *mlcc_hint_new(const struct mlcc_hint_options *o)
{
	static const struct mlcc_hint_options defaults;
	struct mlcc_hint *h = aligned_alloc(_Alignof(struct mlcc_hint), sizeof(*h));
	int err;

	if (!h)
		return NULL;
	err = hint_init(h, o ? o : &defaults);
	if (!err)
		return h;
	hint_say(h, true, "no phases are announced: %s",
		 err == -ENAMETOOLONG ? "MLCC_SOCKET is too long" :
		 err == -EINVAL ? "MLCC_JOB: no such name can be" : strerror(-err));
	free(h);
	errno = -err;
	return NULL;
}

void mlcc_hint_free(struct mlcc_hint *h)
{
	if (!h)
		return;
	link_drop(&h->link, 0);
	ring_free(&h->ring);
	free(h);
}

static bool usable(const struct mlcc_hint *h)
{
	return h && h->pid == getpid();
}

int mlcc_hint_attach(struct mlcc_hint *h, unsigned int timeout_ms)
{
	int err = 0;

	if (!usable(h))
		return -EINVAL;
	if (h->link.state == LINK_UP)
		err = link_step(&h->link, clock_now_ns());
	if (h->link.state == LINK_UP)
		return 0;
	if (clock_now_ns() < h->hung_ns)
		return -ETIMEDOUT;
	err = link_attach(&h->link, timeout_ms);
	if (err)
		warn_absent(h);
	else
		say_up(h);
	if (err == -ETIMEDOUT)
		h->hung_ns = clock_now_ns() + 5 * LINK_AGAIN_NS;
	return err;
}

bool mlcc_hint_linked(const struct mlcc_hint *h)
{
	return h && h->link.state == LINK_UP;
}

/* Is mlccd still there, or there again? */
static void hint_look(struct mlcc_hint *h, uint64_t now)
{
	enum link_state before = h->link.state;

	if (link_step(&h->link, now) && !h->warned)
		warn_absent(h);
	if (h->link.state == LINK_UP && before != LINK_UP)
		say_up(h);
}

static void put(struct mlcc_hint *h, uint16_t type, uint64_t bytes, uint64_t now)
{
	/* what is written while a ring is asked for is read with it */
	if (h->link.state < LINK_ASKED_RING || ring_put(&h->ring, type, h->link.job, bytes, now))
		return;
	if (!h->warned_full)
		hint_say(h, true, "mlccd takes no hints (the ring is full): they are dropped");
	h->warned_full = true;
}

/* At the edges it is exact. */
static void show_sent(struct mlcc_hint *h, bool start)
{
	uint64_t sent = mlcc_hint_sent_bytes(h);

	__atomic_store_n(&h->ring.map->sent_bytes, sent, __ATOMIC_RELAXED);
	if (start)
		__atomic_store_n(&h->ring.map->start_bytes, sent, __ATOMIC_RELAXED);
}

void mlcc_hint_start(struct mlcc_hint *h, uint64_t bytes)
{
	uint64_t now = clock_now_ns();

	if (!usable(h))
		return;
	hint_look(h, now);
	show_sent(h, true);
	put(h, MLCC_RING_PHASE_START, bytes < 1ULL << 48 ? bytes : 0, now);
}

void mlcc_hint_end(struct mlcc_hint *h)
{
	uint64_t now = clock_now_ns();

	if (!usable(h))
		return;
	mlcc_shift_end(&h->shifter, now);
	show_sent(h, false);
	put(h, MLCC_RING_PHASE_END, 0, now);
}

/* A thread that is a little late shows a little less, until the next one. */
void mlcc_hint_sent(struct mlcc_hint *h, uint64_t bytes)
{
	uint64_t sent;

	if (!h)
		return;
	sent = atomic_fetch_add_explicit(&h->sent, bytes, memory_order_relaxed) + bytes;
	__atomic_store_n(&h->ring.map->sent_bytes, sent, __ATOMIC_RELAXED);
}

uint64_t mlcc_hint_sent_bytes(const struct mlcc_hint *h)
{
	return h ? atomic_load_explicit(&h->sent, memory_order_relaxed) : 0;
}

uint64_t mlcc_hint_slot(struct mlcc_hint *h, bool iteration)
{
	static const struct mlcc_shift none;
	uint64_t now = clock_now_ns(), wait;

	if (!usable(h))
		return 0;
	hint_look(h, now);
	/* without a plan, too, phases are measured: a plan is held to the job's own period */
	if (h->link.plans && h->link.state == LINK_UP)
		wait = mlcc_shift_ring_start(&h->shifter, h->ring.map, iteration,
					     clock_ns(CLOCK_REALTIME) + h->clock_ns, now);
	else
		wait = mlcc_shift_start(&h->shifter, &none, 0, now);
	return wait ? now + wait : 0;
}

void mlcc_hint_wait(struct mlcc_hint *h)
{
	uint64_t until = mlcc_hint_slot(h, false);

	if (until)
		sleep_until(until);
}
