// SPDX-License-Identifier: GPL-2.0
/*
 * The phase tracker alone, shown what jobs do: how soon it finds their phases, and how much they
 * send meanwhile without a progress or with a wrong one.
 *
 *	learning [-n RUNS] [-s SEED] [tuning|held-out]
 *
 * What a job does is an iteration that repeats: pieces, each after a silence, the first after the
 * compute time.  What has been sent of an iteration is the true progress.
 *
 *	                       ___________         _____________
 *	______________________|   piece   |_______|    piece    |______
 *	     compute time     ^ a phase should begin here, and nowhere else
 *
 * For each kind of job it prints
 *
 *	one	of the runs, the part that had one phase an iteration from some iteration on
 *	from	... and the median of that iteration; of a job that changes, since it did
 *	neutral	of the bytes after 20 iterations, the part that had no progress
 *	wrong	... and the part whose progress was off by more than 0.1
 *
 * An iteration has one phase if none begins between the first and the last 1/16 of its bytes, and
 * at least one around its first: what a heartbeat begins in the compute time teaches nothing.
 *
 * A score is 1 - neutral - 2 * wrong, the mean over a group's kinds, and then over the groups.  The
 * random messages are not in it: those should be neutral.
 *
 * A run of the tuning set has the times below, every second one 1/2 to 2 times as long; one of the
 * held-out set 1/4 to 4 times as long, with other duties, pieces and waits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../include/mlcc/flow.h"
#include "../../unit/random.h"

#define LENGTH(a)	(sizeof(a) / sizeof(*(a)))
#define RATE		125U		/* bytes a us: 1 Gb/s */
#define RTT_US		150U
#define COMPUTE		100000.0	/* us */
#define PHASE		10e6		/* bytes */
#define HEARTBEAT	2000.0
#define ACK		12500U		/* bytes, or 1/64 of a piece */
#define ITERATIONS	100U
#define CHANGE		50U		/* the iteration in which a job changes */
#define SETTLED		20U		/* iterations that may be spent learning */
#define PIECES		512U
#define RUNS_MAX	10000U
#define OFF		0.1

struct step {
	double us, bytes;
	bool overlaps;		/* what follows computes meanwhile */
};

#include "steps.h"

struct run;

struct kind {
	const char *group, *name;
	void (*make)(struct run *r, double compute);	/* one iteration */
	double noise;		/* std of the compute time */
	double compute;		/* us, 0: COMPUTE */
	double pieces, wait;	/* us, between them */
	u32 every;		/* a heartbeat, a pause: every so many iterations */
	double longer, larger;	/* in iteration CHANGE, compute time and bytes; 0: as before */
	void (*start)(struct run *r);
	const struct step *steps[2];	/* tuning, held-out */
	u32 count;
};

struct piece {
	double silence, bytes;
	bool counts;		/* is no heartbeat */
};

struct result {
	u32 from;		/* one phase an iteration, ITERATIONS: never */
	double bytes, neutral, wrong;
};

struct run {
	const struct kind *kind;
	bool held_out;
	u64 seed;
	u32 iteration;
	double compute, phase, pieces, wait, scale;

	struct piece piece[PIECES];
	u32 count;

	struct mlcc_job job;
	double now;
	double sent, total;	/* of this iteration */
	bool begun, next_begun, inside;	/* phases that have begun around the first byte, and not */
	struct result result;
};

/*** Chance ***/

static double uniform(struct run *r, double low, double high)
{
	return low + (high - low) * (random_u64(&r->seed) >> 11) / (1ULL << 53);
}

static double power(struct run *r, double low, double high)
{
	return exp2(uniform(r, low, high));
}

static double exponential(struct run *r, double mean)
{
	return -log(1 - uniform(r, 0, 1)) * mean;
}

/* 1, give or take the standard deviation @std. */
static double noise(struct run *r, double std)
{
	double normal = sqrt(-2 * log(1 - uniform(r, 0, 1))) * cos(2 * M_PI * uniform(r, 0, 1));

	return fmax(0.1, 1 + std * normal);
}

/*** What jobs do ***/

static void add(struct run *r, double silence, double bytes)
{
	if (r->count < PIECES)
		r->piece[r->count++] = (struct piece) { silence, bytes, true };
}

