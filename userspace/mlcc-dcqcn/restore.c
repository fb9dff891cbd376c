// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* restore: what was there before set and follow, also after kill -9. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/auto.h"
#include "cli.h"

int restore_one(const struct device *d, const struct saved *saved, uint32_t value, bool force,
		struct err *e)
{
	const struct knob *k = knob_find(d->be, saved->knob);
	uint32_t is;
	int err;

	err = knob_read(d, k, &is, e);
	if (err)
		return err;
	if (is == value)
		return RESTORED_SAME;
	if (!force && (is < saved->low || is > saved->high))
		return RESTORED_LEFT;
	if (!common.dry_run)
		err = knob_put(d, k, value, e);
	return err ? err : RESTORED;
}

struct report {
	struct json_object *list;
	int failed;		/* the first error, or 0 */
	struct err e;
	bool force;
};

static void report(struct report *r, const struct device *d, const struct saved *saved, int what,
		   const struct err *e)
{
	static const char *const words[] = { "restored", "unchanged", "left" };
	struct json_object *o = json_object_new_object();
	const char *word = what < 0 ? "failed" : words[what];

	put_string(o, "backend", d->be->name);
	put_string(o, "device", d->name);
	put_string(o, "name", saved->knob);
	put_u64(o, "value", saved->value);
	put_string(o, "result", word);
	if (what < 0)
		put_string(o, "error", e->text);
	json_object_array_add(r->list, o);
	if (common.json)
		return;
	if (what == RESTORED_LEFT)
		warn("%s:%s %s has a value that was not written by this program: left as it is (--force writes %u)",
		     d->be->name, d->name, saved->knob, saved->value);
	else if (what >= 0)
		printf("%s%s:%s %s %u (%s)\n", common.dry_run ? "would restore " : "", d->be->name,
		       d->name, saved->knob, saved->value, word);
}

/* Puts all of a state back; what could not be put back stays in it. */
static int restore_state(const struct device *d, struct state *st, struct report *r,
			 struct err *e)
{
	unsigned int i = 0;
	int err = 0;

	while (i < st->count) {
		struct saved saved = st->saved[i];
		struct err why = { "" };
		int what = restore_one(d, &saved, saved.value, r->force, &why);

		report(r, d, &saved, what, &why);
		if (what < 0 && !err)
			err = fail(e, what, "%s", why.text);
		if (what < 0)
			i++;
		else
			saved_drop(st, &st->saved[i]);
	}
	return err;
}

static int restore_locked(const struct device *d, struct report *r, struct err *e)
{
	static struct state st;
	struct err why;
	int err, stored = 0;

	err = saved_load(d, &st, e);
	if (err || !st.count)
		return err;
	if (!common.dry_run)
		warn_of_scope(d);
	err = restore_state(d, &st, r, e);
	if (!common.dry_run)
		stored = saved_store(d, &st, &why);
	if (stored && !err)
		err = fail(e, stored, "%s", why.text);
	return err;
}

static int restore_device(const struct device *d, struct report *r, struct err *e)
{
	AUTO_CLOSE int lock = common.dry_run ? -1 : device_lock(d, e);

	return lock < 0 && !common.dry_run ? lock : restore_locked(d, r, e);
}

static void restore_named(const char *name, struct report *r)
{
	struct device d;
	struct err e;
	int err;

	err = device_find(name, &d, &e);
	err = err ? err : restore_device(&d, r, &e);
	if (!err)
		return;
	if (r->failed)
		warn("%s", r->e.text);
	r->failed = err;
	r->e = e;
}

/* @names: as follow takes them. */
static void restore_list(char *names, struct report *r)
{
	for (char *name = strtok(names, ","); name; name = strtok(NULL, ","))
		restore_named(name, r);
}

static void restore_all(struct report *r)
{
	AUTO_CLOSEDIR DIR *files = sysroot_dir(STATE_DIR, NULL);
	char device[2 * NAME_LEN];

	while (saved_next(files, device))
		restore_named(device, r);
}

int verb_restore(int argc, char **argv)
{
	struct report r = { .list = json_object_new_array() };
	struct json_object *o = json_object_new_object();

	r.force = flag_option(argc, argv, "force");
	common_end();
	for (int i = optind; i < argc; i++)
		restore_list(argv[i], &r);
	if (optind == argc)
		restore_all(&r);
	put_bool(o, "ok", !r.failed);
	put_bool(o, "dry_run", common.dry_run);
	if (r.failed) {
		put_string(o, "error", r.e.text);
		put_string(o, "code", err_name(r.failed));
	}
	if (!json_object_array_length(r.list) && !common.json && !r.failed)
		puts("nothing to restore");
	json_object_object_add(o, "knobs", r.list);
	answer(o);
	common.json = false;	/* it has been printed */
	if (r.failed)
		die_of(r.failed, &r.e);
	return EXIT_FINE;
}
