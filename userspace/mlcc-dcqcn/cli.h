/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the verbs of mlcc-dcqcn share. */
#ifndef MLCC_DCQCN_CLI_H
#define MLCC_DCQCN_CLI_H

#include "../common/program.h"
#include "../common/json.h"
#include "../common/options.h"
#include "../rdma/saved.h"

/* Opens the root directory; after the options. */
void common_end(void);

/* Ends the program with the line of @e, as JSON too, and the status that belongs to @err. */
void die_of(int err, const struct err *e) __attribute__((__noreturn__));

/* They end the program if the text is none, or names none. */
const struct knob *parse_knob(const struct device *d, const char *name);

/* Says whose traffic a knob of this device changes. */
void warn_of_scope(const struct device *d);

enum restored {
	RESTORED,	/* written, and read back */
	RESTORED_SAME,	/* it had the value already */
	RESTORED_LEFT,	/* it has one that this program has not written: left as it is */
};

/*
 * Puts one knob back to @value; with --dry-run it only says what would be done.
 * Returns enum restored, or a negative error number.
 */
int restore_one(const struct device *d, const struct saved *saved, uint32_t value, bool force,
		struct err *e);

int show_devices(int argc, char **argv);
int verb_set(int argc, char **argv);
int verb_follow(int argc, char **argv);
int verb_lead(int argc, char **argv);
int verb_restore(int argc, char **argv);

#endif /* MLCC_DCQCN_CLI_H */
