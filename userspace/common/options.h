/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Options of a verb as a table; what they say becomes members of a JSON object. */
#ifndef MLCC_OPTIONS_H
#define MLCC_OPTIONS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

enum option_kind {
	OPTION_FLAG,		/* true; the others take an argument */
	OPTION_TEXT,
	OPTION_WORD,		/* one of "words" */
	OPTION_WHOLE,		/* from "min" to "max", as all that follow */
	OPTION_BYTES,
	OPTION_TIME,		/* us */
	OPTION_FRACTION,
	OPTION_OTHER,		/* "take" does it, or ends the program */
};

struct option_of {
	const char *name;	/* NULL: the end of the table */
	enum option_kind kind;
	const char *key;	/* of the object; NULL: the name */
	double min, max;
	const char *const *words;
	unsigned int count;
	void (*take)(struct json_object *to, const char *arg);
	bool asked;		/* it is a part of the request */
	char letter;
};

/*
 * Takes the options of both tables (@more: or NULL), and those of every verb; what is wrong ends
 * the program.  @mode: letters of the first table, behind "+" where nothing after the first word is
 * an option.  @request: of those that are asked for.  Returns an object of the others; words begin
 * at optind.
 */
struct json_object *options_take(int argc, char **argv, const char *mode,
				 const struct option_of *table, const struct option_of *more,
				 struct json_object *request);
/* Those of every verb, and --@flag unless it is NULL: whether that is given. */
bool flag_option(int argc, char **argv, const char *flag);
/* Words behind the options are an error. */
void options_end(int argc, char **argv);
/* Whether there is such a member, of any object. */
bool given(struct json_object *o, const char *key);
/* Its number, or @otherwise. */
uint64_t option_u64(struct json_object *o, const char *key, uint64_t otherwise);
/* The text of an option, or NULL. */
const char *option_text(struct json_object *o, const char *key);

#endif /* MLCC_OPTIONS_H */
