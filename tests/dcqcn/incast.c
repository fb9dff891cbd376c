// SPDX-License-Identifier: GPL-2.0
/*
 * TMDML's notification point (rdma/dcqcn/tmdml.h), simulated packet by packet: a job of two flows
 * that arrive at one host, one of them over a second bottleneck.
 *
 *	far ----+-- link 1 --+---------------- link 2 ---- receiver of the job
 *	cross --+            +--- elsewhere     |
 *	near -----------------------------------+
 *
 * Both flows of the job send the same bytes, and an iteration ends when both are through; "cross"
 * sends all the time, under plain DCQCN.  Prints when the slower flow is done, in terms of plain.
 *
 *	incast
 */
#include <stdio.h>
#include <string.h>

#include "sim.h"
#include "../../rdma/dcqcn/tmdml.h"

#define GBIT		40
#define MBPS		1000		/* rates in kb/s */
#define PACKET		4096
#define DELAY		2000		/* ns */
#define PHASE		25e6		/* bytes of each flow */
#define COMPUTE		20e6		/* ns */
#define ITERATIONS	60
#define IN_FLIGHT	4096		/* packets of "far" between the links */

enum { FAR, NEAR, CROSS };

struct incast {
	struct sim s;			/* its link is link 2 */
	struct sim_link first;		/* link 1 */
	struct mlcc_tmdml_param param;
	struct mlcc_tmdml_group group;
	struct mlcc_tmdml_flow tmdml[2];
	struct { double at; bool marked; } between[IN_FLIGHT];
	u32 head, count;
	u32 through;			/* flows of the job that are done with this phase */
	double began, sum, queue_most;
	u32 iterations;
};

static void link_up(struct sim_link *l)
{
	*l = (struct sim_link) {
		.rate = GBIT / 8., .delay = DELAY, .kmin = 5e3, .kmax = 200e3, .pmax = .01,
	};
}

static void setup(struct incast *in, u32 spare, u32 seed)
{
	struct mlcc_rp_param c;

	memset(in, 0, sizeof(*in));
	link_up(&in->first);
	link_up(&in->s.link);
	in->s.packet = PACKET;
	in->s.seed = seed;
	in->param = (struct mlcc_tmdml_param) {
		.interval = MLCC_NP_INTERVAL_NS, .every = MLCC_TMDML_EVERY, .spare = spare,
	};
	mlcc_rp_param_init(&c, MLCC_RP_PAPER, GBIT * 1000 * MBPS, MBPS);
	for (u32 i = FAR; i <= CROSS; i++)
		sim_add(&in->s, &c, 1e6)->left = i == CROSS ? INFINITY : PHASE;
	in->began = 1e6;
}

static void queue_cnp(struct sim_flow *f, double at)
{
	if (f->cnps < SIM_CNPS)
		f->cnp[(f->cnp_first + f->cnps++) % SIM_CNPS] = at;
}

static void iteration_done(struct incast *in, double now)
{
	in->through = 0;
	in->iterations++;
	if (in->iterations > ITERATIONS / 4)
		in->sum += now - in->began;
	in->began = now + COMPUTE;
	for (u32 i = FAR; i <= NEAR; i++) {
		in->s.flow[i].left = PHASE;
		in->s.flow[i].bytes = 0;
		in->s.flow[i].next = in->began + i * 500;
	}
}

/* A packet of the job's flow @i comes to link 2, and from there to the receiver. */
static void second_link(struct incast *in, u32 i, double now, bool marked)
{
	struct sim_flow *f = &in->s.flow[i];
	bool again;
	double at = sim_link_pass(&in->s, &in->s.link, now, &again) + DELAY;

	in->queue_most = fmax(in->queue_most, in->s.link.queue);
	mlcc_tmdml_arrived(&in->group, &in->tmdml[i], &in->param, PACKET, at / 1000);
	if ((marked || again) &&
	    mlcc_tmdml_marked(&in->group, &in->tmdml[i], &in->param, sim_stamp(at)))
		queue_cnp(f, at + 2 * DELAY);
	f->bytes += PACKET;
	if (f->bytes >= PHASE && f->bytes < PHASE + PACKET && ++in->through == 2)
		iteration_done(in, at);
}

