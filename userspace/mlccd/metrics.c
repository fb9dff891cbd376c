// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/auto.h"
#include "../rdma/rdma.h"
#include "metrics.h"
#include "mlccd.h"

#define HISTOGRAMS	256	/* jobs that have them: they are 30 series each */

struct row {
	struct mlcc_job_info info;
	struct job *job;
};

struct rows {
	struct mlccd *d;
	struct row *row;
	size_t count;
};

static int metrics_collect(const struct mlcc_job_info *info, void *arg)
{
	struct rows *all = arg;
	struct row *r, *more;

	if (!info->conf.id || info->conf.id >= JOB_IDS)
		return 0;
	more = grow(all->row, all->count, sizeof(*more));
	if (!more)
		return 1;
	all->row = more;
	r = &all->row[all->count++];
	*r = (struct row){ *info, all->d->jobs.by_id[info->conf.id] };
	if (r->job)
		jobs_look(&all->d->jobs, r->job, &r->info);
	return 0;
}

#define VALUE(name, expression) \
	static double name(const struct row *r) { return expression; }

VALUE(flows, r->info.flows)
VALUE(phases, r->info.phases)
VALUE(bytes, r->info.bytes)
VALUE(retrans, r->info.retrans)
VALUE(ce, r->info.ce)
VALUE(progress, r->info.progress / 65536.0)
VALUE(gain, r->info.gain / 65536.0)
VALUE(neutral, r->info.neutral)
VALUE(d_phase, r->info.d_phase)
VALUE(iteration, r->info.iteration_us / 1e6)
VALUE(communication, r->info.comm_us / 1e6)

static double alone(const struct row *r)
{
	const char *from;
	const struct job *j = r->job;
	uint32_t us = j ? history_alone_us(&j->history, &r->info, j->period_us, &from) : 0;

	return us ? us / 1e6 : NAN;
}

VALUE(waited, r->job ? r->job->history.waited_us / 1e6 : NAN)
VALUE(slowdown, r->info.iteration_us ? iteration(r) / alone(r) : NAN)

static const struct family {
	const char *name, *type, *unit, *help;
	double (*value)(const struct row *r);
} families[] = {
	{ "mlcc_job_flows", "gauge", NULL, "Open connections.", flows },
	{ "mlcc_job_phases", "counter", NULL, "Communication phases.", phases },
	{ "mlcc_job_sent_bytes", "counter", "bytes", "Bytes acknowledged.", bytes },
	{ "mlcc_job_retransmits", "counter", NULL, "Segments sent again.", retrans },
	{ "mlcc_job_ce", "counter", NULL, "Segments with an ECN mark.", ce },
	{ "mlcc_job_progress_ratio", "gauge", "ratio", "Progress of the phase.", progress },
	{ "mlcc_job_gain_ratio", "gauge", "ratio", "Factor of the increase.", gain },
	{ "mlcc_job_neutral", "gauge", NULL, "1: treated as its base algorithm does.", neutral },
	{ "mlcc_job_d_phase_bytes", "gauge", "bytes", "D_phase; 0: unknown.", d_phase },
	{ "mlcc_job_iteration_seconds", "gauge", "seconds", "Last iteration.", iteration },
	{ "mlcc_job_communication_seconds", "gauge", "seconds", "Last phase.", communication },
	{ "mlcc_job_alone_seconds", "gauge", "seconds", "An iteration alone; absent: unknown.",
	  alone },
	{ "mlcc_job_waited_seconds", "counter", "seconds",
	  "What phases that mlccd has seen took beyond the shortest of as many bytes.", waited },
	{ "mlcc_job_slowdown_ratio", "gauge", "ratio", "Last iteration over one alone.", slowdown },
};

