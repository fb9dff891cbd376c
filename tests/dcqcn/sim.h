/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flows under rdma/dcqcn/ on one link: each packet is simulated, the switch marks as DCQCN's does.
 *
 *	RP --------> queue of the link ----> NP		a packet is marked by the queue that it
 *	   <------------- CNP ---------------		finds: none below Kmin, P at Kmax, then all
 *
 * A flow sends for ever, or it is a job: it computes, sends D_phase bytes, and again; its progress
 * is the shared tracker's, which learns D_phase by itself.  Time is in nanoseconds.
 */
#ifndef MLCC_DCQCN_SIM_H
#define MLCC_DCQCN_SIM_H

#include <math.h>
#include <stdlib.h>

#include "../../include/mlcc/profiles.h"
#include "../../rdma/dcqcn/np.h"
#include "../../rdma/dcqcn/rp.h"
#include "../unit/random.h"

#define SIM_FLOWS	8
#define SIM_CNPS	64		/* on their way to one RP */
#define SIM_ACKS	16		/* of a flow that are remembered */
#define SIM_ACK_EVERY	64		/* packets, as rxe asks for them */
#define SIM_NEVER	INFINITY

struct sim_link {
	double rate;			/* bytes per ns */
	double delay;			/* ns, one way */
	double kmin, kmax, pmax;	/* bytes, bytes, probability */
	double weight;			/* of a packet in the mean that is marked by, 0: no mean */
	double queue, at;		/* bytes, and when they were that many */
	double mean;			/* of the queue, as RED has it */
	double busy;			/* bytes that have gone through */
	double queue_sum;		/* over the packets */
	u64 packets;
};

struct sim_flow {
	struct mlcc_rp_param param;
	struct mlcc_rp rp;
	struct mlcc_np np;
	u32 interval;			/* ns, of the NP */
	double next;			/* when it sends again */
	double cnp[SIM_CNPS];		/* when they arrive at the RP */
	u32 cnp_first, cnps;
	double bytes;			/* sent, ever */
	double paced;			/* when its rate lets it send again */
	u32 window;			/* packets that may wait for an ACK; 0: as many as there are */
	u64 packets;			/* sent, ever */
	double acks[SIM_ACKS];		/* when the last ACKs arrive */

	/* a job */
	const struct mlcc_profile *profile;
	struct mlcc_job job;
	double phase, compute, noise;	/* bytes, ns, relative */
	double left, began;		/* bytes of this phase, ns */
	double *iterations;		/* ns each */
	u32 done, wanted;
	struct sim_flow *peer;		/* the job's flow on another link; NULL: it has this one */
	double over;			/* when this flow's part of the phase was, 0: not yet */
};