/* As many pieces as the kind has; a pause before each but the first. */
static void pieces(struct run *r, double compute)
{
	u32 count = r->pieces;

	add(r, compute, r->phase / count);
	for (u32 i = 1; i < count; i++)
		add(r, uniform(r, 0.8, 1.2) * r->wait, r->phase / count);
}

/* Before each step a collision elsewhere: 1/2 ms, or twice as long, and so on, up to r->wait. */
static void ring(struct run *r, double compute)
{
	u32 count = r->pieces, waits = 1 + lround(log2(r->kind->wait / 500));

	add(r, compute, r->phase / count);
	for (u32 i = 1; i < count; i++)
		add(r, r->wait / (1 << random_below(&r->seed, waits)), r->phase / count);
}

/* As mlcc-lab plays a trace to a link that the job has for itself. */
static void trace(struct run *r, double compute)
{
	double scale = r->scale * compute / r->compute, now = 0, idle = 0;

	for (u32 i = 0; i < r->kind->count; i++) {
		const struct step *s = &r->kind->steps[r->held_out][i];

		now += s->us * scale;
		if (s->bytes) {
			add(r, fmax(now - idle, 0), s->bytes * r->scale);
			idle = fmax(now, idle) + s->bytes * r->scale / RATE;
		}
		if (!s->overlaps)
			now = fmax(now, idle);
	}
	/* what is computed after the last piece */
	if (now > idle)
		r->now += now - idle;
}

/* A heartbeat, or two to an iteration, somewhere in the compute time. */
static void heartbeat(struct run *r, double compute)
{
	u32 beats = r->iteration % r->kind->every ? 0 : r->kind->pieces;
	double part = compute / (beats ? beats : 1), late = 0;

	for (u32 i = 0; i < beats; i++) {
		double at = uniform(r, 0.1, 0.9) * part;

		add(r, late + at, HEARTBEAT);
		r->piece[r->count - 1].counts = false;
		late = part - at;
	}
	add(r, beats ? late : compute, r->phase);
}

/* An evaluation, a checkpoint. */
static void pauses(struct run *r, double compute)
{
	pieces(r, r->iteration % r->kind->every ? compute : 10 * compute);
}

static void messages(struct run *r, double compute)
{
	add(r, exponential(r, compute), r->phase);
}

static void any_messages(struct run *r, double compute)
{
	add(r, exponential(r, compute), 1 + uniform(r, 0, 2) * r->phase);
}

/*** What the tracker makes of it ***/

static void begins(struct run *r)
{
	if (r->sent * 16 <= r->total)
		r->begun = true;
	else if (r->sent * 16 >= r->total * 15)
		r->next_begun = true;
	else
		r->inside = true;
}

static void ack(struct run *r, double bytes, const struct piece *p)
{
	u32 progress;

	r->now += bytes / RATE;
	progress = mlcc_job_acked(&r->job, bytes, r->now);
	if (!p->counts)
		return;
	r->sent += bytes;
	if (r->iteration < SETTLED + (r->kind->longer || r->kind->larger ? CHANGE : 0))
		return;
	r->result.bytes += bytes;
	if (progress == MLCC_NEUTRAL)
		r->result.neutral += bytes;
	else if (fabs((double)progress / MLCC_ONE - r->sent / r->total) > OFF)
		r->result.wrong += bytes;
}

static void play(struct run *r, const struct piece *p)
{
	double left = floor(p->bytes), most = fmax(ACK, floor(left / 64));

	r->now += p->silence;
	if (p->silence && mlcc_job_tx_start(&r->job, r->now, RTT_US))
		begins(r);
	for (; left > 0; left -= most)
		ack(r, fmin(left, most), p);
}

static void iterate(struct run *r)
{
	bool changed = r->iteration >= CHANGE;
	const struct kind *k = r->kind;

	r->begun = r->next_begun;
	r->next_begun = r->inside = false;
	r->count = 0;
	r->sent = r->total = 0;
	k->make(r, r->compute * noise(r, k->noise) * (changed && k->longer ? k->longer : 1));
	for (u32 i = 0; i < r->count; i++) {
		if (changed && k->larger)
			r->piece[i].bytes *= k->larger;
		r->total += r->piece[i].counts ? floor(r->piece[i].bytes) : 0;
	}
	for (u32 i = 0; i < r->count; i++)
		play(r, &r->piece[i]);
	if (!r->begun || r->inside)
		r->result.from = r->iteration + 1;
}

