// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* show */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

/* Page by page, as one list. */
struct json_object *try_all_jobs(void)
{
	struct json_object *all = json_object_new_array(), *request, *reply, *page, *job;
	uint64_t after = 0;

	do {
		request = new_request("show");
		put_u64(request, "after", after);
		reply = try_ask(request);
		if (!reply) {
			json_object_put(all);
			return NULL;
		}
		page = get_list(reply, "jobs");
		json_each(job, page)
			json_object_array_add(all, json_object_get(job));
		after = get_u64(reply, "after");
		json_object_put(reply);
	} while (after);
	return all;
}

struct json_object *all_jobs(void)
{
	struct json_object *all = try_all_jobs();

	if (!all)
		die_answering(refusal.status, NULL, refusal.why);
	return all;
}

static void progress_text(struct json_object *job, char *s, size_t size)
{
	if (get_bool(job, "neutral") || !json_object_object_get_ex(job, "progress", NULL))
		snprintf(s, size, "-");
	else
		snprintf(s, size, "%.0f%%", 100 * get_double(job, "progress"));
}

/* The last iteration against what it should take. */
static void slowdown_text(struct json_object *job, char *s, size_t size)
{
	double wanted = get_u64(job, "alone_us"), is = get_u64(job, "iteration_us");

	if (wanted && is)
		snprintf(s, size, "%.2f", is / wanted);
	else
		snprintf(s, size, "-");
}

static void print_qps(struct json_object *use)
{
	printf("%s QP%s, %s sent, %s CNPs", get_string(use, "qps"),
	       get_u64(use, "qps") == 1 ? "" : "s", human(get_u64(use, "sent_bytes")),
	       human(get_u64(use, "cnps")));
	if (given(use, "rate_kbps"))
		printf(", at %sb/s (slowest %sb/s)", human(1000 * get_u64(use, "rate_kbps")),
		       human(1000 * get_u64(use, "slowest_kbps")));
}

static void print_knob(struct json_object *use)
{
	const char *unit = get_string(use, "unit");

	printf("%s:%s %s", get_string(use, "backend"), get_string(use, "follows"),
	       get_string(use, "knob"));
	if (given(use, "value"))
		printf(" %s%s%s, gain %.2f", get_string(use, "value"), *unit ? " " : "", unit,
		       get_double(use, "gain"));
	printf(", base %s%s%s (%s, for the whole %s)", get_string(use, "base"), *unit ? " " : "",
	       unit, get_string(use, "state"), get_string(use, "scope"));
	if (given(use, "sent_bytes"))
		printf(", %s sent", human(get_u64(use, "sent_bytes")));
}

/* A line for each device that the job sends by. */
static void print_rdma(struct json_object *job, const char *indent)
{
	struct json_object *list, *use;

	if (!json_object_object_get_ex(job, "rdma", &list))
		return;
	json_each(use, list) {
		printf("%srdma %s: ", indent, get_string(use, "device"));
		if (given(use, "knob"))
			print_knob(use);
		else
			print_qps(use);
		putchar('\n');
	}
	if (given(job, "rdma_more"))
		printf("%srdma: %s more\n", indent, get_string(job, "rdma_more"));
}

static void print_jobs(struct json_object *list)
{
	char progress[16], slowdown[16];
	struct json_object *job;

	printf("%5s %-16s %-10s %-11s %5s %7s %8s %5s %9s %9s %8s %8s  %s\n", "JOB", "NAME",
	       "CLASS", "PROFILE", "FLOWS", "PHASES", "PROGRESS", "GAIN", "D_PHASE", "ITER ms",
	       "SLOWDOWN", "RETRANS", "CGROUP");
	json_each(job, list) {
		progress_text(job, progress, sizeof(progress));
		slowdown_text(job, slowdown, sizeof(slowdown));
		printf("%5s %-16s %-10s %-11s %5s %7s %8s %5.2f %9s %9s %8s %8s  %s\n",
		       get_string(job, "id"), get_string(job, "name"), get_string(job, "class"),
		       get_string(job, "profile"), get_string(job, "flows"),
		       get_string(job, "phases"), progress, get_double(job, "gain"),
		       human(get_u64(job, "d_phase_bytes")),
		       milliseconds(get_u64(job, "iteration_us")), slowdown,
		       human(get_u64(job, "retrans")), get_string(job, "cgroup"));
		if (get_u64(job, "orphans"))
			printf("      %s connections more, of an unloaded carrier\n",
			       get_string(job, "orphans"));
		print_rdma(job, "      ");
	}
}

static void print_one(struct json_object *list)
{
	struct json_object *job = json_object_array_get_idx(list, 0);

	if (!job)
		return;
	json_object_object_foreach(job, key, value)
		if (strcmp(key, "rdma") && strcmp(key, "rdma_more"))
			printf("%-20s %s\n", key, json_object_get_string(value));
	print_rdma(job, "");
}

struct json_object *ask_job(const char *name)
{
	struct json_object *request = new_request("show"), *list;
	AUTO_PUT struct json_object *reply = NULL;

	if (name)
		put_string(request, "job", name);
	else
		put_bool(request, "self", true);
	reply = ask(request);
	list = json_object_get(get_list(reply, "jobs"));
	if (!json_object_array_length(list))
		die(EXIT_FAILED, "mlccd's reply has no job");
	return list;
}

int verb_show(int argc, char **argv)
{
	bool self = flag_option(argc, argv, "self"), one;
	struct json_object *list;

	if (argc - optind + self > 1)
		die(EXIT_USAGE, "show: at most one job is wanted, by id or name, or --self");
	one = self || optind < argc;
	list = one ? ask_job(self ? NULL : argv[optind]) : all_jobs();
	if (!common.json)
		(one ? print_one : print_jobs)(list);
	answer(list);
	return EXIT_FINE;
}
