// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * AMD Pensando (ionic): the kernel has no knobs, AMD's program nicctl has.
 *
 *	nicctl show dcqcn -r ionic_0 -i 1
 *	nicctl update dcqcn -r ionic_0 -i 1 --ai-rate 160
 *
 * The RDMA device has several profiles; which one a flow gets is up to the firmware.  One that
 * "show" prints for the device is a device here, named <RDMA device>/<profile>.  The program prints
 * a line "label : value" for each parameter.  AMD publishes neither units nor ranges.
 */
#include <stdio.h>
#include <string.h>

#include "nic.h"

#define OUTPUT_MAX	65536

/* "file" is the label in what the program prints; its option has the knob's name. */
static const struct knob knobs[] = {
	{ "ai-rate", "", 1, 65535, NO_DEFAULT, ROLE_AI, .file = "Rate increase in AI phase",
	  .what = "R_AI, additive increase" },
	{ "hai-rate", "", 1, 65535, NO_DEFAULT, .file = "Rate increase in HAI phase",
	  .what = "R_HAI, hyper increase" },
	{ "rate-increase-interval", "", 1, 65535, NO_DEFAULT, ROLE_TIME,
	  .file = "Rate increase interval", .what = "T, the increase timer" },
	{ "rate-increase-byte-count", "", 1, UINT32_MAX, NO_DEFAULT,
	  .file = "Rate increase byte count", .what = "B, the byte counter" },
	{ "rate-increase-threshold", "", 1, 31, NO_DEFAULT, .file = "Rate increase threshold",
	  .what = "F, steps of fast recovery" },
	{ "rate-reduce-monitor-period", "", 1, 65535, NO_DEFAULT,
	  .file = "Rate reduce monitor period", .what = "between two cuts" },
	{ "alpha-update-interval", "", 1, 65535, NO_DEFAULT, .file = "Alpha update interval",
	  .what = "period of alpha's update" },
	{ "alpha-update-g", "", 0, 1023, NO_DEFAULT, .file = "Alpha update G value",
	  .what = "g, how far an update moves alpha" },
	{ "initial-alpha-value", "", 0, 1023, NO_DEFAULT, .file = "Initial alpha value",
	  .what = "alpha at a first CNP" },
	{ "token-bucket-size", "", 1, UINT32_MAX, NO_DEFAULT, .file = "Token bucket size",
	  .what = "burst of a flow" },
	{ "cnp-dscp", "", 0, 63, NO_DEFAULT, .file = "DSCP value used for CNP",
	  .what = "DSCP of CNPs" },
};

static char output[OUTPUT_MAX];

/* "  Label    : value" gives the value if the line has this label, else NULL. */
static char *value_of(char *line, const char *label)
{
	char *colon = strchr(line, ':'), *end;

	line += strspn(line, " \t");
	if (!colon || strncmp(line, label, strlen(label)))
		return NULL;
	end = line + strlen(label);
	if (end + strspn(end, " \t") != colon)
		return NULL;
	colon++;
	return colon + strspn(colon, " \t");
}

/* Takes one line off @text. */
static char *next_line(char **text)
{
	char *line = *text, *end;

	if (!*line)
		return NULL;
	end = line + strcspn(line, "\n");
	*text = *end ? end + 1 : end;
	*end = '\0';
	while (end > line && (end[-1] == ' ' || end[-1] == '\r'))
		*--end = '\0';
	return line;
}

/* "NIC : <uuid> (0000:f6:00.0)" */
static void pci_of(const char *nic, char pci[NAME_LEN])
{
	const char *open = strchr(nic, '(');

	*pci = '\0';
	if (open)
		snprintf(pci, NAME_LEN, "%.*s", (int)strcspn(open + 1, ")"), open + 1);
}

static int ionic_each(const struct backend *be, int (*found)(const struct device *d, void *arg),
		      void *arg)
{
	static const char *const argv[] = { "nicctl", "show", "dcqcn", NULL };
	char *at = output, *line, *v, ibdev[40] = "", pci[NAME_LEN] = "";
	struct device d = { .be = be };
	struct err e;
	int ret = 0;

	if (!exec_is_there("nicctl"))
		return 0;
	ret = exec_run(argv, output, sizeof(output), &e);
	if (ret) {
		snprintf(d.name, sizeof(d.name), "nicctl");
		snprintf(d.why, sizeof(d.why), "%.150s", e.text);
		return found(&d, arg);
	}
	while (!ret && (line = next_line(&at))) {
		v = value_of(line, "NIC");
		if (v)
			pci_of(v, pci);
		v = value_of(line, "ROCE device");
		if (v)
			snprintf(ibdev, sizeof(ibdev), "%s", v);
		v = value_of(line, "DCQCN profile id");
		if (!v || !*ibdev)
			continue;
		strcpy(d.pci, pci);
		snprintf(d.name, sizeof(d.name), "%s/%.8s", ibdev, v);
		ret = found(&d, arg);
	}
	return ret;
}

/* The RDMA device and the profile, out of the device's name. */
static int name_parts(const struct device *d, char ibdev[NAME_LEN], char **profile,
		      struct err *e)
{
	strcpy(ibdev, d->name);
	*profile = strchr(ibdev, '/');
	if (!*profile)
		return fail(e, -ENODEV, "%s: nicctl names no profile", d->name);
	*(*profile)++ = '\0';
	return 0;
}

static int ionic_read(const struct device *d, const struct knob *k, uint32_t *v, struct err *e)
{
	char ibdev[NAME_LEN], *profile, *at = output, *line, *value;
	int err = name_parts(d, ibdev, &profile, e);

	if (!err) {
		const char *const argv[] = {
			"nicctl", "show", "dcqcn", "-r", ibdev, "-i", profile, NULL
		};

		err = exec_run(argv, output, sizeof(output), e);
	}
	if (err)
		return err;
	while ((line = next_line(&at))) {
		value = value_of(line, k->file);
		if (value && !number(value, v))
			return 0;
	}
	return fail(e, -ENOENT, "nicctl shows no '%s' of %s", k->file, d->name);
}

static int ionic_write(const struct device *d, const struct knob *k, uint32_t v, struct err *e)
{
	char ibdev[NAME_LEN], option[NAME_LEN], value[16], *profile;
	int err = name_parts(d, ibdev, &profile, e);
	const char *const argv[] = {
		"nicctl", "update", "dcqcn", "-r", ibdev, "-i", profile, option, value, NULL
	};

	if (err)
		return err;
	snprintf(option, sizeof(option), "--%s", k->name);
	snprintf(value, sizeof(value), "%u", v);
	return exec_run(argv, output, sizeof(output), e);
}

const struct backend backend_ionic = {
	.name = "ionic", .what = "AMD Pensando, through nicctl",
	.scope = SCOPE_PROFILE, .budget = 5,
	.knobs = knobs, .knob_count = COUNT(knobs),
	.each = ionic_each, .read = ionic_read, .write = ionic_write,
};
