/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What was there before this program wrote: a file for each device that it has changed, in
 * /run/mlcc/dcqcn (below the root).  A tmpfs, as the values do not outlive the machine, either.
 *
 * The file is on its disk, under its name, before the first write to the device.  So whatever ends
 * the program, "restore" finds what to put back.
 *
 * Each knob has the value from before, and the least and the most that may have been written
 * since.  A value outside of these is none of ours: the device has been reset, or somebody has set
 * it.  It is left as it is.
 */
#ifndef MLCC_SAVED_H
#define MLCC_SAVED_H

#include "nic.h"

#define STATE_KNOBS	64
#define STATE_DIR	"/run/mlcc/dcqcn"

struct saved {
	char knob[NAME_LEN];
	uint32_t value;		/* what "restore" writes */
	uint32_t low, high;	/* what may have been written, "value" included */
	bool followed;		/* follow drives it now, or did when it was killed, */
	uint32_t base;		/* and goes back to this when it ends */
};

struct state {
	struct saved saved[STATE_KNOBS];
	unsigned int count;
};

/* Nothing was saved: 0, and an empty state. */
int saved_load(const struct device *d, struct state *s, struct err *e);
/* An empty state removes the file. */
int saved_store(const struct device *d, const struct state *s, struct err *e);

struct saved *saved_find(struct state *s, const char *knob);
/*
 * The entry of that knob, which has @value now; made if there is none, made anew if this program
 * has not written that value.  NULL: no room.
 */
struct saved *saved_add(struct state *s, const char *knob, uint32_t value);
void saved_drop(struct state *s, struct saved *saved);
/* @v may be written from now on. */
void saved_cover(struct saved *saved, uint32_t v);

/* The next device that has a file in STATE_DIR, as "BACK END:NAME"; false: there is none. */
bool saved_next(DIR *dir, char device[2 * NAME_LEN]);

/*
 * Keeps other tuners off the hardware; both drivers of one NIC have one lock.  A descriptor, which
 * is the lock until it is closed, or -EBUSY, with who has it.
 */
int device_lock(const struct device *d, struct err *e);
/* The same until the process ends: 0 or an error. */
int device_hold(const struct device *d, struct err *e);

#endif /* MLCC_SAVED_H */
