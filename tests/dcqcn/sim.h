/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flows under rdma/dcqcn/ on one link: each packet is simulated, the switch marks as DCQCN's does.
 *
 *	RP --------> queue of the link ----> NP		a packet is marked by the queue that it
 *	   <------------- CNP ---------------		finds: none below Kmin, P at Kmax, then all
 *
 * A flow sends for ever, or it is a job: it computes, sends D_phase bytes, and again; its progress
 * is the shared tracker's, which learns D_phase by itself.  Time is in nanoseconds, lines of
 * parameters are in kb/s.
 */
#ifndef MLCC_DCQCN_SIM_H
#define MLCC_DCQCN_SIM_H

#include <math.h>
#include <stdlib.h>

#include "../../include/mlcc/profiles.h"
#include "../../rdma/dcqcn/np.h"
#include "../unit/random.h"
#include "host.h"
#include "variants.h"

#ifndef SIM_FLOWS
#define SIM_FLOWS	8
#endif
#define SIM_CNPS	64		/* on their way to one RP */
#define SIM_NEVER	INFINITY

struct sim_link {
	double rate;			/* bytes per ns */
	double delay;			/* ns, one way */
	double kmin, kmax, pmax;	/* bytes, bytes, probability */
	double pause;			/* bytes at which PFC stops all senders, 0: never */
	double queue, at;		/* bytes, and when they were that many */
	double busy;			/* bytes that have gone through */
	double queue_sum;		/* over the packets */
	u64 packets;
};

struct sim_flow {
	struct sim *sim;
	struct dcqcn_param param;
	struct dcqcn rp;
	struct mlcc_np np;
	u32 interval;			/* ns, of the NP */
	double next;			/* when it sends again */
	double cnp[SIM_CNPS];		/* when they arrive at the RP */
	u32 cnp_first, cnps;
	double bytes;			/* sent, ever */
	double paced;			/* when its rate lets it send again */

	/* a job */
	const struct mlcc_profile *profile;
	struct mlcc_job own, *job;	/* own, or that of another flow of the same host */
	struct dcqcn_own line_part;	/* in this phase */
	double port_own, *port;		/* when it is free; NULL: the flow has one for itself */
	bool turn;			/* its packet is next but for those that wait there */
	double phase, compute, noise;	/* bytes, ns, relative */
	double left, began;		/* bytes of this phase, ns */
	double *iterations;		/* ns each */
	u32 done, wanted;
	struct sim_flow *peer;		/* the job's next flow, in a ring; NULL: it has this one */
	bool led;			/* of several hosts with a flow each: neutral until told */
	struct host_led host;
	double over;			/* when this flow's part of the phase was, 0: not yet */
};

struct sim {
	struct sim_link link;
	struct sim_flow flow[SIM_FLOWS];
	u16 heap[SIM_FLOWS];		/* flows, by when something happens to them next */
	u16 place[SIM_FLOWS];		/* of a flow in it */
	u32 flows, packet;		/* bytes of a packet */
	u32 working;			/* flows that have iterations to do, or never end */
	double now;
	u64 seed;
	double tell, tick;		/* ns: how often hosts and leaders tell, 0: never; when next */
};

static inline double sim_uniform(struct sim *s)
{
	return (random_u64(&s->seed) >> 11) * 0x1p-53;
}

static inline double sim_normal(struct sim *s)
{
	return sqrt(-2 * log(1 - sim_uniform(s))) * cos(2 * M_PI * sim_uniform(s));
}

/* Time as the job's tracker has it. */
static inline u64 sim_us(const struct sim *s)
{
	return s->now / 1000;
}

/* ... and as a NIC does: it wraps. */
static inline u32 sim_stamp(double ns)
{
	return (u64)ns;
}

/* The gain of a flow that has sent @bytes more. */
static inline struct dcqcn_gain sim_gain(const struct sim *s, struct sim_flow *f, u32 bytes)
{
	struct mlcc_led *led = f->led ? &f->host.led : NULL;
	u32 p;

	if (!f->profile)
		return DCQCN_PLAIN;
	p = host_sent(f->job, led, &f->param, bytes, sim_us(s));
	if (dcqcn_enter(&f->rp, f->job->seq)) {
		f->line_part = host_own(f->job, led, f->param.line);
		mlcc_job_enter(f->job);
	}
	return dcqcn_gain(f->profile, p, f->line_part);
}

/* Bytes per ns that the flow may send. */
static inline double sim_rate(const struct sim *s, const struct sim_flow *f)
{
	return s->link.rate * dcqcn_rate(&f->rp) / f->param.line;
}

