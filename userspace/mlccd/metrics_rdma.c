// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What RDMA devices know of jobs, as OpenMetrics.  A family without a sample is left out: most
 * hosts have no such device.  Sums over QPs fall when one is closed, so they are gauges.
 */
#include "../rdma/rdma.h"
#include "metrics.h"
#include "mlccd.h"

/* A value of a use; false: it has none. */
struct family {
	const char *name, *unit, *help;
	bool (*value)(const struct rdma_use *u, double *v);
};

#define VALUE(name, expression, there) \
	static bool name(const struct rdma_use *u, double *v) { *v = expression; return there; }

VALUE(qps, u->qps.qps, !u->follows)
VALUE(sent, u->qps.sent, !u->follows)
VALUE(cnps, u->qps.cnps, !u->follows)
/* kb/s to bytes a second */
VALUE(rate, u->qps.rate * 125.0, !u->follows && u->qps.paced)
VALUE(slowest, u->qps.slowest * 125.0, !u->follows && u->qps.paced)
VALUE(knob_value, u->follow.value, u->follows && u->follow.has_value)
VALUE(knob_base, u->follow.base, u->follows)
VALUE(knob_gain, u->follow.gain, u->follows && u->follow.has_value)

static const struct family families[] = {
	{ "mlcc_rdma_qps", NULL, "Open QPs of a job.", qps },
	{ "mlcc_rdma_qps_sent_bytes", "bytes", "Sent by the QPs that are open, headers included.",
	  sent },
	{ "mlcc_rdma_qps_cnps", NULL, "CNPs that the QPs that are open have handled.", cnps },
	{ "mlcc_rdma_rate_bytes_per_second", NULL, "What DCQCN lets a job's QPs send.", rate },
	{ "mlcc_rdma_slowest_bytes_per_second", NULL, "What it lets the slowest of them send.",
	  slowest },
	{ "mlcc_rdma_knob", NULL, "What mlcc-dcqcn follow drives, in the knob's unit.",
	  knob_value },
	{ "mlcc_rdma_knob_base", NULL, "Its value at gain 1.", knob_base },
	{ "mlcc_rdma_knob_gain_ratio", "ratio", "The gain that the job's progress leads to.",
	  knob_gain },
};

static void sample(FILE *f, const struct mlccd *d, const struct family *m,
		   const struct rdma_use *u, double v)
{
	const struct job *job = u->job < JOB_IDS ? d->jobs.by_id[u->job] : NULL;

	fprintf(f, "%s{job=\"%u\",name=\"%s\",uid=\"%u\",device=\"%s\"", m->name, u->job,
		job ? job->conf.name : "", job ? job->uid : 0, u->device);
	if (u->follows)
		fprintf(f, ",backend=\"%s\",follows=\"%s\",knob=\"%s\"", u->follow.backend,
			u->follow.device, u->follow.knob);
	fprintf(f, "} %.15g\n", v);
}

static void metrics_rdma_family(FILE *f, const struct mlccd *d, const struct family *m,
				const struct rdma *r)
{
	bool headed = false;
	double v;

	for (size_t i = 0; i < r->uses; i++) {
		if (!m->value(&r->use[i], &v))
			continue;
		if (!headed)
			metrics_head(f, m->name, "gauge", m->unit, m->help);
		headed = true;
		sample(f, d, m, &r->use[i], v);
	}
}

static void counter(FILE *f, enum rdma_counter c, const struct rdma *r)
{
	static const char *const names[RDMA_COUNTERS][2] = {
		[RDMA_ECN_MARKED] = { "mlcc_rdma_ecn_marked", "RoCE packets with a mark." },
		[RDMA_CNP_SENT] = { "mlcc_rdma_cnps_sent", "CNPs that answered a mark." },
		[RDMA_CNP_HANDLED] = { "mlcc_rdma_cnps_handled", "CNPs that decreased a rate." },
		[RDMA_CNP_IGNORED] = { "mlcc_rdma_cnps_ignored", "CNPs that did not." },
	};
	bool headed = false;

	for (size_t i = 0; i < r->ports; i++) {
		const struct rdma_port *p = &r->port[i];

		if (!(p->there >> c & 1))
			continue;
		if (!headed)
			metrics_head(f, names[c][0], "counter", NULL, names[c][1]);
		headed = true;
		fprintf(f, "%s_total{device=\"%s\",port=\"%s\"} %llu\n", names[c][0], p->device,
			p->port, (unsigned long long)p->count[c]);
	}
}

void metrics_rdma(const struct mlccd *d, FILE *f)
{
	struct rdma r = { .use = NULL };

	rdma_read(&r, true);
	for (size_t i = 0; i < COUNT(families); i++)
		metrics_rdma_family(f, d, &families[i], &r);
	for (unsigned int c = 0; c < RDMA_COUNTERS; c++)
		counter(f, c, &r);
	rdma_free(&r);
}
