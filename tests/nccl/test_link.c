// SPDX-License-Identifier: GPL-2.0
/* mlccd is not there, refuses, talks nonsense, hangs, dies or comes back. */
#include "case.h"

static void phases(struct comm *c, int n)
{
	while (n--) {
		clock_forward_ms(100);
		play_coll(c, &allreduce, 1000);
	}
}

/* Records that come, the first of them first. */
static int drain(void)
{
	struct mlcc_ring_record r;
	int n = 0;

	while (fake_take(&r))
		n++;
	return n;
}

CASE(an_mlccd_that_comes_later_is_found, 3, 7)
{
	struct comm c;

	fake_start(NULL, false);
	fake_kill();
	nccl_mask = 99;
	c = nccl_init(77, 2, 2);
	CHECK(nccl_mask == MASK, "mask %d", nccl_mask);
	CHECK(nccl_version == 3 || nccl_warnings == 1, "%d warnings", nccl_warnings);
	phases(&c, 3);
	/* no init meanwhile: at the edge of a phase, in steps that do not wait */
	fake_start(NULL, true);
	clock_forward_ms(3000);
	for (int i = 0; i < 100 && !fake_rings(0); i++) {
		phases(&c, 1);
		usleep(10000);
	}
	CHECK(fake_rings(1) == 1, "no ring");
	phases(&c, 2);
	CHECK(drain(), "no records");
}

static void refused(const struct fake_answers *a, bool asked)
{
	struct comm c;

	fake_start(a, false);
	nccl_mask = 99;
	c = nccl_init(77, 2, 2);
	CHECK(nccl_mask == (asked ? MASK : 0), "mask %d after %s", nccl_mask,
	      a->job ? a->job : a->ring);
	CHECK(nccl_version == 3 || nccl_warnings == 1, "%d warnings", nccl_warnings);
	CHECK(!!*fake_request(false) == asked, "asked: %s", fake_request(false));
	phases(&c, 2);
	nccl_finalize(&c);
}

/* In a process of its own: the environment is read once. */
static void must_be_refused(const struct fake_answers *a, bool asked)
{
	pid_t child;

	if (tap_child(&child))
		tap_exit(refused(a, asked));
	tap_join(child, "refused");
}

CASE(a_refusal_is_one_warning, 3, 7)
{
	static const struct fake_answers refusals[] = {
		{ .job = "{\"ok\":false,\"error\":\"no job 'bert'\",\"code\":\"ENOENT\"}" },
		{ .job = "{\"ok\":false,\"error\":\"too many requests: wait\",\"code\":\"EAGAIN\"}" },
		{ .ring = "{\"ok\":false,\"error\":\"user 5 has 8 rings\",\"code\":\"EDQUOT\"}" },
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		must_be_refused(&refusals[i], true);
	/* nor has the cgroup a job */
	unsetenv("MLCC_JOB");
	must_be_refused(&refusals[0], true);
}

CASE(nonsense_of_mlccd_is_a_refusal, 4, 4)
{
	static char longest[60000] = "{\"ok\":false,\"error\":\"";
	const char *const nonsense[] = {
		"x", "{", "\"ok\":", "{\"ok\":true", "{\"ok\":true,\"jobs\":[]}",
		"{\"ok\":true,\"jobs\":[{\"id\":0}]}", "{\"ok\":true,\"jobs\":[{\"id\":-7}]}",
		"{\"ok\":true,\"jobs\":[{\"id\":65536}]}", "{\"ok\":true,\"jobs\":[{\"id\":\"7\"}]}",
		"{\"ok\":true,\"jobs\":[{\"id\":99999999999999999999999}]}",
		"{\"ok\":\"true\",\"id\":7}", "{\"x\":\"\\\"ok\\\":true,\\\"id\\\":7\"}",
		"{\"ok\":false,\"error\":\"\\", "{\"ok\":false,\"error\":5}",
		"{\"ok\":false,\"error\":\"%s%n\x1b[2J\x80\"}", "\xff\xfe", longest,
	};

	memset(longest + strlen(longest), 'x', sizeof(longest) - strlen(longest) - 1);
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++) {
		struct fake_answers a = { .job = nonsense[i] };

		must_be_refused(&a, true);
	}
	for (int i = 0; i < 3; i++) {
		struct fake_answers a = { .ring = nonsense[i] };

		must_be_refused(&a, true);
	}
}

CASE(names_that_cannot_be_are_not_sent, 4, 4)
{
	static const char *const names[] = {
		"a\"b", "a b", "\n", "\xc3\xa4", "\"}",
		"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct fake_answers a = { .job = NULL };

		setenv("MLCC_JOB", names[i], 1);
		must_be_refused(&a, false);
	}
}

static void job_is_asked_for_by(const char *what)
{
	pid_t child;

	if (tap_child(&child)) {
		fake_start(NULL, false);
		nccl_init(77, 2, 2);
		CHECK(nccl_mask, "refused");
		tap_exit(CHECK(strstr(fake_request(false), "\"show\"") && strstr(fake_request(false), what),
			       "%s", fake_request(false)));
	}
	tap_join(child, "%s", what);
}

CASE(the_job_is_named_or_that_of_the_cgroup, 4, 4)
{
	job_is_asked_for_by("\"bert\"");
	setenv("MLCC_JOB", "0012", 1);
	job_is_asked_for_by("\"job\":12}");
	setenv("MLCC_JOB", "bert", 1);
	setenv("MLCC_JOB_ID", "slurm-12", 1);
	job_is_asked_for_by("\"bert\"");
	unsetenv("MLCC_JOB");
	job_is_asked_for_by("\"slurm-12\"");
	unsetenv("MLCC_JOB_ID");
	job_is_asked_for_by("\"self\":true");
}

