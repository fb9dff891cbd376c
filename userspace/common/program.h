/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A program of verbs: the frame that mlcc-ctl and mlcc-dcqcn share. */
#ifndef MLCC_PROGRAM_H
#define MLCC_PROGRAM_H

#include <getopt.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exit.h"

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary, *usage;
};

struct program {
	const char *name, *version;
	const char *head, *tail;	/* of its usage, around the verbs and "common" */
	const char *common;		/* usage of the options that every verb has */
	const char *place;		/* one of these: what common.place is called */
	const struct verb *verbs;
	size_t count;
};

extern const struct program program;

/* Options of every verb. */
struct common {
	bool json, dry_run;
	const char *place;	/* a socket or a directory, or NULL */
};

extern struct common common;

#define COMMON_PLACE	0x100	/* no letter that a verb may have */

#define COMMON_OPTIONS_OF(place)					\
	{ "json", no_argument, NULL, 'j' },				\
	{ "dry-run", no_argument, NULL, 'n' },				\
	{ place, required_argument, NULL, COMMON_PLACE },		\
	{ "help", no_argument, NULL, 'h' },				\
	{ }

#define COMMON_SHORT	"jh"

/* Takes an option of every verb; whatever else ends the program with the usage of @verb. */
void common_option(int c, const char *verb);
/* Runs the verb that the words name.  Returns the exit status. */
int program_main(int argc, char **argv);

/* What a verb has to say to programs: prints @o with --json, and frees it. */
void answer(struct json_object *o);

/* Numbers of options, as number.h takes them; what is none ends the program. */
uint64_t parse_number(const char *what, const char *s, uint64_t min, uint64_t max);
double parse_fraction(const char *what, const char *s, double min, double max);
uint64_t parse_bytes(const char *what, const char *s, uint64_t max);
uint64_t parse_count(const char *what, const char *s, uint64_t max);
uint64_t parse_time_us(const char *what, const char *s, uint64_t min, uint64_t max);

/* A line on standard error, without what would disturb a terminal. */
void warn(const char *fmt, ...) __attribute__((__format__(__printf__, 1, 2)));
/* The same, and the end, with @status. */
void die(int status, const char *fmt, ...)
	__attribute__((__format__(__printf__, 2, 3), __noreturn__));
/* The same, after the reason as JSON where that is wanted; @code: its name, or NULL. */
void die_answering(int status, const char *code, const char *error) __attribute__((__noreturn__));

#endif /* MLCC_PROGRAM_H */
