// SPDX-License-Identifier: GPL-2.0
/*
 * The training job: iterations of computing and communicating.
 *
 * The compute times depend on the seed and the iteration alone, never on how
 * the network behaved: two runs with the same seed offer the same load.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "burst.h"

#define LINGER_US	500000
#define TIMEOUT_SLICES	50
#define LEAD_STEP	65536	/* bytes passed on at once */

struct job {
	const struct options *opt;
	struct flow *flows;
	uint32_t n_flows;
	uint32_t iteration;
	uint64_t total_bytes;
	uint64_t rng;
};

/* splitmix64 (Steele, Lea, Flood 2014): small, and good enough for noise. From 0 to 1. */
static double random_unit(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

/* Box-Muller; the second value is thrown away to keep one draw per call. */
static double random_gauss(uint64_t *state)
{
	double radius = sqrt(-2.0 * log(random_unit(state)));

	return radius * cos(2.0 * M_PI * random_unit(state));
}

/* The first flows carry one byte more where the bytes do not divide. */
static uint64_t share(const struct job *job, uint64_t bytes, uint32_t flow)
{
	return bytes / job->n_flows + (flow < bytes % job->n_flows);
}

static const struct flow *first_unfinished(const struct job *job)
{
	uint32_t i;

	for (i = 0; i < job->n_flows; i++)
		if (!job->flows[i].done_ns)
			return &job->flows[i];
	return NULL;
}

static bool phase_done(const struct job *job)
{
	return !first_unfinished(job) &&
	       inbound_reached(job->opt->inbound, job->iteration + 1);
}

static void phase_timed_out(const struct job *job)
{
	const struct flow *flow = first_unfinished(job);

	if (flow)
		flow_stuck(flow, job->opt);
	die(EXIT_STUCK, "job %s: other workers' data missing after %g s",
	    job->opt->job, job->opt->timeout_s);
}

/*
 * What each flow may have sent of this phase.  A worker of a ring passes on what it has received:
 * it is ahead of that by no more than the chunk that it begins with.
 */
static uint64_t allowed(const struct job *job)
{
	uint64_t got;

	if (!job->opt->lead)
		return UINT64_MAX;
	got = inbound_bytes() + job->opt->lead - job->total_bytes;
	return got / LEAD_STEP * LEAD_STEP / job->n_flows + LEAD_STEP;
}

static void allow(const struct job *job)
{
	uint32_t i;

	for (i = 0; job->opt->lead && i < job->n_flows; i++)
		flow_allow(&job->flows[i], allowed(job));
}

static void send_phase(struct job *job)
{
	uint32_t i;

	for (i = 0; i < job->n_flows; i++)
		job->flows[i].done_ns = 0;
	for (i = 0; i < job->n_flows; i++)
		flow_send(&job->flows[i], share(job, job->opt->bytes, i), allowed(job));
}

/* The time-out counts slices: one slept through in suspension counts once. */
static void wait_sent(struct job *job)
{
	int64_t slice = ms_to_ns(job->opt->timeout_s * 1e3 / TIMEOUT_SLICES);
	int64_t end;
	int waited;

	for (waited = 0; waited < TIMEOUT_SLICES; waited++) {
		end = now_ns() + slice;
		do {
			allow(job);
			if (phase_done(job))
				return;
		} while (loop_step(end));
		if (loop_stopped())
			return;
	}
	phase_timed_out(job);
}

static void report_phase(const struct job *job, int64_t start, int64_t computed, int64_t end)
{
	printf("{\"job\":\"%s\",\"iteration\":%u,\"start_ns\":%lld,"
	       "\"compute_ms\":%.3f,\"comm_ms\":%.3f,\"iteration_ms\":%.3f,"
	       "\"bytes\":%llu}\n",
	       job->opt->job, job->iteration, (long long)start, (double)(computed - start) / 1e6,
	       (double)(end - computed) / 1e6, (double)(end - start) / 1e6,
	       (unsigned long long)job->opt->bytes);
}

static bool iterate(struct job *job, int64_t start)
{
	const struct options *opt = job->opt;
	double scale = fmax(0.0, 1.0 + opt->noise * random_gauss(&job->rng));
	int64_t computed = start + ms_to_ns(opt->compute_ms * scale);

	loop_until(computed);
	if (!loop_stopped()) {
		hint_start(opt->bytes);
		send_phase(job);
		wait_sent(job);
		hint_end();
	}
	if (loop_stopped())
		return false;
	report_phase(job, start, computed, now_ns());
	job->total_bytes += opt->bytes;
	job->iteration++;
	return true;
}

/*
 * Other workers may still need our answers when we are done, so workers stay
 * until the lab stops them; and then a little, because to one that has not
 * been told yet a closed connection is an error.
 */
static void linger(const struct options *opt)
{
	if (!opt->inbound)
		return;
	while (!loop_stopped())
		loop_step(INT64_MAX);
	fflush(stdout);
	usleep(LINGER_US);
}

void job_run(const struct options *opt)
{
	struct job job = { .opt = opt, .rng = opt->seed };
	int64_t start = opt->at_ns ? opt->at_ns : now_ns();

	if (opt->connect_ms > 0.0)
		loop_until(start + ms_to_ns(opt->connect_ms));
	job.flows = flows_open(opt, &job.n_flows);
	hint_open(opt);
	start = start_ns(opt);
	loop_until(start);
	while (!opt->iterations || job.iteration < opt->iterations) {
		if (!iterate(&job, start))
			break;
		start = now_ns();
	}
	flows_totals(opt, job.flows, job.n_flows, job.total_bytes);
	linger(opt);
}
