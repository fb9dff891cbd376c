/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* follow: the parts of one run. */
#ifndef MLCC_DCQCN_FOLLOW_H
#define MLCC_DCQCN_FOLLOW_H

#include "cli.h"
#include "drive.h"
#include "progress.h"
#include "symptoms.h"

struct follow {
	/* what the operator says */
	const char *device, *knob_name;
	uint32_t cadence_us, base, rate;	/* base, rate 0: not given */

	struct device d;
	const struct knob *knob;
	struct progress progress;
	struct drive drive;
	struct budget budget;
	struct state st;
	struct saved *saved;		/* the knob's entry in "st" */
	uint32_t ends[2];		/* lowest and highest value that may be written */
	uint32_t is;			/* what the knob had when it was last read or written */
	uint32_t tried;			/* what was last written; "is" may not have got to know */
	uint32_t gain, written_gain;	/* of the last look, and of the last write */
	uint64_t look_us;		/* when that look was */
	uint32_t due_us;		/* after it, something may have to be written */
	struct idle idle;
	struct symptoms symptoms;
	uint64_t check_us;		/* when it is read next, though nothing is to be written */

	uint64_t publish_us;		/* when others are told next */
	bool unpublished;		/* they cannot be */

	bool away;
	enum progress_state said;	/* what has last been told about the progress */
	unsigned int strikes;		/* things that went wrong in a row */
	uint64_t looks, writes, held;	/* held: not written for the budget */
};

/* follow.c: the knob */
/* Device, knob, lock, base, range, job; nothing is written. */
int follow_prepare(struct follow *f, uint64_t now_us, struct err *e);
/* From the first write until a signal, or what ends it; then the knob is put back. */
int follow_run(struct follow *f, struct err *e);

/* tell.c: what people and programs are told, and what others see */
void event_plan(const struct follow *f);
void event_text(const struct follow *f, const char *event, const char *text);
void event_end(const struct follow *f);
void publish(struct follow *f, uint64_t now_us);
void publish_end(const struct follow *f);

#endif /* MLCC_DCQCN_FOLLOW_H */
