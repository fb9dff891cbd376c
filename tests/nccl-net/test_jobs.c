// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs that share a link over libnccl-net-mlcc: pace.c itself, and a link that serves all
 * connections in turn, as DCQCN and fair queueing do in the mean.
 */
#include <stdlib.h>
#include <string.h>

#include "../../userspace/nccl-net/pace.h"
#include "../unit/random.h"
#include "../unit/tap.h"

#define JOBS		4U
#define CONNECTIONS	4U	/* of a job */
#define DEPTH		8U	/* messages under way, as NCCL has steps */
#define MESSAGE		524288U
#define PART		65536U	/* that the link serves at a time */
#define LINK		12.5	/* bytes a ns: 100 Gb/s */
#define AGAIN_NS	2000U

struct conn {
	struct pace pace;
	uint64_t unsent;
	uint64_t sizes[DEPTH], left[DEPTH], at_ns[DEPTH];
	unsigned int oldest, under_way;
};

struct train {
	struct pace_job pace;
	struct conn conns[CONNECTIONS];
	bool paced;
	uint64_t bytes, compute_ns;
	uint64_t start_ns, send_ns;	/* of the iteration */
	uint64_t served;		/* bytes of it */
	uint32_t iterations;
	double late_ns;			/* of the second half of them */
};

/*
 * What makes a link @times slower while nobody else is there: of each @every units the first
 * @slow, from unit @from on.  A unit is a phase, or a part of @bytes.
 */
struct vary {
	double times;
	uint64_t every, slow, from, bytes;
	bool drawn;		/* each unit by something up to @times */
};

struct shared {
	struct train trains[JOBS];
	unsigned int n, turn;
	uint32_t iterations;
	uint64_t seed;
	uint64_t now_ns;
	struct vary vary;
};

/* Some hundredths more or less: no two iterations are alike. */
static uint64_t noise(struct shared *s, uint64_t ns)
{
	return ns - ns / 20 + ns * random_below(&s->seed, 1000) / 10000;
}

static void begin(struct shared *s, unsigned int n, bool paced, uint64_t bytes, uint64_t compute_ns,
		  uint32_t seed)
{
	memset(s, 0, sizeof(*s));
	s->n = n;
	s->iterations = 60;
	s->seed = seed;
	s->now_ns = 1000000000;
	for (unsigned int i = 0; i < n; i++) {
		struct train *t = &s->trains[i];

		pthread_mutex_init(&t->pace.lock, NULL);
		t->paced = paced;
		t->bytes = bytes;
		t->compute_ns = compute_ns;
		t->start_ns = s->now_ns;
		t->send_ns = s->now_ns + noise(s, compute_ns);
	}
}

static void fill(struct shared *s, struct train *t, struct conn *c)
{
	while (c->unsent && c->under_way < DEPTH) {
		unsigned int place = (c->oldest + c->under_way) % DEPTH;
		uint64_t size = c->unsent < MESSAGE ? c->unsent : MESSAGE;

		if (t->paced && pace_may_hold(&t->pace, size) &&
		    pace_holds(&t->pace, size, s->now_ns))
			return;
		c->sizes[place] = size;
		c->left[place] = size;
		c->at_ns[place] = s->now_ns;
		c->under_way++;
		c->unsent -= size;
		if (t->paced)
			pace_sent(&t->pace, &c->pace, size, s->now_ns);
	}
}

static void send_all(struct shared *s, struct train *t)
{
	if (t->send_ns && s->now_ns < t->send_ns)
		return;
	for (unsigned int k = 0; k < CONNECTIONS; k++) {
		if (t->send_ns)
			t->conns[k].unsent = t->bytes / CONNECTIONS;
		fill(s, t, &t->conns[k]);
	}
	t->send_ns = 0;
}

static void look_for_end(struct shared *s, struct train *t)
{
	for (unsigned int k = 0; k < CONNECTIONS; k++)
		if (t->conns[k].unsent || t->conns[k].under_way)
			return;
	if (t->iterations++ >= s->iterations / 2)
		t->late_ns += s->now_ns - t->start_ns;
	t->served = 0;
	t->start_ns = s->now_ns;
	t->send_ns = s->now_ns + noise(s, t->compute_ns);
}

/* How much slower than the link the job's next bytes are. */
static double slower(const struct shared *s, const struct train *t)
{
	const struct vary *v = &s->vary;
	uint64_t unit = t->iterations, drawn;

	if (v->bytes)
		unit = t->served / v->bytes;
	if (!v->every || unit < v->from || unit % v->every >= v->slow)
		return 1;
	if (!v->drawn)
		return v->times;
	drawn = unit + ((uint64_t)t->iterations << 32);
	return 1 + (v->times - 1) * random_below(&drawn, 1000) / 1000;
}

static void serve(struct shared *s, struct train *t, struct conn *c)
{
	unsigned int place = c->oldest;
	uint64_t part = c->left[place] < PART ? c->left[place] : PART;

	s->now_ns += part / LINK * slower(s, t);
	t->served += part;
	c->left[place] -= part;
	if (c->left[place])
		return;
	c->oldest = (c->oldest + 1) % DEPTH;
	c->under_way--;
	if (t->paced)
		pace_done(&t->pace, &c->pace, c->sizes[place], s->now_ns - c->at_ns[place],
			  s->now_ns);
	look_for_end(s, t);
}

