// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * explain: why a job is as fast, or as slow, as it is, as far as this host can tell.
 *
 * All of it is from what show says of the job, and from its cgroup's list of processes.
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../../include/mlcc/window.h"
#include "ctl.h"
#include "findings.h"

#define LEARNING	3	/* phases before it is odd that nothing is known */
#define SLOW		1.05	/* of what an iteration would take alone */
#define LOSSY		10	/* segments sent again per MB */
#define OTHERS		4	/* jobs that are named */

/* Whether a process is in a cgroup or below; -1: that may not be seen. */
static int is_populated(const char *mount, const char *cgroup)
{
	char path[PATH_MAX], line[32];

	if (snprintf(path, sizeof(path), "%s/%s/cgroup.events", mount, cgroup) >= (int)sizeof(path) ||
	    !first_line(path, line, sizeof(line)))
		return -1;
	return strcmp(line, "populated 0") != 0;
}

bool check_orphans(struct json_object *job)
{
	if (!get_u64(job, "orphans"))
		return false;
	result(BAD, "orphans", "connections that are made anew get the one that is loaded",
	       "%s connections of job %s have a carrier that was unloaded: nothing that is set or announced reaches them",
	       get_string(job, "orphans"), get_string(job, "id"));
	return true;
}

static void explain_active(struct json_object *job, const char *mount)
{
	const char *cgroup = get_string(job, "cgroup");
	uint64_t flows = get_u64(job, "flows");
	bool rdma = json_object_object_get_ex(job, "rdma", NULL);

	check_orphans(job);
	if (flows || rdma)
		result(FINE, "active", "", "%s TCP connections%s", get_string(job, "flows"),
		       rdma ? ", and RDMA" : "");
	else if (!*cgroup)
		result(NOTE, "active", "'ss -tem' prints marks",
		       "no connection has its mark");
	else if (!is_populated(mount, cgroup))
		result(BAD, "active", "start it there: 'mlcc-ctl run', or cgroup.procs",
		       "no process is in its cgroup");
	else
		result(NOTE, "active", "it may not have connected yet, or where --skip leaves it out",
		       "its cgroup has processes, but the carrier knows no TCP connection of it (skip: %s)",
		       get_string(job, "skip"));
}

static void explain_d_phase(struct json_object *job)
{
	uint64_t d = get_u64(job, "d_phase_bytes"), phases = get_u64(job, "phases");

	if (d)
		result(FINE, "d_phase", "", "a phase has %s bytes; %s of them are sent", human(d),
		       human(get_u64(job, "d_sent_bytes")));
	else if (phases < LEARNING)
		result(NOTE, "d_phase", "two that agree are enough",
		       "is not learnt yet, of %s phases", get_string(job, "phases"));
	else
		result(BAD, "d_phase", "announce them: NCCL's plugin (it sees no GIN, GDAKI or zero-SM collectives), mlcc_torch, or --phase-bytes",
		       "of %s phases no two in a row have the same bytes and silences",
		       get_string(job, "phases"));
	if (d && get_bool(job, "neutral"))
		result(NOTE, "neutral", get_bool(job, "hinted") ?
		       "so it is between its phases" : "the next phase ends that",
		       "it does what its base does now: no phase is under way, or one went on");
}

static void explain_wait(struct json_object *job)
{
	uint64_t n = get_u64(job, "timeouts");

	if (n >= MLCC_TIMEOUTS_MAX)
		result(NOTE, "wait", "the first phase that finds the link free ends that",
		       "in %s phases in a row others had the link and did not leave it: it keeps its window, as its base does",
		       get_string(job, "timeouts"));
	else if (n)
		result(NOTE, "wait", "",
		       "in %s phases in a row others had the link and did not leave it: it waits less long",
		       get_string(job, "timeouts"));
}

static bool differ(uint64_t said, uint64_t is)
{
	return said && is && (said > is ? said - is : is - said) > is / 8;
}

/* What a phase has; 0: unknown.  Phases that were not announced may be pieces of one. */
static uint64_t sent_in_a_phase(struct json_object *job)
{
	uint64_t learnt = get_u64(job, "d_learnt_bytes"), phases = get_u64(job, "phases");

	if (!learnt && get_bool(job, "hinted") && phases >= LEARNING)
		return get_u64(job, "bytes") / phases;
	return learnt;
}

bool hints_contradict(struct json_object *job, char *why, size_t size)
{
	uint64_t said = get_u64(job, "phase_bytes"), d = get_u64(job, "d_phase_bytes");
	uint64_t sent = sent_in_a_phase(job), hint = get_bool(job, "hinted") ? d : 0;

	if (differ(said, sent))
		snprintf(why, size, "--phase-bytes announces %s bytes, %s are sent", human(said),
			 human(sent));
	else if (differ(hint, sent))
		snprintf(why, size, "%s bytes are announced, %s are sent", human(hint),
			 human(sent));
	else if (differ(said, hint))
		snprintf(why, size, "--phase-bytes announces %s bytes, its processes %s",
			 human(said), human(hint));
	else
		return false;
	return true;
}