static void nonsense(struct run *r)
{
	for (u32 i = 0; i < 300; i++)
		play(r, &(struct piece) { random_magnitude(&r->seed) >> 38,
					  1 + uniform(r, 0, 3) * r->phase, false });
}

/* A program loads its data, and computes once without having sent much. */
static void long_start(struct run *r)
{
	play(r, &(struct piece) { 30 * r->compute, 3000, false });
	play(r, &(struct piece) { r->compute, r->phase, false });
	play(r, &(struct piece) { 20 * r->compute, r->phase, false });
}

static struct result run(const struct kind *k, bool held_out, u32 number, u64 seed)
{
	static struct run r;

	r = (struct run) { .kind = k, .held_out = held_out, .seed = seed, .now = 1e6 };
	random_u64(&r.seed);
	r.scale = held_out ? power(&r, -2, 2) : number % 2 ? power(&r, -1, 1) : 1;
	r.compute = (k->compute ? k->compute : COMPUTE) * r.scale;
	r.phase = PHASE * r.scale * (held_out ? power(&r, -1.5, 0.5) : 1);
	r.pieces = k->pieces ? k->pieces * (held_out && k->pieces > 2 ? power(&r, -1, 1) : 1) : 1;
	r.wait = k->wait * r.scale * (held_out ? power(&r, -0.5, 0) : 1);
	if (k->start)
		k->start(&r);
	for (; r.iteration < ITERATIONS; r.iteration++)
		iterate(&r);
	return r.result;
}

/*** The table ***/

#define CHANGES(what, ...)							\
	{ "changes", what ": time / 4", pieces, 0.02, .longer = 0.25, __VA_ARGS__ },	\
	{ "changes", what ": time / 2", pieces, 0.02, .longer = 0.5, __VA_ARGS__ },	\
	{ "changes", what ": time x 2", pieces, 0.02, .longer = 2, __VA_ARGS__ },	\
	{ "changes", what ": time x 4", pieces, 0.02, .longer = 4, __VA_ARGS__ },	\
	{ "changes", what ": bytes / 4", pieces, 0.02, .larger = 0.25, __VA_ARGS__ },	\
	{ "changes", what ": bytes / 2", pieces, 0.02, .larger = 0.5, __VA_ARGS__ },	\
	{ "changes", what ": bytes x 2", pieces, 0.02, .larger = 2, __VA_ARGS__ },	\
	{ "changes", what ": bytes x 4", pieces, 0.02, .larger = 4, __VA_ARGS__ }

#define TRACE_AT(what, t, h, std)						\
	{ "traces", what, trace, std, .steps = { t, h }, .count = LENGTH(t) }