/* It does not wait for ever; how long exactly is no matter of this test, alarm() ends it. */
CASE(one_that_hangs_is_left_alone, 3, 7)
{
	static const struct fake_answers deaf = { .job = "" };

	clock_real();
	fake_start(&deaf, false);
	nccl_init(77, 2, 2);
	fake_kill();
	/* it is not waited for again at once, so not every communicator takes that long */
	fake_start(NULL, true);
	nccl_init(77, 2, 2);
	CHECK(!fake_rings(0), "waited for at once");
	clock_forward_ms(60000);
	nccl_init(77, 2, 2);
	CHECK(fake_rings(1) == 1, "no ring");
}

CASE(a_backlog_that_is_full_is_left_alone, 3, 7)
{
	char path[108];
	int i, fds[64];

	clock_real();
	fake_start(NULL, false);
	fake_kill();
	strcpy(path, getenv("MLCC_SOCKET"));
	i = fake_full(path, fds, 64);
	CHECK(i < 64, "it is never full");
	nccl_init(77, 2, 2);
	CHECK(!fake_rings(0), "a ring");
}

CASE(training_goes_on_when_mlccd_dies, 3, 7)
{
	struct comm c;

	fake_start(NULL, false);
	c = nccl_init(77, 2, 2);
	phases(&c, 2);
	CHECK(drain() > 2, "no records");
	fake_kill();
	phases(&c, 500);
	CHECK(nccl_version == 3 || nccl_warnings == 1, "%d warnings", nccl_warnings);
	/* the next one is given the same ring, at the edge of a phase */
	fake_start(NULL, true);
	clock_forward_ms(3000);
	phases(&c, 1);
	CHECK(fake_rings(2) == 2, "no second ring");
	CHECK(drain() <= 2, "what nobody was told in between");
	phases(&c, 3);
	CHECK(drain() > 3, "no records");
	CHECK(nccl_mask == MASK, "mask %d", nccl_mask);
	/* and the third by init */
	fake_kill();
	fake_start(NULL, true);
	nccl_init(78, 2, 2);
	CHECK(fake_rings(3) == 3, "no third ring");
	phases(&c, 3);
	CHECK(drain() > 3, "no records");
}

CASE(a_next_one_that_refuses_or_hangs_is_tried_again, 3, 7)
{
	static const struct fake_answers no = { .ring = "{\"ok\":false,\"error\":\"no\"}" };
	static const struct fake_answers deaf = { .ring = "" };
	struct comm c;

	fake_start(NULL, false);
	c = nccl_init(77, 2, 2);
	fake_kill();
	fake_start(&no, true);
	clock_forward_ms(3000);
	phases(&c, 50);
	fake_kill();
	fake_start(&deaf, true);
	phases(&c, 100);
	fake_kill();
	fake_start(NULL, true);
	clock_forward_ms(3000);
	/* it is asked for the job first, as the last one did not know it; alarm() ends what never ends */
	while (fake_rings(0) < 2) {
		phases(&c, 1);
		usleep(1000);
	}
	CHECK(nccl_version == 3 || nccl_warnings == 1, "%d warnings", nccl_warnings);
}

CASE(a_next_one_that_is_wary_is_asked_first, 3, 7)
{
	static const struct fake_answers wary = { .wary = true };
	struct comm c;

	fake_start(NULL, false);
	c = nccl_init(77, 2, 2);
	fake_kill();
	fake_start(&wary, true);
	clock_forward_ms(3000);
	for (int i = 0; i < 100 && fake_rings(0) < 2; i++) {
		phases(&c, 1);
		usleep(10000);
	}
	CHECK(fake_rings(2) == 2, "no second ring");
	fake_kill();
	fake_start(&wary, true);
	nccl_init(78, 2, 2);
	CHECK(fake_rings(3) == 3, "no third ring");
}

CASE(a_full_ring_drops_and_counts, 3, 7)
{
	struct mlcc_ring *ring;
	struct comm c;
	int n;

	fake_start(NULL, false);
	c = nccl_init(77, 2, 2);
	phases(&c, 400);
	ring = fake_ring();
	CHECK(ring->dropped > 0, "nothing was dropped");
	CHECK(ring->head - ring->tail == ring->slots, "%llu in it",
	      (unsigned long long)(ring->head - ring->tail));
	n = drain();
	CHECK(n == (int)ring->slots, "%d records", n);
	phases(&c, 2);
	CHECK(drain() == 4, "it does not go on");
}

CASE(what_mlccd_writes_into_the_ring_is_not_believed, 3, 7)
{
	static const uint64_t odd[] = { 0, 1, 1000000, UINT64_MAX, UINT64_MAX - 100, 1ULL << 63 };
	struct mlcc_ring *ring;
	struct comm c;

	fake_start(NULL, false);
	c = nccl_init(77, 2, 2);
	phases(&c, 2);
	ring = fake_ring();
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		__atomic_store_n(&ring->tail, odd[i], __ATOMIC_RELAXED);
		__atomic_store_n(&ring->head, odd[i], __ATOMIC_RELAXED);
		__atomic_store_n(&ring->slots, (uint32_t)odd[i], __ATOMIC_RELAXED);
		phases(&c, 300);
	}
}

TAP_MAIN