static void first_link(struct incast *in, u32 i, double now)
{
	struct sim_flow *f = &in->s.flow[i];
	bool marked;
	double at = sim_link_pass(&in->s, &in->first, now, &marked) + DELAY;

	in->queue_most = fmax(in->queue_most, in->first.queue);
	if (i == FAR && in->count < IN_FLIGHT) {
		u32 slot = (in->head + in->count++) % IN_FLIGHT;

		in->between[slot].at = at;
		in->between[slot].marked = marked;
	} else if (marked && mlcc_np_marked(&f->np, f->interval, sim_stamp(at))) {
		queue_cnp(f, at + DELAY);
	}
}

static void send_packet(struct incast *in, u32 i)
{
	struct mlcc_rp_gain gain = MLCC_RP_PLAIN;
	struct sim_flow *f = &in->s.flow[i];
	double now = in->s.now;

	mlcc_rp_sent(&f->rp, &f->param, &gain, sim_stamp(now), PACKET);
	f->left -= PACKET;
	f->next = f->left > 0 ? now + PACKET / sim_rate(&in->s, f) : INFINITY;
	if (i == NEAR)
		second_link(in, i, now, false);
	else
		first_link(in, i, now);
}

/* The next thing that happens: a CNP, a packet between the links, or one that is sent. */
static void step(struct incast *in)
{
	double at = in->count ? in->between[in->head].at : INFINITY;
	u32 who = CROSS + 1;
	bool cnp = false;

	for (u32 i = FAR; i <= CROSS; i++) {
		struct sim_flow *f = &in->s.flow[i];
		double came = f->cnps ? f->cnp[f->cnp_first] : INFINITY;

		if (fmin(came, f->next) >= at)
			continue;
		at = fmin(came, f->next);
		cnp = came <= f->next;
		who = i;
	}
	in->s.now = at;
	if (who > CROSS) {
		bool marked = in->between[in->head].marked;

		in->head = (in->head + 1) % IN_FLIGHT;
		in->count--;
		second_link(in, FAR, at, marked);
	} else if (cnp) {
		sim_cnp(&in->s, &in->s.flow[who]);
	} else {
		send_packet(in, who);
	}
}

/* Mean time until the slower flow is done, ns. */
static double run(u32 spare, u32 seed, double *cross, double *queue)
{
	static struct incast in;
	double sent;

	setup(&in, spare, seed);
	while (in.iterations < ITERATIONS)
		step(&in);
	sent = in.first.busy - in.iterations * PHASE;
	*cross = sent / in.s.now / in.first.rate;
	*queue = in.queue_most;
	return in.sum / (ITERATIONS - ITERATIONS / 4);
}

int main(void)
{
	static const u32 spares[] = { 0, 1, 3, 7, 15, 31, 1000 };
	double plain = 0;

	printf("alone the job would take %.2f ms\n", 2 * PHASE / (GBIT / 8.) / 1e6);
	printf("%8s%12s%10s%16s%14s\n", "spared", "done, ms", "of plain", "cross, of link",
	       "queue, KB");
	for (u32 i = 0; i < sizeof(spares) / sizeof(*spares); i++) {
		double cross = 0, queue = 0, took = 0;

		for (u32 seed = 1; seed <= 3; seed++) {
			double c, q;

			took += run(spares[i], seed, &c, &q) / 3;
			cross += c / 3;
			queue = fmax(queue, q);
		}
		plain = i ? plain : took;
		printf("%8u%12.2f%10.3f%16.2f%14.0f\n", spares[i], took / 1e6, took / plain, cross,
		       queue / 1e3);
	}
	return 0;
}
