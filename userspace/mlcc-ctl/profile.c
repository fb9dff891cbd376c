// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* profile list, show, set; and status */
#include <stdio.h>
#include <string.h>

#include "../../include/mlcc/rule.h"
#include "ctl.h"

static int print_profiles(struct json_object *reply)
{
	struct json_object *list = get_list(reply, "profiles"), *p;

	if (!common.json)
		printf("%-12s %8s %8s %8s %5s %-6s %-7s\n", "PROFILE", "FLOOR", "SLOPE", "HOLD",
		       "SHAPE", "BASE", "RESTART");
	for (size_t i = 0; i < json_object_array_length(list) && !common.json; i++) {
		p = json_object_array_get_idx(list, i);
		printf("%-12s %8g %8g %8g %5s %-6s %-7s%s\n", get_string(p, "name"),
		       get_double(p, "floor"), get_double(p, "slope"), get_double(p, "hold"),
		       get_string(p, "shape"), get_string(p, "base"), get_string(p, "restart"),
		       get_bool(p, "default") ? " (default)" : "");
	}
	answer(json_object_get(list));
	json_object_put(reply);
	return EXIT_FINE;
}

struct fraction {
	const char *option;
	double min, max;		/* Q16 */
};

static void put_fraction(struct json_object *request, const struct fraction *f, const char *s)
{
	double v = parse_fraction(f->option, s, f->min / MLCC_ONE, f->max / MLCC_ONE);

	json_object_object_add(request, f->option + strlen("--"), json_object_new_double(v));
}

static void profile_option(struct json_object *request, int c)
{
	static const struct fraction fractions[] = {
		{ "--floor", MLCC_GROW_MIN, MLCC_FLOOR_MAX }, { "--slope", 0, MLCC_SLOPE_MAX },
		{ "--hold", 0, MLCC_HOLD_MAX },
	};

	if (c >= 1 && c <= 3)
		put_fraction(request, &fractions[c - 1], optarg);
	else if (c == 4)
		put_u64(request, "shape", parse_number("--shape", optarg, 1, 4));
	else if (c == 5)
		put_string(request, "base", optarg);
	else if (c == 6)
		put_string(request, "restart", optarg);
	else if (c == 7)
		put_bool(request, "default", true);
	else
		common_option(c, "profile");
}

int verb_profile(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "floor", required_argument, NULL, 1 },
		{ "slope", required_argument, NULL, 2 },
		{ "hold", required_argument, NULL, 3 },
		{ "shape", required_argument, NULL, 4 },
		{ "base", required_argument, NULL, 5 },
		{ "restart", required_argument, NULL, 6 },
		{ "default", no_argument, NULL, 7 },
		COMMON_OPTIONS
	};
	struct json_object *request = new_request("profile-set");
	bool set = false;
	int c;

	while ((c = getopt_long(argc, argv, COMMON_SHORT, opts, NULL)) != -1) {
		set |= c <= 7;
		profile_option(request, c);
	}
	argc -= optind;
	argv += optind;
	if (argc == 2 && !strcmp(argv[0], "set") && set) {
		put_string(request, "name", argv[1]);
		if (common.dry_run)
			put_bool(request, "dry_run", true);
		return print_profiles(ask(request));
	}
	json_object_put(request);
	if (argc == 2 && !strcmp(argv[0], "show") && !set) {
		request = new_request("profile-show");
		put_string(request, "name", argv[1]);
		return print_profiles(ask(request));
	}
	if (set || argc > 1 || (argc == 1 && strcmp(argv[0], "list")))
		die(EXIT_USAGE, "profile: list, show NAME, or set NAME with what to change");
	return print_profiles(ask(new_request("profile-list")));
}

int verb_status(int argc, char **argv)
{
	struct json_object *reply;

	flag_option(argc, argv, NULL);
	if (optind != argc)
		die(EXIT_USAGE, "status: '%s' is no option", argv[optind]);
	reply = ask(new_request("status"));
	json_object_object_del(reply, "ok");
	json_object_object_foreach(reply, key, value)
		if (!common.json)
			printf("%-22s %s\n", key,
			       json_object_to_json_string_ext(value,
							      JSON_C_TO_STRING_PLAIN |
							      JSON_C_TO_STRING_NOSLASHESCAPE));
	answer(reply);
	return EXIT_FINE;
}
