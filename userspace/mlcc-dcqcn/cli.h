/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the verbs of mlcc-dcqcn share. */
#ifndef MLCC_DCQCN_CLI_H
#define MLCC_DCQCN_CLI_H

#include "../common/program.h"
#include "../common/json.h"
#include "../rdma/nic.h"


enum {
	EXIT_REFUSED = 2,	/* the driver, the device or a rule of this program refused */
	EXIT_NO_DEVICE = 3,	/* there is no such device now */
};

#define COMMON_OPTIONS	COMMON_OPTIONS_OF("sysroot")

/* Opens the root directory; after the options. */
void common_end(void);

/* Ends the program with the line of @e, as JSON too, and the status that belongs to @err. */
void die_of(int err, const struct err *e) __attribute__((__noreturn__));

/* They end the program if the text is none. */
uint32_t parse_number(const char *what, const char *s, uint32_t min, uint32_t max);
uint32_t parse_q16(const char *what, const char *s, double min, double max);
uint32_t parse_time_us(const char *what, const char *s, uint32_t min, uint32_t max);

/* Says whose traffic a knob of this device changes. */
void warn_of_scope(const struct device *d);

int verb_show(int argc, char **argv);
int verb_set(int argc, char **argv);
int verb_follow(int argc, char **argv);
int verb_restore(int argc, char **argv);

#endif /* MLCC_DCQCN_CLI_H */
