// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * set: all of the values that are given, or none of them.
 *
 * All are looked at before the first is written: names, ranges, what can be written at all.  What
 * was there goes into the state file.  If a write fails, or what is read back is something else,
 * those that were written get back what they had.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define SETTINGS_MAX	32

struct setting {
	const struct knob *knob;
	uint32_t value, was;
	const struct knob *touched;	/* written with it, or NULL */
	uint32_t touched_was;
	bool written;
};

struct settings {
	struct device d;
	struct setting set[SETTINGS_MAX];
	unsigned int count;
};

/* "KNOB=VALUE" */
static void parse_one(struct settings *s, const char *word)
{
	struct setting *set = &s->set[s->count];
	const char *equals = strchr(word, '=');
	char name[NAME_LEN];

	if (!equals || equals - word >= NAME_LEN)
		die(EXIT_USAGE, "'%s': KNOB=VALUE is wanted", word);
	if (s->count == SETTINGS_MAX)
		die(EXIT_USAGE, "at most %d knobs at once", SETTINGS_MAX);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - word), word);
	set->knob = parse_knob(&s->d, name);
	for (unsigned int i = 0; i < s->count; i++)
		if (s->set[i].knob == set->knob)
			die(EXIT_USAGE, "%s is given twice", name);
	set->value = parse_number(name, equals + 1, set->knob->min, set->knob->max);
	s->count++;
}

/* What there is now, of all; what cannot be written is refused. */
static int set_look(struct settings *s, struct err *e)
{
	for (unsigned int i = 0; i < s->count; i++) {
		struct setting *set = &s->set[i];
		const char *touches = set->knob->touches;
		int err = knob_check(&s->d, set->knob, set->value, e);

		err = err ? err : knob_read(&s->d, set->knob, &set->was, e);
		if (!err && touches) {
			set->touched = knob_find(s->d.be, touches);
			err = knob_read(&s->d, set->touched, &set->touched_was, e);
		}
		if (err)
			return err;
	}
	return 0;
}

static int save_one(struct state *st, const struct knob *k, uint32_t was, uint32_t value,
		    struct err *e)
{
	struct saved *saved = saved_add(st, k->name, was);

	if (!saved)
		return fail(e, -ENOSPC, "at most %d knobs of a device are kept", STATE_KNOBS);
	saved_cover(saved, was);
	saved_cover(saved, value);
	return 0;
}

/* The touched one comes second: putting back the first would touch it again. */
static int set_save(struct settings *s, struct state *st, struct err *e)
{
	int err = 0;

	for (unsigned int i = 0; i < s->count && !err; i++) {
		struct setting *set = &s->set[i];

		err = save_one(st, set->knob, set->was, set->value, e);
		if (!err && set->touched)
			err = save_one(st, set->touched, set->touched_was, !set->touched_was, e);
	}
	return err ? err : saved_store(&s->d, st, e);
}

/* What the device has refused has still its value, and is not written again. */
static int set_put_back(const struct device *d, const struct knob *k, uint32_t was, struct err *e)
{
	uint32_t is;

	if (!knob_read(d, k, &is, e) && is == was)
		return 0;
	return knob_put(d, k, was, e);
}

/* Those that were written, or may have been, in reverse. */
static void roll_back(struct settings *s)
{
	struct err e;

	for (unsigned int i = s->count; i-- > 0;) {
		struct setting *set = &s->set[i];

		if (!set->written)
			continue;
		if (set_put_back(&s->d, set->knob, set->was, &e) ||
		    (set->touched && set_put_back(&s->d, set->touched, set->touched_was, &e)))
			warn("putting back: %s; 'mlcc-dcqcn restore %s' tries again", e.text,
			     s->d.name);
	}
}

static int set_write_all(struct settings *s, struct err *e)
{
	int err = 0;

	for (unsigned int i = 0; i < s->count && !err; i++) {
		s->set[i].written = true;
		err = knob_write(&s->d, s->set[i].knob, s->set[i].value, e);
	}
	return err;
}

/* What has the value from before need not be kept; nothing is lost if this fails. */
static void forget_unchanged(const struct settings *s, struct state *st)
{
	unsigned int before = st->count, i = 0;
	struct err e;
	uint32_t v;

	while (i < st->count) {
		struct saved *saved = &st->saved[i];
		const struct knob *k = knob_find(s->d.be, saved->knob);

		if (!saved->followed && !knob_read(&s->d, k, &v, &e) && v == saved->value)
			saved_drop(st, saved);
		else
			i++;
	}
	if (st->count != before && saved_store(&s->d, st, &e))
		warn("%s", e.text);
}

static int set_apply(struct settings *s, struct state *st, struct err *e)
{
	int err;

	err = set_save(s, st, e);
	if (err)
		return err;
	warn_of_scope(&s->d);
	err = set_write_all(s, e);
	if (err)
		roll_back(s);
	forget_unchanged(s, st);
	return err;
}

static void print(const struct settings *s)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	put_bool(o, "ok", true);
	put_bool(o, "dry_run", common.dry_run);
	put_string(o, "backend", s->d.be->name);
	put_string(o, "device", s->d.name);
	put_string(o, "scope", scope_name(s->d.be->scope));
	for (unsigned int i = 0; i < s->count; i++) {
		const struct setting *set = &s->set[i];
		struct json_object *k = json_object_new_object();

		put_string(k, "name", set->knob->name);
		put_u64(k, "was", set->was);
		put_u64(k, "value", set->value);
		put_string(k, "unit", set->knob->unit);
		json_object_array_add(list, k);
		if (!common.json)
			printf("%s%s:%s %s %u -> %u %s\n", common.dry_run ? "would set " : "",
			       s->d.be->name, s->d.name, set->knob->name, set->was, set->value,
			       set->knob->unit);
	}
	json_object_object_add(o, "knobs", list);
	answer(o);
}

int verb_set(int argc, char **argv)
{
	static struct settings s;
	static struct state st;
	struct err e;
	int err;

	flag_option(argc, argv, NULL);
	common_end();
	if (argc - optind < 2)
		die(EXIT_USAGE, "set: a device and KNOB=VALUE are wanted");
	err = device_find(argv[optind], &s.d, &e);
	if (err)
		die_of(err, &e);
	for (int i = optind + 1; i < argc; i++)
		parse_one(&s, argv[i]);
	if (!common.dry_run)
		err = device_hold(&s.d, &e);
	err = err ? err : set_look(&s, &e);
	err = err ? err : saved_load(&s.d, &st, &e);
	if (!err && !common.dry_run)
		err = set_apply(&s, &st, &e);
	if (err)
		die_of(err, &e);
	print(&s);
	return EXIT_FINE;
}
