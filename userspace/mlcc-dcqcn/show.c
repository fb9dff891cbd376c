// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* show: what there is, what it has, what it may have. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static void add_knob(struct json_object *list, const struct device *d, const struct knob *k,
		     uint32_t v, const struct saved *saved)
{
	static const char *const drives[] = { "", "ai", "time", "by name" };
	struct json_object *o = json_object_new_object();

	put_string(o, "name", k->name);
	put_u64(o, "value", v);
	if (saved)
		put_u64(o, "saved", saved->value);
	if (k->def != NO_DEFAULT)
		put_u64(o, "default", k->def);
	put_u64(o, "min", k->min);
	put_u64(o, "max", k->max);
	put_string(o, "unit", k->unit);
	put_bool(o, "writable", !d->be->read_only);
	if (k->role && !d->be->read_only)
		put_string(o, "drive", drives[k->role]);
	put_string(o, "what", k->what ? k->what : "");
	json_object_array_add(list, o);
}

/* Which of the knobs were asked for; all if none was. */
static bool show_wanted(const struct knob *k, char **names, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], k->name))
			return true;
	return !count;
}

/* A knob that this firmware or release does not have is no error; the first real one is kept. */
static void add_knobs(const struct device *d, char **names, int count, struct json_object *list,
		      struct err *first)
{
	struct state s = { .count = 0 };
	struct err e;
	uint32_t v;

	if (saved_load(d, &s, &e))
		warn("%s", e.text);
	for (unsigned int i = 0; i < d->be->knob_count; i++) {
		const struct knob *k = &d->be->knobs[i];
		int err;

		if (!show_wanted(k, names, count))
			continue;
		err = knob_read(d, k, &v, &e);
		if (!err)
			add_knob(list, d, k, v, saved_find(&s, k->name));
		else if ((err != -ENOENT || count) && !*first->text)
			*first = e;
	}
}

static struct json_object *device_json(const struct device *d, char **names, int count)
{
	struct json_object *o = json_object_new_object(), *knobs = json_object_new_array();
	char ibdev[NAME_LEN];
	struct err e = { "" };

	put_string(o, "backend", d->be->name);
	put_string(o, "device", d->name);
	put_string(o, "what", d->be->what);
	put_string(o, "pci", d->pci);
	device_ibdev(d, ibdev);
	put_string(o, "rdma", ibdev);
	put_string(o, "scope", scope_name(d->be->scope));
	put_bool(o, "writable", !d->be->read_only);
	put_bool(o, "live", !d->be->apart);
	if (*d->why)
		fail(&e, 0, "%s", d->why);
	else
		add_knobs(d, names, count, knobs, &e);
	json_object_object_add(o, "knobs", knobs);
	if (*e.text)
		put_string(o, "error", e.text);
	return o;
}

/* What the object has under @key; a dash for nothing. */
static const char *or_dash(struct json_object *o, const char *key)
{
	const char *text = get_string(o, key);

	return *text ? text : "-";
}

static void show_knob(struct json_object *k)
{
	char range[32];

	snprintf(range, sizeof(range), "%s..%s", get_string(k, "min"), get_string(k, "max"));
	printf("  %-30s %10s %8s %8s %-14s %-6s %-2s %-7s %s\n", get_string(k, "name"),
	       get_string(k, "value"), or_dash(k, "saved"), or_dash(k, "default"), range,
	       or_dash(k, "unit"), get_bool(k, "writable") ? "rw" : "ro", get_string(k, "drive"),
	       get_string(k, "what"));
}

static void print_device(struct json_object *o)
{
	const char *ibdev = get_string(o, "rdma"), *error = get_string(o, "error");
	struct json_object *knobs = json_object_object_get(o, "knobs");
	size_t count = json_object_array_length(knobs);

	printf("%s:%s  %s", get_string(o, "backend"), get_string(o, "device"), get_string(o, "what"));
	if (*ibdev && strcmp(ibdev, get_string(o, "device")))
		printf("; RDMA device %s", ibdev);
	printf("\n  scope: %s, so a knob changes every flow of it%s%s\n", get_string(o, "scope"),
	       get_bool(o, "writable") ? "" : "; can only be read",
	       get_bool(o, "live") ? "" : "; NOT what the device works with now");
	if (count)
		printf("  %-30s %10s %8s %8s %-14s %-6s %-2s %-7s\n", "KNOB", "VALUE", "SAVED",
		       "DEFAULT", "RANGE", "UNIT", "", "DRIVE");
	for (size_t i = 0; i < count; i++)
		show_knob(json_object_array_get_idx(knobs, i));
	if (*error)
		printf("  %s%s\n", count ? "" : "no knobs: ", error);
}

static void nothing_found(int err)
{
	if (err == -EACCES || err == -EPERM)
		warn("root is needed to look for devices");
	else if (!sysroot_has_entries("/sys/kernel/debug"))
		warn("/sys/kernel/debug is empty: 'mount -t debugfs none /sys/kernel/debug'");
	warn("no device: 'mlcc-dcqcn show --backends' lists what is looked for");
}

static int show_backends(void)
{
	struct json_object *list = json_object_new_array(), *o;

	for (unsigned int i = 0; i < backend_count; i++) {
		const struct backend *be = backends[i];

		o = json_object_new_object();
		put_string(o, "name", be->name);
		put_string(o, "what", be->what);
		put_string(o, "scope", scope_name(be->scope));
		put_bool(o, "writable", !be->read_only);
		json_object_array_add(list, o);
		if (!common.json)
			printf("%-14s %-8s %-3s %s\n", be->name, scope_name(be->scope),
			       be->read_only ? "ro" : "rw", be->what);
	}
	answer(list);
	return EXIT_FINE;
}

/* What is named: a back end, a device, or nothing at all. */
static int show_find(struct devices *l, int argc, char **argv)
{
	struct err e;
	int err;

	if (!argc)
		return devices_list(NULL, l);
	for (unsigned int i = 0; i < backend_count; i++)
		if (!strcmp(argv[0], backends[i]->name))
			return devices_list(backends[i], l);
	l->count = 1;
	err = device_find(argv[0], &l->list[0], &e);
	/* why it has no knobs is shown, too */
	if (err && !*l->list[0].why)
		die_of(err, &e);
	return 0;
}

int show_devices(int argc, char **argv)
{
	struct json_object *all = json_object_new_array();
	int shown = 0, err;
	static struct devices l;

	if (flag_option(argc, argv, "backends"))
		return show_backends();
	common_end();
	argc -= optind;
	argv += optind;
	err = show_find(&l, argc, argv);
	for (int i = 1; l.count == 1 && i < argc; i++)
		parse_knob(&l.list[0], argv[i]);
	for (unsigned int i = 0; i < l.count; i++) {
		struct json_object *o = device_json(&l.list[i], argv + 1, argc ? argc - 1 : 0);

		json_object_array_add(all, o);
		if (!common.json)
			print_device(o);
		shown += json_object_array_length(json_object_object_get(o, "knobs"));
	}
	answer(all);
	if (!l.count)
		nothing_found(err);
	return shown ? EXIT_FINE : EXIT_NO_DEVICE;
}
