// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* profile list, show, set; and status */
#include <stdio.h>
#include <string.h>

#include "../../include/mlcc/rule.h"
#include "ctl.h"

#define Q16	((double)MLCC_ONE)

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

int verb_profile(int argc, char **argv)
{
	static const struct option_of opts[] = {
		{ "floor", OPTION_FRACTION, .min = MLCC_GROW_MIN / Q16, .max = MLCC_FLOOR_MAX / Q16,
		  .asked = true },
		{ "slope", OPTION_FRACTION, .max = MLCC_SLOPE_MAX / Q16, .asked = true },
		{ "hold", OPTION_FRACTION, .max = MLCC_HOLD_MAX / Q16, .asked = true },
		{ "shape", OPTION_WHOLE, .min = 1, .max = MLCC_SHAPE_MAX, .asked = true },
		{ "base", OPTION_TEXT, .asked = true },
		{ "restart", OPTION_TEXT, .asked = true },
		{ "default", OPTION_FLAG, .asked = true },
		{ }
	};
	struct json_object *request = new_request("profile-set");
	int nothing = json_object_object_length(request);
	bool set;

	options_take(argc, argv, "", opts, NULL, request);
	set = json_object_object_length(request) > nothing;
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
	options_end(argc, argv);
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
