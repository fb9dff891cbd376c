// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
	size_t count, room;
};

static int metrics_collect(const struct mlcc_job_info *info, void *arg)
{
	struct rows *all = arg;
	struct row *r;

	if (!info->conf.id || info->conf.id >= JOB_IDS)
		return 0;
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		struct row *more = realloc(all->row, room * sizeof(*more));

		if (!more)
			return 1;
		all->row = more;
		all->room = room;
	}
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

void metrics_head(FILE *f, const char *name, const char *type, const char *unit, const char *help)
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

	metrics_head(f, m->name, m->type, m->unit, m->help);
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
	metrics_head(f, "mlcc_job", "info", NULL, "What a job is.");
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

	metrics_head(f, name, "histogram", "seconds", help);
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
	metrics_head(f, "mlcc_job_sent_slot_ratio", "gauge", "ratio",
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
	metrics_head(f, name, "counter", NULL, help);
	fprintf(f, "%s_total %llu\n", name, (unsigned long long)value);
}

static void own(FILE *f, const struct mlccd *d)
{
	const struct rings *rings = &d->rings;

	metrics_head(f, "mlcc_build", "info", NULL, "The version of mlccd.");
	fprintf(f, "mlcc_build_info{version=\"%s\"} 1\n", MLCCD_VERSION);
	metrics_head(f, "mlcc_carrier", "info", NULL, "The carrier that is loaded.");
	fprintf(f, "mlcc_carrier_info{carrier=\"%s\"} 1\n", carrier_name(&d->carrier));
	metrics_head(f, "mlcc_jobs", "gauge", NULL, "Jobs that are set.");
	fprintf(f, "mlcc_jobs %u\n", d->jobs.count);
	single(f, "mlcc_requests", "Requests of all peers.", d->requests);
	single(f, "mlcc_requests_refused", "Requests with an error.", d->refused);
	single(f, "mlcc_requests_limited", "Requests beyond the rate.", d->peers.limited);
	single(f, "mlcc_peers_dropped", "Peers that did not read.", d->peers.dropped);
	single(f, "mlcc_ring_records", "Hints that came by a ring.", rings->records);
	single(f, "mlcc_ring_records_bad", "Hints that were not valid.", rings->bad);
	single(f, "mlcc_ring_records_late", "Hints that came too late.", rings->late);
}

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
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		metrics_family(f, &families[i], &all);
	about(f, &all);
	histograms(f, "mlcc_job_iteration_duration_seconds", "Iterations that mlccd has seen.",
		   &all, offsetof(struct history, iteration));
	histograms(f, "mlcc_job_communication_duration_seconds", "Their phases.", &all,
		   offsetof(struct history, communication));
	slots(f, &all);
	metrics_rdma(d, f);
	fputs("# EOF\n", f);
	free(all.row);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