static void explain_hints(struct json_object *job)
{
	bool hinted = get_bool(job, "hinted");
	char why[200];

	if (hints_contradict(job, why, sizeof(why)))
		result(BAD, "hints", "correct the announcement", "%s", why);
	else if (hinted && get_u64(job, "ranks"))
		result(FINE, "hints", "", "its phases are announced, by %s of its processes here",
		       get_string(job, "ranks"));
	else if (hinted)
		result(FINE, "hints", "", "its phases are announced");
	else if (get_u64(job, "phase_bytes") && sent_in_a_phase(job))
		result(FINE, "hints", "", "the bytes of a phase are announced, its begin is learnt");
	else if (get_u64(job, "phase_bytes"))
		result(NOTE, "hints", "compare with what show has as bytes, over phases",
		       "%s bytes a phase are announced; whether so many are sent is unknown",
		       human(get_u64(job, "phase_bytes")));
	else
		result(NOTE, "hints", "the plugin's and mlcc_torch's logs say why, if they should be",
		       "none arrive: phases are learnt");
}

static bool sends_beside(struct json_object *job, struct json_object *other)
{
	return get_u64(other, "id") != get_u64(job, "id") && get_u64(other, "flows");
}

static void explain_time(struct json_object *job)
{
	uint64_t is = get_u64(job, "iteration_us"), comm = get_u64(job, "comm_us");
	uint64_t alone = get_u64(job, "alone_us");
	double slowdown;

	if (!is || comm > is) {
		result(NOTE, "time", "", "no whole iteration has been measured");
		return;
	}
	if (!alone) {
		result(NOTE, "time", "say it with --period",
		       "an iteration took %s ms, %s of it communication; alone unknown: it was not seen without others and losses",
		       milliseconds(is), milliseconds(comm));
		return;
	}
	slowdown = (double)is / alone;
	result(slowdown < SLOW ? FINE : NOTE, "time", slowdown < SLOW ? "" :
	       "jobs need some iterations to take turns: see 'mlcc-ctl watch'",
	       "an iteration took %s ms, %s of it communication; alone %s (%s): %.2f times",
	       milliseconds(is), milliseconds(comm), milliseconds(alone),
	       get_string(job, "alone_from"), slowdown);
}

static bool is_training(struct json_object *job)
{
	return !strcmp(get_string(job, "class"), "training");
}

static void explain_other(struct json_object *job)
{
	result(FINE, "phases", "", "it has none: %s",
	       strcmp(get_string(job, "class"), "latency") ?
	       "it takes what others leave" : "it waits for nobody");
}

/* Jobs that send from this host; those of others are not seen from here. */
static void explain_others(struct json_object *job, struct json_object *all)
{
	struct json_object *other;
	char names[400] = "";
	unsigned int count = 0;

	json_each(other, all) {
		const char *name = get_string(other, "name");
		size_t n = strlen(names);

		if (!sends_beside(job, other))
			continue;
		if (count++ < OTHERS)
			snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
				 *name ? name : get_string(other, "id"));
	}
	if (!count)
		result(FINE, "others", "", "no other job that you may see sends from this host");
	else
		result(NOTE, "others", "those of other hosts are not seen from here",
		       "%u more of this host's jobs send: %s%s", count, names,
		       count > OTHERS ? ", ..." : "");
}

static void explain_losses(struct json_object *job)
{
	uint64_t again = get_u64(job, "retrans"), bytes = get_u64(job, "bytes");
	double per_mb = bytes ? 1e6 * again / bytes : 0;

	if (per_mb > LOSSY)
		result(NOTE, "losses", "a small buffer, a policer or a bad cable: compare with CUBIC",
		       "%.1f segments per MB were sent again", per_mb);
	else
		result(FINE, "losses", "", "%.1f segments per MB were sent again, %s were marked",
		       per_mb, human(get_u64(job, "ce")));
}

/* Where a driver gives all of a NIC's packets one class, whatever a program asks for. */
void check_forced(const char *todo)
{
	char line[128];
	glob_t nics;

	if (glob("/sys/class/infiniband/*/tc/*/traffic_class", 0, NULL, &nics))
		return;
	for (size_t i = 0; i < nics.gl_pathc; i++)
		if (first_line(nics.gl_pathv[i], line, sizeof(line)) && strstr(line, "lobal"))
			result(NOTE, "class", todo, "%s: %s", nics.gl_pathv[i], line);
	globfree(&nics);
}

static void explain_class(struct json_object *job)
{
	if (json_object_object_get_ex(job, "dscp", NULL))
		result(FINE, "class", "", "its packets have DSCP %s, by %s",
		       get_string(job, "dscp"), is_training(job) ? "a plan" : "its class or a plan");
	else if (get_u64(job, "priority_classes"))
		result(FINE, "class", "", "its progress is in the DSCP, in %s classes",
		       get_string(job, "priority_classes"));
	else
		result(FINE, "class", "", "its packets have the application's DSCP");
}

int verb_explain(int argc, char **argv)
{
	AUTO_PUT struct json_object *shown = NULL, *status = NULL, *all = NULL;
	struct json_object *job;
	bool self = flag_option(argc, argv, "self");

	if (argc - optind + self != 1)
		die(EXIT_USAGE, "explain: one job is wanted, by id or name, or --self");
	shown = ask_job(self ? NULL : argv[optind]);
	job = json_object_array_get_idx(shown, 0);
	status = ask(new_request("status"));
	all = all_jobs();
	findings_begin();
	explain_active(job, get_string(status, "cgroup_mount"));
	if (is_training(job)) {
		explain_d_phase(job);
		explain_wait(job);
		explain_hints(job);
		explain_time(job);
	} else {
		explain_other(job);
	}
	explain_others(job, all);
	explain_losses(job);
	explain_class(job);
	check_forced("it overrides NCCL_IB_TC");
	return findings_end();
}