/* @line: of @param.  The flow's first packet leaves at @start. */
static inline struct sim_flow *sim_add(struct sim *s, const struct dcqcn_param *param,
				       double start)
{
	struct sim_flow *f = &s->flow[s->flows++];

	*f = (struct sim_flow) {
		.sim = s, .param = *param, .interval = MLCC_NP_INTERVAL_NS, .next = start,
		.left = SIM_NEVER,
	};
	dcqcn_init(&f->rp, param, 0);
	return f;
}

/* Makes a job of a flow: it computes first.  @profile NULL: plain DCQCN. */
static inline void sim_job(struct sim_flow *f, const struct mlcc_profile *profile, double phase,
			   double compute, double noise, u32 iterations)
{
	f->profile = profile;
	f->job = &f->own;
	f->line_part = DCQCN_OWN_LINE;
	f->phase = phase;
	f->compute = compute;
	f->noise = noise;
	f->left = 0;
	f->began = f->next;
	f->next += compute;
	f->wanted = iterations;
	f->iterations = calloc(iterations, sizeof(*f->iterations));
}

/* A packet comes to the queue.  Returns when it is through, and whether it was marked. */
static inline double sim_link_pass(struct sim *s, struct sim_link *l, bool *marked)
{
	double found = fmax(0, l->queue - (s->now - l->at) * l->rate);
	double p = found <= l->kmin ? 0 : found >= l->kmax ? 1 :
		   l->pmax * (found - l->kmin) / (l->kmax - l->kmin);

	*marked = sim_uniform(s) < p;
	l->queue = found;
	l->at = s->now;
	l->queue += s->packet;
	l->queue_sum += l->queue;
	l->busy += s->packet;
	l->packets++;
	return s->now + l->queue / l->rate;
}

/* When something happens to the flow. */
static inline double sim_due(const struct sim_flow *f)
{
	return f->cnps ? fmin(f->cnp[f->cnp_first], f->next) : f->next;
}

static inline void sim_heap_put(struct sim *s, u32 place, u16 flow)
{
	s->heap[place] = flow;
	s->place[flow] = place;
}

/* What is due of the flow has changed. */
static inline void sim_heap_move(struct sim *s, struct sim_flow *f)
{
	u16 flow = f - s->flow;
	double due = sim_due(f);
	u32 i = s->place[flow];

	for (; i && due < sim_due(&s->flow[s->heap[(i - 1) / 2]]); i = (i - 1) / 2)
		sim_heap_put(s, i, s->heap[(i - 1) / 2]);
	for (u32 next; (next = 2 * i + 1) < s->flows; i = next) {
		if (next + 1 < s->flows && sim_due(&s->flow[s->heap[next + 1]]) <
					   sim_due(&s->flow[s->heap[next]]))
			next++;
		if (sim_due(&s->flow[s->heap[next]]) >= due)
			break;
		sim_heap_put(s, i, s->heap[next]);
	}
	sim_heap_put(s, i, flow);
}

/* The phase is over at @now: the next iteration computes. */
static inline void sim_iterate(struct sim_flow *f, double now, double compute)
{
	if (f->done < f->wanted) {
		f->iterations[f->done++] = now - f->began;
		f->sim->working -= f->done == f->wanted;
	}
	f->over = 0;
	f->began = now;
	f->next = now + compute;
	sim_heap_move(f->sim, f);
}

/* The flow's last packet has arrived at @now.  The job waits for its other flows. */
static inline void sim_phase_done(struct sim *s, struct sim_flow *f, double now)
{
	const struct mlcc_job *host = NULL;
	struct sim_flow *o = f;
	double compute = 0;

	f->over = now;
	f->next = SIM_NEVER;
	while ((o = o->peer) && o != f) {
		if (!o->over)
			return;
		now = fmax(now, o->over);
	}
	o = f;
	do {
		/* a host's flows begin together */
		if (o->job != host)
			compute = f->compute * fmax(0, 1 + f->noise * sim_normal(s));
		host = o->job;
		sim_iterate(o, now, compute);
	} while ((o = o->peer) && o != f);
}

static inline void sim_phase_start(struct sim *s, struct sim_flow *f)
{
	f->left = f->phase;
	mlcc_job_tx_start(f->job, sim_us(s), 2 * s->link.delay / 1000);
}

/* Until when PFC stops all: the queue has to come down to half of where that begins. */
static inline double sim_paused(const struct sim *s)
{
	const struct sim_link *l = &s->link;
	double queue = l->queue - (s->now - l->at) * l->rate;

	return l->pause && queue >= l->pause ? s->now + (queue - l->pause / 2) / l->rate : 0;
}

