// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* show: what there is, what it has, what it may have. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char *drives(const struct knob *k)
{
	static const char *const names[] = { "", "ai", "time", "by name" };

	return names[k->role];
}

static void knob_json(struct json_object *list, const struct device *d, const struct knob *k,
		      uint32_t v, const struct saved *saved)
{
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
		put_string(o, "drive", drives(k));
	put_string(o, "what", k->what ? k->what : "");
	json_object_array_add(list, o);
}

static void knob_text(const struct device *d, const struct knob *k, uint32_t v,
		      const struct saved *saved)
{
	char range[32], def[16] = "-", was[16] = "-";

	snprintf(range, sizeof(range), "%u..%u", k->min, k->max);
	if (k->def != NO_DEFAULT)
		snprintf(def, sizeof(def), "%lld", (long long)k->def);
	if (saved)
		snprintf(was, sizeof(was), "%u", saved->value);
	printf("  %-30s %10u %8s %8s %-14s %-6s %-2s %-7s %s\n", k->name, v, was, def, range,
	       *k->unit ? k->unit : "-", d->be->read_only ? "ro" : "rw",
	       d->be->read_only ? "" : drives(k), k->what ? k->what : "");
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
static int show_knobs(const struct device *d, char **names, int count,
		      struct json_object *list, struct err *first)
{
	struct state s = { .count = 0 };
	struct saved *saved;
	int shown = 0;
	struct err e;
	uint32_t v;

	*first->text = '\0';
	if (saved_load(d, &s, &e))
		warn("%s", e.text);
	for (unsigned int i = 0; i < d->be->knob_count; i++) {
		const struct knob *k = &d->be->knobs[i];
		int err;

		if (!show_wanted(k, names, count))
			continue;
		err = knob_read(d, k, &v, &e);
		if (err && (err != -ENOENT || count) && !*first->text)
			*first = e;
		if (err)
			continue;
		shown++;
		saved = saved_find(&s, k->name);
		if (list)
			knob_json(list, d, k, v, saved);
		else
			knob_text(d, k, v, saved);
	}
	return shown;
}

static int device_json(const struct device *d, char **names, int count, struct json_object *list)
{
	struct json_object *o = json_object_new_object(), *knobs = json_object_new_array();
	char ibdev[NAME_LEN];
	struct err e = { "" };
	int shown;

	put_string(o, "backend", d->be->name);
	put_string(o, "device", d->name);
	put_string(o, "what", d->be->what);
	put_string(o, "pci", d->pci);
	device_ibdev(d, ibdev);
	put_string(o, "rdma", ibdev);
	put_string(o, "scope", scope_name(d->be->scope));
	put_bool(o, "writable", !d->be->read_only);
	put_bool(o, "live", !d->be->apart);
	shown = *d->why ? 0 : show_knobs(d, names, count, knobs, &e);
	json_object_object_add(o, "knobs", knobs);
	if (*d->why || *e.text)
		put_string(o, "error", *d->why ? d->why : e.text);
	json_object_array_add(list, o);
	return shown;
}

static int device_text(const struct device *d, char **names, int count)
{
	char ibdev[NAME_LEN];
	struct err e = { "" };
	int shown;

	device_ibdev(d, ibdev);
	printf("%s:%s  %s", d->be->name, d->name, d->be->what);
	if (*ibdev && strcmp(ibdev, d->name))
		printf("; RDMA device %s", ibdev);
	printf("\n  scope: %s, so a knob changes every flow of it%s%s\n", scope_name(d->be->scope),
	       d->be->read_only ? "; can only be read" : "",
	       d->be->apart ? "; NOT what the device works with now" : "");
	if (*d->why) {
		printf("  no knobs: %s\n", d->why);
		return 0;
	}
	printf("  %-30s %10s %8s %8s %-14s %-6s %-2s %-7s %s\n", "KNOB", "VALUE", "SAVED",
	       "DEFAULT", "RANGE", "UNIT", "", "DRIVE", "");
	shown = show_knobs(d, names, count, NULL, &e);
	if (*e.text)
		printf("  %s\n", e.text);
	return shown;
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
		int count = argc ? argc - 1 : 0;
		const struct device *d = &l.list[i];

		shown += common.json ? device_json(d, argv + 1, count, all) :
				       device_text(d, argv + 1, count);
	}
	answer(all);
	if (!l.count)
		nothing_found(err);
	return shown ? EXIT_FINE : EXIT_NO_DEVICE;
}
