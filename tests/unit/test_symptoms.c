// SPDX-License-Identifier: GPL-2.0
/* What mlcc-dcqcn says of a run that has no effect, and when. */
#include <stddef.h>

#include "../../userspace/mlcc-dcqcn/symptoms.c"
#include "tap.h"

#define SECOND	1000000ULL

static struct symptoms s;
static uint64_t now_us, cnps;

static void begin(void)
{
	s = (struct symptoms){ };
	now_us = 1000 * SECOND;
	cnps = 0;
}

/* How often @wanted was told in @seconds, of each of which the job sends a part, or none. */
static int told(enum symptom wanted, unsigned int seconds, bool sends, bool counts, bool marked)
{
	int n = 0;

	while (seconds--) {
		enum symptom found;

		s.sends |= sends;
		now_us += SECOND;
		cnps += marked;
		found = symptoms_look(&s, counts ? &cnps : NULL, now_us);
		n += found == wanted;
		CHECK(!found || found == wanted, "%d, not %d", found, wanted);
	}
	return n;
}

TEST(a_silent_job_is_told_once)
{
	begin();
	CHECK(!told(SYMPTOM_NO_PROGRESS, 60, false, true, false), "too early");
	CHECK(told(SYMPTOM_NO_PROGRESS, 1000, false, true, false) == 1, "not once");
	/* and again when it was over */
	CHECK(!told(SYMPTOM_NO_PROGRESS, 10, true, true, true), "it sends");
	CHECK(told(SYMPTOM_NO_PROGRESS, 61, false, true, false) == 1, "not once more");
}

TEST(a_port_without_cnps_is_told_once)
{
	begin();
	CHECK(!told(SYMPTOM_NO_CNP, 60, true, true, false), "too early");
	CHECK(told(SYMPTOM_NO_CNP, 1000, true, true, false) == 1, "not once");
	CHECK(!told(SYMPTOM_NO_CNP, 1000, true, true, true), "it has some");
	CHECK(told(SYMPTOM_NO_CNP, 61, true, true, false) == 1, "not once more");
}

TEST(what_works_is_not_told)
{
	begin();
	CHECK(!told(SYMPTOM_NONE + 100, 1000, true, true, true), "something is");
}

/* A port that counts none says nothing. */
TEST(without_a_counter_nothing_is_told)
{
	begin();
	CHECK(!told(SYMPTOM_NO_CNP, 1000, true, false, false), "something is");
}

/* Long iterations: only the seconds count in which it sends. */
TEST(a_job_that_rests_needs_no_cnps)
{
	begin();
	for (int i = 0; i < 50; i++) {
		CHECK(!told(SYMPTOM_NO_CNP, 1, true, true, false), "iteration %d", i);
		CHECK(!told(SYMPTOM_NO_CNP, 30, false, true, false), "iteration %d", i);
	}
}

TAP_MAIN
