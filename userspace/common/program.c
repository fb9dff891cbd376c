// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "number.h"
#include "program.h"
#include "standard.h"

struct common common;

static const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < program.count; i++)
		if (!strcmp(program.verbs[i].name, name))
			return &program.verbs[i];
	return NULL;
}

static void program_print_all(FILE *f)
{
	fputs(program.head, f);
	for (size_t i = 0; i < program.count; i++)
		fprintf(f, "  %-9s %s\n", program.verbs[i].name, program.verbs[i].summary);
	fputs(program.common, f);
	fputs(program.tail, f);
}

/* The usage of @verb; NULL, or none of them: of the program. */
static void print_usage(FILE *f, const char *verb)
{
	const struct verb *v = verb ? verb_find(verb) : NULL;

	if (!v) {
		program_print_all(f);
		return;
	}
	fputs(v->usage, f);
	fputs(program.common, f);
}

void common_option(int c, const char *verb)
{
	switch (c) {
	case 'j':
		common.json = true;
		break;
	case 'n':
		common.dry_run = true;
		break;
	case COMMON_PLACE:
		common.place = optarg;
		break;
	case 'h':
		print_usage(stdout, verb);
		exit(EXIT_FINE);
	default:
		print_usage(stderr, verb);
		exit(EXIT_USAGE);
	}
}

int program_main(int argc, char **argv)
{
	const struct option opts[] = {
		{ "version", no_argument, NULL, 'v' },
		COMMON_OPTIONS_OF(program.place)
	};
	const struct verb *v;
	int c;

	fill_standard_files();
	while ((c = getopt_long(argc, argv, "+" COMMON_SHORT, opts, NULL)) != -1) {
		if (c == 'v') {
			printf("%s %s\n", program.name, program.version);
			return EXIT_FINE;
		}
		common_option(c, NULL);
	}
	argc -= optind;
	argv += optind;
	if (!argc) {
		program_print_all(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[0], "help")) {
		print_usage(stdout, argc > 1 ? argv[1] : NULL);
		return EXIT_FINE;
	}
	optind = 0;	/* getopt begins anew */
	v = verb_find(argv[0]);
	if (!v)
		die(EXIT_USAGE, "no verb '%s': '%s --help' lists them", argv[0], program.name);
	c = v->run(argc, argv);
	if (fflush(stdout) || ferror(stdout))
		die(EXIT_FAILED, "cannot write what was asked for: %s", strerror(errno));
	return c;
}

void answer(struct json_object *o)
{
	if (common.json) {
		puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
						    JSON_C_TO_STRING_NOSLASHESCAPE));
		fflush(stdout);
	}
	json_object_put(o);
}

static void program_say(const char *fmt, va_list ap)
{
	char line[1024];

	vsnprintf(line, sizeof(line), fmt, ap);
	make_printable(line, false);
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", program.name, line);
}

void die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	program_say(fmt, ap);
	va_end(ap);
	exit(status);
}

void die_answering(int status, const char *code, const char *error)
{
	struct json_object *o = json_object_new_object();

	put_bool(o, "ok", false);
	put_string(o, "error", error);
	if (code)
		put_string(o, "code", code);
	answer(o);
	die(status, "%s", error);
}

void warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	program_say(fmt, ap);
	va_end(ap);
}

/* As number.h takes it. */
#define PARSED(type, by, ...) ({				\
	struct err e;						\
	type v;							\
								\
	if (by(what, s, __VA_ARGS__, &v, &e))			\
		die(EXIT_USAGE, "%s", e.text);			\
	v;							\
})

uint64_t parse_number(const char *what, const char *s, uint64_t min, uint64_t max)
{
	return PARSED(uint64_t, number_whole, min, max);
}

double parse_fraction(const char *what, const char *s, double min, double max)
{
	return PARSED(double, number_fraction, min, max);
}

uint64_t parse_bytes(const char *what, const char *s, uint64_t max)
{
	return PARSED(uint64_t, number_bytes, max);
}

uint64_t parse_count(const char *what, const char *s, uint64_t max)
{
	return PARSED(uint64_t, number_count, max);
}

uint64_t parse_time_us(const char *what, const char *s, uint64_t min, uint64_t max)
{
	return PARSED(uint64_t, number_time_us, min, max);
}
