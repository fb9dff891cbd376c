// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>

#include "metrics.h"
#include "mlccd.h"

struct row {
	struct mlcc_job_info info;
	struct job *job;
};

struct rows {
	struct mlccd *d;
	struct row *row;
	size_t count, room;
};

static int collect(const struct mlcc_job_info *info, void *arg)
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
		jobs_count(&all->d->jobs, r->job, &r->info);
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
};

void metrics_head(FILE *f, const char *name, const char *type, const char *unit, const char *help)
{
	fprintf(f, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(f, "# UNIT %s %s\n", name, unit);
	fprintf(f, "# HELP %s %s\n", name, help);
}

/* Names have no characters that would have to be escaped. */
static void family(FILE *f, const struct family *m, const struct rows *all)
{
	const char *suffix = m->type[0] == 'c' ? "_total" : "";

	metrics_head(f, m->name, m->type, m->unit, m->help);
	for (size_t i = 0; i < all->count; i++) {
		const struct row *r = &all->row[i];

		fprintf(f, "%s%s{job=\"%u\",name=\"%s\",uid=\"%u\"} %.15g\n", m->name, suffix,
			r->info.conf.id, r->info.conf.name, r->job ? r->job->uid : 0, m->value(r));
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
		carrier_job_each(&d->carrier, collect, &all);
	own(f, d);
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		family(f, &families[i], &all);
	metrics_rdma(d, f);
	fputs("# EOF\n", f);
	free(all.row);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