static bool serve_next(struct shared *s)
{
	unsigned int all = s->n * CONNECTIONS;

	for (unsigned int i = 0; i < all; i++) {
		struct train *t;
		struct conn *c;

		s->turn = (s->turn + 1) % all;
		t = &s->trains[s->turn % s->n];
		c = &t->conns[s->turn / s->n];
		if (!c->under_way)
			continue;
		serve(s, t, c);
		return true;
	}
	return false;
}

/* The mean of all jobs' later iterations, by what one takes alone. */
static double slowdown(struct shared *s)
{
	uint32_t least = 0;
	double sum = 0;

	while (least < s->iterations) {
		least = ~0U;
		for (unsigned int i = 0; i < s->n; i++) {
			send_all(s, &s->trains[i]);
			if (s->trains[i].iterations < least)
				least = s->trains[i].iterations;
		}
		if (!serve_next(s))
			s->now_ns += AGAIN_NS;
	}
	for (unsigned int i = 0; i < s->n; i++) {
		const struct train *t = &s->trains[i];

		sum += t->late_ns / (t->iterations - s->iterations / 2) /
		       (t->bytes / LINK + t->compute_ns);
	}
	return sum / s->n;
}

/* Of ten draws. */
static double mean(unsigned int n, bool paced, uint64_t bytes, uint64_t compute_ns)
{
	static struct shared s;
	double sum = 0;

	for (uint32_t seed = 1; seed <= 10; seed++) {
		begin(&s, n, paced, bytes, compute_ns, seed);
		sum += slowdown(&s);
	}
	return sum / 10;
}

struct means {
	double fair, paced;
};

static struct means both(unsigned int n, uint64_t bytes, uint64_t compute_ns)
{
	struct means m = { mean(n, false, bytes, compute_ns), mean(n, true, bytes, compute_ns) };

	printf("# %u x %.0f %%, %.0f MB: slowdown %.3f without, %.3f with\n", n,
	       100 * bytes / LINK / (bytes / LINK + compute_ns), bytes / 1e6, m.fair, m.paced);
	return m;
}

static void apart(unsigned int n, uint64_t bytes, uint64_t compute_ns)
{
	struct means m = both(n, bytes, compute_ns);

	CHECK(m.fair > 1.1, "fair: %.3f", m.fair);
	CHECK(m.paced < 1.05, "paced: %.3f", m.paced);
}

TEST(jobs_slide_apart)
{
	apart(2, 500000000, 50000000);
	apart(3, 500000000, 90000000);
	apart(2, 100000000, 12000000);
}

/* 57 % each: together they need 1.14 times as long. */
TEST(jobs_that_do_not_fit_lose_nothing)
{
	struct means m = both(2, 500000000, 30000000);

	CHECK(m.paced < m.fair, "paced %.3f, fair %.3f", m.paced, m.fair);
}

TEST(one_alone_loses_nothing)
{
	struct means m = both(1, 500000000, 50000000);

	CHECK(m.paced < m.fair * 1.001, "paced %.3f, not %.3f", m.paced, m.fair);
}

#define SEED	1001	/* the first of those that nothing was tuned to */

/* The time with the shim over that without it, of @what drawn from @seed. */
static double price(unsigned int what, uint32_t seed)
{
	uint64_t r = seed * 1000 + what, took_ns[2];
	uint64_t bytes = (100 + random_below(&r, 400)) * 1000000;
	uint64_t compute_ns = bytes / LINK * (50 + random_below(&r, 100)) / 100;
	double times = 1.7 + random_below(&r, 231) / 100.;
	uint64_t every = 3 + random_below(&r, 6);
	static struct shared s;
	const struct vary varies[] = {
		{ .times = times, .every = 2, .slow = 1 },
		{ .times = times, .every = every, .slow = 1 + random_below(&r, every - 1) },
		{ .times = times, .every = 1, .slow = 1, .from = 10 + random_below(&r, 20) },
		{ .times = 4, .every = 1, .slow = 1, .drawn = true },
		{ .times = times, .every = 100, .slow = 1,
		  .bytes = bytes / 10 * (1 + random_below(&r, 9)) },
	};

	for (int paced = 0; paced < 2; paced++) {
		begin(&s, 1, paced, bytes, compute_ns, seed);
		s.vary = varies[what];
		slowdown(&s);
		took_ns[paced] = s.now_ns;
	}
	return (double)took_ns[1] / took_ns[0];
}

TEST(one_alone_whose_rate_varies_loses_nothing)
{
	static const char * const names[] = {
		"every other phase", "phases of many", "for good", "each phase another",
		"the first part of each",
	};

	for (unsigned int what = 0; what < 5; what++) {
		double sum = 0, most = 0;

		for (uint32_t i = 0; i < 10; i++) {
			double p = price(what, SEED + i);

			sum += p / 10;
			most = p > most ? p : most;
		}
		printf("# slower: %s: %.4f, at most %.4f\n", names[what], sum, most);
		CHECK(sum <= 1.01, "%s: %.4f", names[what], sum);
	}
}

TAP_MAIN