struct sim {
	struct sim_link link;
	struct sim_flow flow[SIM_FLOWS];
	struct sim *back;		/* the link that ACKs take; NULL: one without a queue */
	u32 flows, packet;		/* bytes of a packet */
	double now;
	u64 seed;
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
static inline struct mlcc_rp_gain sim_gain(const struct sim *s, struct sim_flow *f, u32 bytes)
{
	u32 p;

	if (!f->profile)
		return mlcc_rp_gain(NULL, MLCC_NEUTRAL);
	p = mlcc_job_acked(&f->job, bytes, sim_us(s));
	mlcc_rp_phase(&f->rp, &f->param, f->profile, p, f->job.seq, sim_stamp(s->now));
	return mlcc_rp_gain(f->profile, p);
}

/* Bytes per ns that the flow may send. */
static inline double sim_rate(const struct sim *s, const struct sim_flow *f)
{
	return s->link.rate * mlcc_rp_rate(&f->rp) / f->param.line;
}

/* @line: of @param.  The flow's first packet leaves at @start. */
static inline struct sim_flow *sim_add(struct sim *s, const struct mlcc_rp_param *param,
				       double start)
{
	struct sim_flow *f = &s->flow[s->flows++];

	*f = (struct sim_flow) {
		.param = *param, .interval = MLCC_NP_INTERVAL_NS, .next = start,
		.left = SIM_NEVER,
	};
	mlcc_rp_init(&f->rp, param, 0);
	return f;
}

/* Makes a job of a flow: it computes first.  @profile NULL: plain DCQCN. */
static inline void sim_job(struct sim_flow *f, const struct mlcc_profile *profile, double phase,
			   double compute, double noise, u32 iterations)
{
	f->profile = profile;
	f->phase = phase;
	f->compute = compute;
	f->noise = noise;
	f->left = 0;
	f->began = f->next;
	f->next += compute;
	f->wanted = iterations;
	f->iterations = calloc(iterations, sizeof(*f->iterations));
}

/* The queue that a packet finds at @now, or RED's mean of those. */
static inline double sim_link_queue(struct sim *s, struct sim_link *l, double now)
{
	double left = l->queue - (now - l->at) * l->rate;

	l->queue = fmax(0, left);
	l->at = now;
	if (!l->weight)
		return l->queue;
	/* as if packets had come while the link was idle */
	l->mean *= pow(1 - l->weight, fmax(0, -left) / s->packet);
	l->mean += (l->queue - l->mean) * l->weight;
	return l->mean;
}

/* A packet comes to the queue at @now.  Returns when it is through, and whether it was marked. */
static inline double sim_link_pass(struct sim *s, struct sim_link *l, double now, bool *marked)
{
	double found = sim_link_queue(s, l, now), p;

	p = found <= l->kmin ? 0 : found >= l->kmax ? 1 :
	    l->pmax * (found - l->kmin) / (l->kmax - l->kmin);
	*marked = sim_uniform(s) < p;
	l->queue += s->packet;
	l->queue_sum += l->queue;
	l->busy += s->packet;
	l->packets++;
	return now + l->queue / l->rate;
}

/* The phase is over at @now: the next iteration computes. */
static inline void sim_iterate(struct sim *s, struct sim_flow *f, double now)
{
	if (f->done < f->wanted)
		f->iterations[f->done++] = now - f->began;
	f->began = now;
	f->next = now + f->compute * fmax(0, 1 + f->noise * sim_normal(s));
}

/* The flow's last packet has arrived at @now.  The job waits for its other flow. */
static inline void sim_phase_done(struct sim *s, struct sim_flow *f, double now)
{
	struct sim_flow *peer = f->peer;

	if (!peer) {
		sim_iterate(s, f, now);
		return;
	}
	f->over = now;
	f->next = SIM_NEVER;
	if (!peer->over)
		return;
	now = fmax(now, peer->over);
	f->over = 0;
	peer->over = 0;
	sim_iterate(s, f, now);
	sim_iterate(s, peer, now);
}

static inline void sim_phase_start(struct sim *s, struct sim_flow *f)
{
	f->left = f->phase;
	mlcc_job_tx_start(&f->job, sim_us(s), 2 * s->link.delay / 1000);
}

/* What was sent now arrives at @arrived.  When its ACK does, which waits behind other packets. */
static inline double sim_ack(const struct sim *s, double arrived)
{
	const struct sim_link *l = s->back ? &s->back->link : &s->link;
	double queue = s->back ? fmax(0, l->queue - (s->now - l->at) * l->rate) : 0;

	return arrived + s->link.delay + queue / l->rate;
}

/* When the window lets the flow send again. */
static inline double sim_held(const struct sim_flow *f)
{
	u64 needs = f->packets + 1 - f->window;	/* an ACK of this packet, or of a later one */

	if (!f->window || f->packets < f->window)
		return 0;
	return f->acks[(needs + SIM_ACK_EVERY - 1) / SIM_ACK_EVERY % SIM_ACKS];
}

static inline void sim_send(struct sim *s, struct sim_flow *f)
{
	struct mlcc_rp_gain gain;
	double through;
	bool marked;

	if (f->phase && f->left <= 0)
		sim_phase_start(s, f);
	gain = sim_gain(s, f, s->packet);
	mlcc_rp_sent(&f->rp, &f->param, &gain, sim_stamp(s->now), s->packet);
	through = sim_link_pass(s, &s->link, s->now, &marked);
	if (marked && f->cnps < SIM_CNPS &&
	    mlcc_np_marked(&f->np, f->interval, sim_stamp(through + s->link.delay)))
		f->cnp[(f->cnp_first + f->cnps++) % SIM_CNPS] = through + 2 * s->link.delay;
	f->bytes += s->packet;
	f->left -= s->packet;
	if (!(++f->packets % SIM_ACK_EVERY))
		f->acks[f->packets / SIM_ACK_EVERY % SIM_ACKS] = sim_ack(s, through + s->link.delay);
	f->paced = s->now + s->packet / sim_rate(s, f);
	f->next = fmax(f->paced, sim_held(f));
	if (f->phase && f->left <= 0)
		sim_phase_done(s, f, through + s->link.delay);
}

static inline void sim_cnp(struct sim *s, struct sim_flow *f)
{
	double rate = sim_rate(s, f);
	struct mlcc_rp_gain gain = sim_gain(s, f, 0);

	f->cnp_first = (f->cnp_first + 1) % SIM_CNPS;
	f->cnps--;
	mlcc_rp_cnp(&f->rp, &f->param, &gain, sim_stamp(s->now));
	if (f->phase && f->left <= 0)
		return;
	/* what is left of the gap to the next packet stretches with the rate */
	if (f->paced > s->now)
		f->paced = s->now + (f->paced - s->now) * rate / sim_rate(s, f);
	f->next = fmax(f->paced, fmax(sim_held(f), s->now));
}

struct sim_event {
	struct sim *sim;
	struct sim_flow *flow;		/* NULL: nothing happens */
	double at;
	bool cnp;			/* one arrives; else the flow sends */
};

/* What happens next on a link, if it is before @next.  Returns whether a flow has work to do. */
static inline bool sim_look(struct sim *s, struct sim_event *next)
{
	bool working = false;

	for (struct sim_flow *f = s->flow; f < s->flow + s->flows; f++) {
		working |= !f->phase || f->done < f->wanted;
		if (f->cnps && f->cnp[f->cnp_first] < next->at)
			*next = (struct sim_event) { s, f, f->cnp[f->cnp_first], true };
		if (f->next < next->at)
			*next = (struct sim_event) { s, f, f->next, false };
	}
	return working;
}

/* Runs @links together until @until, or until all jobs have done their iterations. */
static inline void sim_run_links(struct sim *links, u32 count, double until)
{
	for (;;) {
		struct sim_event next = { .at = until };
		bool working = false;

		for (u32 i = 0; i < count; i++)
			working |= sim_look(&links[i], &next);
		for (u32 i = 0; i < count; i++)
			links[i].now = next.at;
		if (!next.flow || !working)
			return;
		if (next.cnp)
			sim_cnp(next.sim, next.flow);
		else
			sim_send(next.sim, next.flow);
	}
}

static inline void sim_run(struct sim *s, double until)
{
	sim_run_links(s, 1, until);
}

#endif /* MLCC_DCQCN_SIM_H */
