// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "program.h"

struct common common;

static const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < program.count; i++)
		if (!strcmp(program.verbs[i].name, name))
			return &program.verbs[i];
	return NULL;
}

static void print_all(FILE *f)
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
		print_all(f);
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
	const struct verb *v;
	int c;

	while ((c = getopt_long(argc, argv, "+" COMMON_SHORT, program.options, NULL)) != -1) {
		if (c == 'v') {
			printf("%s %s\n", program.name, program.version);
			return EXIT_FINE;
		}
		common_option(c, NULL);
	}
	argc -= optind;
	argv += optind;
	if (!argc) {
		print_all(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[0], "help")) {
		print_usage(stdout, argc > 1 ? argv[1] : NULL);
		return EXIT_FINE;
	}
	optind = 0;	/* getopt begins anew */
	v = verb_find(argv[0]);
	if (v)
		return v->run(argc, argv);
	die(EXIT_USAGE, "no verb '%s': '%s --help' lists them", argv[0], program.name);
}
