/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* follow: the parts of one run. */
#ifndef MLCC_DCQCN_FOLLOW_H
#define MLCC_DCQCN_FOLLOW_H

#include "cli.h"
#include "drive.h"
#include "progress.h"
#include "symptoms.h"

#define RAILS_MAX	16

/* One of the devices that a job sends by. */
struct rail {
	struct device d;
	const struct knob *knob;
	struct drive drive;
	struct budget budget;
	uint32_t rate;			/* of the budget */
	struct state st;
	struct saved *saved;		/* the knob's entry in "st" */
	uint32_t ends[2];		/* lowest and highest value that may be written */
	uint32_t is;			/* what the knob had when it was last read or written */
	uint32_t tried;			/* what was last written; "is" may not have got to know */
	uint32_t written_gain;		/* of the last write */
	struct symptoms symptoms;
	uint64_t check_us;		/* when it is read next, though nothing is to be written */
	uint64_t again_us;		/* after trouble: when it is looked at again */

	uint64_t publish_us;		/* when others are told next */
	bool unpublished;		/* they cannot be */

	bool away;
	unsigned int strikes;		/* things that went wrong in a row */
	uint64_t writes, held;		/* held: not written for the budget */
};

struct follow {
	/* what the operator says */
	const char *devices;		/* names, with commas */
	const char *knob_name;		/* NULL: T where there is one, else R_AI */
	uint32_t cadence_us, base, rate;	/* base, rate 0: not given */
	struct drive drive;		/* limits of the gain */

	struct progress progress;
	struct rail rails[RAILS_MAX];
	unsigned int count;
	uint32_t gain;			/* of the last look */
	enum progress_state said;	/* what has last been told about the progress */
	uint64_t looks;
};

/* follow.c: the knobs */
/* Devices, knobs, locks, bases, ranges, job; nothing is written. */
int follow_prepare(struct follow *f, uint64_t now_us, struct err *e);
/* From the first write until a signal, or what ends it; then the knobs are put back. */
int follow_run(struct follow *f, struct err *e);

/* tell.c: what people and programs are told, and what others see */
void event_plan(const struct follow *f, const struct rail *r);
/* @r NULL: it is of the job, not of one of several devices. */
void event_text(const struct follow *f, const struct rail *r, const char *event, const char *text);
void event_end(const struct follow *f, const struct rail *r);
void publish(const struct follow *f, struct rail *r, uint64_t now_us);
void publish_end(const struct rail *r);

#endif /* MLCC_DCQCN_FOLLOW_H */