#define TRACES(what, t)								\
	TRACE_AT(what " 0.30, 2 %", t ## _30, t ## _38, 0.02),			\
	TRACE_AT(what " 0.30, 9 %", t ## _30, t ## _38, 0.09),			\
	TRACE_AT(what " 0.45, 2 %", t ## _45, t ## _55, 0.02),			\
	TRACE_AT(what " 0.45, 9 %", t ## _45, t ## _55, 0.09)

static const struct kind kinds[] = {
	{ "plain", "noise 2 %", pieces, .noise = 0.02 },
	{ "plain", "noise 9 %", pieces, .noise = 0.09 },
	{ "plain", "noise 40 %", pieces, .noise = 0.4 },
	{ "pieces", "2, 8 ms", pieces, 0.02, .pieces = 2, .wait = 8000 },
	{ "pieces", "2, 40 ms", pieces, 0.02, .pieces = 2, .wait = 40000 },
	{ "pieces", "16, 4 ms", pieces, 0.02, .pieces = 16, .wait = 4000 },
	{ "pieces", "16, 8 ms, 9 %", pieces, 0.09, .pieces = 16, .wait = 8000 },
	{ "pieces", "50, 2 ms", pieces, 0.02, .pieces = 50, .wait = 2000 },
	{ "rings", "waits to 4 ms", ring, 0.02, 25000, 14, .wait = 4000 },
	{ "rings", "waits to 8 ms", ring, 0.02, 25000, 14, .wait = 8000 },
	{ "rings", "waits to 16 ms", ring, 0.02, 25000, 14, .wait = 16000 },
	TRACES("gpt-13b-dp", gpt_13b_dp),
	TRACES("llama-7b-tp", llama_7b_tp),
	TRACES("llama-7b-zero3", llama_7b_zero3),
	{ "heartbeats", "each iteration", heartbeat, 0.02, .pieces = 1, .every = 1 },
	{ "heartbeats", "two", heartbeat, 0.02, .pieces = 2, .every = 1 },
	{ "heartbeats", "each fifth", heartbeat, 0.02, .pieces = 1, .every = 5 },
	CHANGES("plain"),
	CHANGES("8 pieces", .pieces = 8, .wait = 4000),
	{ "disturbed", "nonsense first", pieces, 0.02, .start = nonsense },
	{ "disturbed", "nonsense first, 16 pieces", pieces, 0.02, .pieces = 16, .wait = 4000,
	  .start = nonsense },
	{ "disturbed", "long start", pieces, 0.02, .start = long_start },
	{ "disturbed", "long start, 16 pieces", pieces, 0.02, .pieces = 16, .wait = 4000,
	  .start = long_start },
	{ "disturbed", "pauses", pauses, 0.02, .every = 25 },
	{ "disturbed", "pauses, 16 pieces", pauses, 0.02, .pieces = 16, .wait = 4000, .every = 25 },
	{ "random", "10 MB", .make = messages },
	{ "random", "any size", .make = any_messages },
};

static int later(const void *a, const void *b)
{
	return (int)*(const u32 *)a - (int)*(const u32 *)b;
}

/* Prints a row and returns the score. */
static double row(const struct kind *k, bool held_out, u32 runs, u64 seed)
{
	u32 since = k->longer || k->larger ? CHANGE : 0, good = 0;
	struct result sum = { };
	u32 from[RUNS_MAX];

	for (u32 i = 0; i < runs; i++) {
		struct result one = run(k, held_out, i, seed + i);

		if (one.from < ITERATIONS)
			from[good++] = one.from > since ? one.from - since : 0;
		sum.neutral += one.neutral / one.bytes / runs;
		sum.wrong += one.wrong / one.bytes / runs;
	}
	qsort(from, good, sizeof(*from), later);
	printf("%-11s %-25s", k->group, k->name);
	if (!strcmp(k->group, "random"))
		printf(" %4s %4s %7.3f\n", "", "", sum.neutral);
	else if (good)
		printf(" %4.2f %4u %7.3f %7.3f\n", (double)good / runs, from[good / 2],
		       sum.neutral, sum.wrong);
	else
		printf(" %4.2f %4s %7.3f %7.3f\n", 0.0, "", sum.neutral, sum.wrong);
	fflush(stdout);
	return 1 - sum.neutral - 2 * sum.wrong;
}

static void table(bool held_out, u32 runs, u64 seed)
{
	double score = 0, all = 0;
	u32 count = 0, groups = 0;

	printf("%-37s %4s %4s %7s %7s\n", held_out ? "held-out" : "tuning", "one", "from",
	       "neutral", "wrong");
	for (size_t i = 0; i < LENGTH(kinds); i++) {
		const char *group = kinds[i].group;

		score += row(&kinds[i], held_out, runs, seed + 1000003 * i);
		count++;
		if (i + 1 < LENGTH(kinds) && !strcmp(group, kinds[i + 1].group))
			continue;
		if (strcmp(group, "random")) {
			printf("%-11s score %.3f\n", group, score / count);
			all += score / count;
			groups++;
		}
		score = count = 0;
	}
	printf("score %.3f\n", all / groups);
}

int main(int argc, char **argv)
{
	bool held_out, known;
	u32 runs = 100;
	u64 seed = 1;
	int option;

	while ((option = getopt(argc, argv, "n:s:")) >= 0) {
		if (option == 'n')
			runs = strtoul(optarg, NULL, 10);
		if (option == 's')
			seed = strtoull(optarg, NULL, 10);
		if (option == '?')
			return 2;
	}
	held_out = optind < argc && !strcmp(argv[optind], "held-out");
	known = optind == argc || held_out || !strcmp(argv[optind], "tuning");
	if (!known || !runs || runs > RUNS_MAX) {
		fprintf(stderr, "usage: learning [-n RUNS] [-s SEED] [tuning|held-out]\n");
		return 2;
	}
	table(held_out, runs, seed);
	return 0;
}
