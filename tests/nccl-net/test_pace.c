// SPDX-License-Identifier: GPL-2.0
/* When libnccl-net-mlcc holds sends: phases over a link that is played, and that others use. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/tap.h"
#include "player.h"

#define MESSAGE		65536U
#define ALONE_NS	500000U		/* a message, on a link of 1 Gb/s */
#define MESSAGES	160U		/* of a phase: 80 ms */
#define COMPUTE_NS	100000000ULL
#define AGAIN_NS	20000U		/* NCCL tries again */

struct play {
	struct player p;
	struct chained *chained;
	void *comm;
	size_t message;
	unsigned int depth;		/* messages under way at most */
	unsigned int held;		/* how often a send had to wait */
	unsigned int slow_from;		/* from this message of a phase on, others are there */
	uint64_t phase_ns;		/* how long the last phase took */
	void *requests[CHAINED_SENDS];
	unsigned int sent, done;
	uint64_t next_ns;		/* when the link is done with the oldest one */
};

static struct play begin(void)
{
	struct play y = { .message = MESSAGE, .depth = 4, .slow_from = ~0U };
	void *offload = NULL, *lib;
	char handle[128];

	setenv("MLCC_NET_CHAIN", getenv("CHAINED_ALL"), 1);
	y.p = player_open(getenv("SHIM"), NET_LAST);
	lib = dlopen(getenv("CHAINED_ALL"), RTLD_NOW | RTLD_NOLOAD);
	y.chained = dlsym(lib, "chained");
	player_init(&y.p);
	player_connect(&y.p, 0, handle, &y.comm, &offload);
	player_connect(&y.p, 0, handle, &y.comm, &offload);
	return y;
}

static uint64_t takes_ns(const struct play *y, unsigned int message)
{
	uint64_t alone = ALONE_NS * (uint64_t)y->message / MESSAGE;

	return message >= y->slow_from ? 2 * alone : alone;
}

/* Whether one could be sent. */
static bool send_one(struct play *y, unsigned int first)
{
	static char data[MESSAGE];
	unsigned int place = y->sent % CHAINED_SENDS;

	y->chained->done[place] = false;
	player_isend(&y->p, y->comm, data, y->message, &y->requests[place]);
	if (!y->requests[place])
		return false;
	if (y->sent++ == y->done)
		y->next_ns = clock_ns + takes_ns(y, y->done - first);
	return true;
}

static void finish_one(struct play *y, unsigned int first)
{
	unsigned int place = y->done % CHAINED_SENDS;
	int done;

	y->chained->done[place] = true;
	y->p.net->test(y->requests[place], &done, NULL);
	CHECK(done, "message %u is not done", y->done);
	y->done++;
	y->next_ns = clock_ns + takes_ns(y, y->done - first);
}

static void phase(struct play *y, unsigned int messages)
{
	unsigned int first = y->sent;
	uint64_t start_ns = clock_ns;

	while (y->done < first + messages) {
		bool held = false;

		while (y->sent < first + messages && y->sent - y->done < y->depth && !held)
			held = !send_one(y, first);
		y->held += held;
		if (y->sent == y->done || (held && y->next_ns > clock_ns + AGAIN_NS)) {
			clock_ns += AGAIN_NS;
			continue;
		}
		clock_ns = y->next_ns > clock_ns ? y->next_ns : clock_ns;
		finish_one(y, first);
	}
	y->phase_ns = clock_ns - start_ns;
	clock_ns += COMPUTE_NS;
}

/* The phase is known, and so is the link. */
static void learn(struct play *y)
{
	for (int i = 0; i < 6; i++)
		phase(y, MESSAGES * MESSAGE / y->message);
	CHECK(!y->held, "held alone");
}

/* Each in a process of its own, as a process is one job. */

TEST_ALONE(who_meets_others_defers)
{
	struct play y = begin();
	uint64_t alone_ns, most_ns;

	learn(&y);
	alone_ns = y.phase_ns;
	y.slow_from = 0;
	phase(&y, MESSAGES);
	CHECK(y.held, "not held");
	/* half the rate, and a sixteenth and an eighth, each half as long again at most */
	most_ns = 2 * alone_ns + alone_ns * 3 / 16 * 3 / 2 + alone_ns / 32;
	CHECK(y.phase_ns > 2 * alone_ns + alone_ns * 3 / 32, "for %llu ns",
	      (unsigned long long)y.phase_ns);
	CHECK(y.phase_ns < most_ns, "for %llu ns", (unsigned long long)y.phase_ns);
	/* who defers is not silent */
	y.slow_from = ~0U;
	y.held = 0;
	phase(&y, MESSAGES);
	CHECK(!y.held, "held alone");
}

/* While others are there for whole phases. */
static void is_never_held(size_t message, unsigned int depth)
{
	struct play y = begin();

	y.message = message;
	learn(&y);
	y.depth = depth;
	y.slow_from = 0;
	for (int i = 0; i < 5; i++)
		phase(&y, MESSAGES * MESSAGE / message);
	CHECK(!y.held, "%u times", y.held);
}

TEST_ALONE(small_messages_never_wait)
{
	is_never_held(4096, 4);
}

/* One message at a time: it is the host that is slow. */
TEST_ALONE(who_waits_for_the_host_does_not_defer)
{
	is_never_held(MESSAGE, 1);
}

TEST_ALONE(phases_that_are_not_alike_never_wait)
{
	struct play y = begin();

	for (int i = 0; i < 100; i++) {
		y.slow_from = i % 3 ? ~0U : 0;
		phase(&y, i % 2 ? MESSAGES : MESSAGES / 2);
	}
	CHECK(!y.held, "%u times", y.held);
}

/* A connection that goes with sends under way takes its part of the clock with it. */
TEST_ALONE(closing_in_the_middle_is_harmless)
{
	struct play y = begin();
	void *offload = NULL, *comm = NULL, *request;
	char data[MESSAGE];

	for (int i = 0; i < 20; i++) {
		comm = NULL;
		while (!comm)
			player_connect(&y.p, 0, data, &comm, &offload);
		for (int k = 0; k < 3; k++)
			player_isend(&y.p, comm, data, MESSAGE, &request);
		y.p.net->close_send(comm);
		clock_ns += COMPUTE_NS;
	}
	y.sent = y.done = 0;
	y.chained->sends = 0;
	learn(&y);
	y.slow_from = 0;
	phase(&y, MESSAGES);
	CHECK(y.held, "not held");
}

TAP_MAIN