static void head(FILE *f, const char *name, const char *type, const char *unit, const char *help)
{
	fprintf(f, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(f, "# UNIT %s %s\n", name, unit);
	fprintf(f, "# HELP %s %s\n", name, help);
}

/* Those of every sample of a job. Names have no characters that would have to be escaped. */
static void labels(FILE *f, const struct row *r)
{
	fprintf(f, "{job=\"%u\",name=\"%s\",uid=\"%u\"", r->info.conf.id, r->info.conf.name,
		r->job ? r->job->uid : 0);
}

static void metrics_family(FILE *f, const struct family *m, const struct rows *all)
{
	const char *suffix = m->type[0] == 'c' ? "_total" : "";

	head(f, m->name, m->type, m->unit, m->help);
	for (size_t i = 0; i < all->count; i++) {
		const struct row *r = &all->row[i];

		if (isnan(m->value(r)))
			continue;
		fprintf(f, "%s%s", m->name, suffix);
		labels(f, r);
		fprintf(f, "} %.15g\n", m->value(r));
	}
}

static void about(FILE *f, const struct rows *all)
{
	head(f, "mlcc_job", "info", NULL, "What a job is.");
	for (size_t i = 0; i < all->count; i++) {
		const struct mlcc_job_conf *conf = &all->row[i].info.conf;

		fputs("mlcc_job_info", f);
		labels(f, &all->row[i]);
		fprintf(f, ",class=\"%s\",profile=\"%s\"} 1\n", conf->job_class, conf->profile);
	}
}

static void histogram(FILE *f, const char *name, const struct row *r, const struct spread *s)
{
	uint64_t sum = 0;

	for (int i = 0; i <= HISTORY_BOUNDS; i++) {
		sum += s->count[i];
		fprintf(f, "%s_bucket", name);
		labels(f, r);
		if (i < HISTORY_BOUNDS)
			fprintf(f, ",le=\"%g\"", history_bounds[i] / 1e6);
		else
			fputs(",le=\"+Inf\"", f);
		fprintf(f, "} %llu\n", (unsigned long long)sum);
	}
	fprintf(f, "%s_sum", name);
	labels(f, r);
	fprintf(f, "} %.15g\n%s_count", s->sum_us / 1e6, name);
	labels(f, r);
	fprintf(f, "} %llu\n", (unsigned long long)sum);
}

/* Of the first jobs that have iterations; @which: offset of the spread in their history. */
static void histograms(FILE *f, const char *name, const char *help, const struct rows *all,
		       size_t which)
{
	unsigned int left = HISTOGRAMS;

	head(f, name, "histogram", "seconds", help);
	for (size_t i = 0; i < all->count && left; i++) {
		const struct row *r = &all->row[i];

		if (!r->job || !r->job->history.seen)
			continue;
		histogram(f, name, r, (const struct spread *)((char *)&r->job->history + which));
		left--;
	}
}

/* At the end of the same 15 s on all hosts, whenever each is asked. */
static void slots(FILE *f, const struct rows *all)
{
	head(f, "mlcc_job_sent_slot_ratio", "gauge", "ratio",
		     "Part of a slot's instants at which the job was sending.");
	for (size_t i = 0; i < all->count; i++) {
		const struct row *r = &all->row[i];
		uint64_t at = r->job ? overlap_told_s(&all->d->overlap, &r->job->sends) : 0;

		for (int k = 0; at && k < OVERLAP_SLOTS; k++) {
			fputs("mlcc_job_sent_slot_ratio", f);
			labels(f, r);
			fprintf(f, ",link=\"%s\",slot=\"%d\"} %g %llu\n", all->d->config.link, k,
				(double)r->job->sends.told[k] / OVERLAP_IN_SLOT,
				(unsigned long long)at);
		}
	}
}

static void single(FILE *f, const char *name, const char *help, uint64_t value)
{
	head(f, name, "counter", NULL, help);
	fprintf(f, "%s_total %llu\n", name, (unsigned long long)value);
}

static void own(FILE *f, const struct mlccd *d)
{
	const struct rings *rings = &d->rings;

	head(f, "mlcc_build", "info", NULL, "The version of mlccd.");
	fprintf(f, "mlcc_build_info{version=\"%s\"} 1\n", MLCCD_VERSION);
	head(f, "mlcc_carrier", "info", NULL, "The carrier that is loaded.");
	fprintf(f, "mlcc_carrier_info{carrier=\"%s\"} 1\n", carrier_name(&d->carrier));
	head(f, "mlcc_jobs", "gauge", NULL, "Jobs that are set.");
	fprintf(f, "mlcc_jobs %u\n", d->jobs.count);
	single(f, "mlcc_requests", "Requests of all peers.", d->requests);
	single(f, "mlcc_requests_refused", "Requests with an error.", d->refused);
	single(f, "mlcc_requests_limited", "Requests beyond the rate.", d->peers.limited);
	single(f, "mlcc_peers_dropped", "Peers that did not read.", d->peers.dropped);
	single(f, "mlcc_ring_records", "Hints that came by a ring.", rings->records);
	single(f, "mlcc_ring_records_bad", "Hints that were not valid.", rings->bad);
	single(f, "mlcc_ring_records_late", "Hints that came too late.", rings->late);
}

/*** What RDMA devices know of jobs ***/

/*
 * A family without a sample is left out: most hosts have no such device.  Sums over QPs fall when one
 * is closed, so they are gauges.
 */

/* A value of a use; false: it has none. */
struct rdma_family {
	const char *name, *unit, *help;
	bool (*value)(const struct rdma_use *u, double *v);
};

#define RDMA_VALUE(name, expression, there) \
	static bool name(const struct rdma_use *u, double *v) { *v = expression; return there; }

RDMA_VALUE(qps, u->qps.qps, !u->follows)
RDMA_VALUE(sent, u->qps.sent, !u->follows)
RDMA_VALUE(cnps, u->qps.cnps, !u->follows)
/* kb/s to bytes a second */
RDMA_VALUE(rate, u->qps.rate * 125.0, !u->follows && u->qps.paced)
RDMA_VALUE(slowest, u->qps.slowest * 125.0, !u->follows && u->qps.paced)
RDMA_VALUE(knob_value, u->follow.value, u->follows && u->follow.has_value)
RDMA_VALUE(knob_base, u->follow.base, u->follows)
RDMA_VALUE(knob_gain, u->follow.gain, u->follows && u->follow.has_value)

static const struct rdma_family rdma_families[] = {
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

static void rdma_sample(FILE *f, const struct mlccd *d, const struct rdma_family *m,
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

static void rdma_family(FILE *f, const struct mlccd *d, const struct rdma_family *m,
			const struct rdma *r)
{
	bool headed = false;
	double v;

	for (size_t i = 0; i < r->uses; i++) {
		if (!m->value(&r->use[i], &v))
			continue;
		if (!headed)
			head(f, m->name, "gauge", m->unit, m->help);
		headed = true;
		rdma_sample(f, d, m, &r->use[i], v);
	}
}

static void rdma_counter_family(FILE *f, enum rdma_counter c, const struct rdma *r)
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
			head(f, names[c][0], "counter", NULL, names[c][1]);
		headed = true;
		fprintf(f, "%s_total{device=\"%s\",port=\"%s\"} %llu\n", names[c][0], p->device,
			p->port, (unsigned long long)p->count[c]);
	}
}

static void about_rdma(FILE *f, const struct mlccd *d)
{
	struct rdma r = { .use = NULL };

	rdma_read(&r, true);
	for (size_t i = 0; i < COUNT(rdma_families); i++)
		rdma_family(f, d, &rdma_families[i], &r);
	for (unsigned int c = 0; c < RDMA_COUNTERS; c++)
		rdma_counter_family(f, c, &r);
	rdma_free(&r);
}

/*** All of it ***/

char *metrics_text(void *arg, size_t *len)
{
	struct mlccd *d = arg;
	struct rows all = { .d = d };
	char *text = NULL;
	struct err e;
	FILE *f;

	f = open_memstream(&text, len);
	if (!f)
		return NULL;
	jobs_adopt(&d->jobs);
	if (!carrier_need(&d->carrier, &e))
		carrier_job_each(&d->carrier, metrics_collect, &all);
	own(f, d);
	for (size_t i = 0; i < COUNT(families); i++)
		metrics_family(f, &families[i], &all);
	about(f, &all);
	histograms(f, "mlcc_job_iteration_duration_seconds", "Iterations that mlccd has seen.",
		   &all, offsetof(struct history, iteration));
	histograms(f, "mlcc_job_communication_duration_seconds", "Their phases.", &all,
		   offsetof(struct history, communication));
	slots(f, &all);
	about_rdma(f, d);
	fputs("# EOF\n", f);
	free(all.row);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