/* Whether it cannot send now.  A NIC sends a packet of each flow in turn. */
static inline bool sim_waits(struct sim *s, struct sim_flow *f)
{
	double takes = s->packet / s->link.rate;
	bool turn = f->turn;

	f->next = sim_paused(s);
	if (f->next)
		return true;
	f->turn = f->port && !turn && *f->port > s->now;
	if (f->turn)
		f->next = *f->port;
	if (f->port && !turn)
		*f->port = fmax(*f->port, s->now) + takes;
	return f->turn;
}

static inline void sim_send(struct sim *s, struct sim_flow *f)
{
	struct dcqcn_gain gain;
	double through;
	bool marked;

	if (sim_waits(s, f))
		return;
	if (f->phase && f->left <= 0)
		sim_phase_start(s, f);
	gain = sim_gain(s, f, s->packet);
	dcqcn_sent(&f->rp, &f->param, &gain, sim_stamp(s->now), s->packet);
	through = sim_link_pass(s, &s->link, &marked);
	if (f->cnps < SIM_CNPS && marked &&
	    mlcc_np_marked(&f->np, f->interval, sim_stamp(through + s->link.delay)))
		f->cnp[(f->cnp_first + f->cnps++) % SIM_CNPS] = through + 2 * s->link.delay;
	f->bytes += s->packet;
	f->left -= s->packet;
	f->paced = f->next = s->now + s->packet / sim_rate(s, f);
	if (f->phase && f->left <= 0)
		sim_phase_done(s, f, through + s->link.delay);
}

static inline void sim_cnp(struct sim *s, struct sim_flow *f)
{
	double rate = sim_rate(s, f);
	struct dcqcn_gain gain = sim_gain(s, f, 0);

	f->cnp_first = (f->cnp_first + 1) % SIM_CNPS;
	f->cnps--;
	dcqcn_cnp(&f->rp, &f->param, &gain, sim_stamp(s->now));
	if ((f->phase && f->left <= 0) || f->turn)
		return;
	/* what is left of the gap to the next packet stretches with the rate */
	f->paced = s->now + fmax(0, f->paced - s->now) * rate / sim_rate(s, f);
	f->next = f->paced;
}

static inline void sim_begin(struct sim *s)
{
	u32 flows = s->flows;

	s->working = 0;
	for (s->flows = 0; s->flows < flows;) {
		struct sim_flow *f = &s->flow[s->flows];

		s->working += !f->phase || f->done < f->wanted;
		sim_heap_put(s, s->flows, s->flows);
		s->flows++;
		sim_heap_move(s, f);
	}
}

static inline void sim_step(struct sim *s, struct sim_flow *f)
{
	if (f->cnps && f->cnp[f->cnp_first] <= f->next)
		sim_cnp(s, f);
	else
		sim_send(s, f);
	sim_heap_move(s, f);
}

/* Hosts tell their leaders what they have sent.  Answers are on their way until the next tick. */
static inline void sim_tell(struct sim *s)
{
	s->now = s->tick;
	s->tick += s->tell;
	for (struct sim_flow *f = s->flow; f < s->flow + s->flows; f++)
		if (f->host.leader)
			host_reports(&f->host, &f->own, sim_us(s), s->tell / 1000);
	for (struct sim_flow *f = s->flow; f < s->flow + s->flows; f++)
		if (f->host.leader)
			host_answered(&f->host, sim_us(s));
}

/* Until @until, or until all jobs have done their iterations. */
static inline void sim_run(struct sim *s, double until)
{
	sim_begin(s);
	while (s->working) {
		struct sim_flow *f = &s->flow[s->heap[0]];

		if (sim_due(f) >= until)
			break;
		if (s->tell && s->tick <= sim_due(f)) {
			sim_tell(s);
			continue;
		}
		s->now = sim_due(f);
		sim_step(s, f);
	}
	if (s->working)
		s->now = until;
}

/* Half of the 95 % interval of the mean of @n, two or more; @squares: the sum of theirs. */
static inline double sim_interval(double sum, double squares, u32 n)
{
	/* Student's t at 97.5 %, of n - 1 */
	static const double t[] = { 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26 };
	double variance = fmax(0, squares - sum * sum / n) / (n - 1);

	return (n - 2 < sizeof(t) / sizeof(*t) ? t[n - 2] : 2.1) * sqrt(variance / n);
}

#endif /* MLCC_DCQCN_SIM_H */
