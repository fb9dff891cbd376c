// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * NVIDIA's mlxconfig: what the firmware begins with after its next reset.  It is not what the NIC
 * works with now, a change would need a reset, and the program takes seconds.  So it is only shown,
 * and only if asked for by name.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nic.h"

#define OUTPUT_MAX	65536
#define RATE_MAX	1600000		/* Mb/s */

/* A name stands for that of a port: with _P1, _P2 behind it. */
static const struct knob knobs[] = {
	{ "RPG_AI_RATE", "Mb/s", 1, RATE_MAX, 5, ROLE_AI, .what = "R_AI, additive increase" },
	{ "RPG_HAI_RATE", "Mb/s", 1, RATE_MAX, 50, .what = "R_HAI, hyper increase" },
	{ "RPG_TIME_RESET", "us", 1, 131071, 300, ROLE_TIME, .what = "T, the increase timer" },
	{ "RPG_BYTE_RESET", "", 0, 32767, 32767, .what = "B, the byte counter" },
	{ "RPG_THRESHOLD", "", 1, 31, 1, .what = "F, steps of fast recovery" },
	{ "RPG_MAX_RATE", "Mb/s", 0, RATE_MAX, 0, .what = "most for a flow; 0: the port's rate" },
	{ "RPG_MIN_RATE", "Mb/s", 1, RATE_MAX, 1, .what = "least for a flow" },
	{ "RPG_MIN_DEC_FAC", "%", 0, 100, 50, .what = "a cut leaves at least this" },
	{ "RPG_GD", "log2", 0, 15, 11, .what = "divides alpha in a cut" },
	{ "DCE_TCP_G", "/1024", 0, 1023, 1019, .what = "what alpha keeps in an update" },
	{ "DCE_TCP_RTT", "us", 1, 131071, 1, .what = "period of alpha's update" },
	{ "RATE_REDUCE_MONITOR_PERIOD", "us", 1, UINT32_MAX, 4, .what = "between two cuts" },
	{ "INITIAL_ALPHA_VALUE", "/1024", 1, 1023, 1023, .what = "alpha at a first CNP" },
	{ "RATE_TO_SET_ON_FIRST_CNP", "Mb/s", 0, RATE_MAX, 0, .what = "0: off" },
	{ "CLAMP_TGT_RATE", "", 0, 1, 0, .what = "each cut lowers the target rate, too" },
	{ "CLAMP_TGT_RATE_AFTER_TIME_INC", "", 0, 1, 1,
	  .what = "so does the first after a timer's rise" },
	{ "MIN_TIME_BETWEEN_CNPS", "us", 0, 4095, 4, .what = "N, between two CNPs of a flow" },
	{ "CNP_DSCP", "", 0, 63, 48, .what = "DSCP of CNPs" },
	{ "CNP_802P_PRIO", "", 0, 7, 6, .what = "priority of CNPs" },
};

/* The last answer, for the knobs that are asked for one after the other. */
static struct {
	char pci[NAME_LEN], text[OUTPUT_MAX];
} answer;

struct walk {
	const struct backend *be;
	int (*found)(const struct device *d, void *arg);
	void *arg;
};

static int entry(const char *name, void *arg)
{
	const struct walk *w = arg;
	struct device d = { .be = w->be };
	char path[DIR_LEN], vendor[16];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.*s/vendor", NAME_LEN, name);
	if (sysroot_read(path, vendor, sizeof(vendor)) < 0 || strcmp(vendor, "0x15b3"))
		return 0;
	snprintf(d.pci, sizeof(d.pci), "%s", name);
	for (char port = '1'; port <= '2'; port++) {
		int ret;

		snprintf(d.name, sizeof(d.name), "%.*s/P%c", NAME_LEN - 4, name, port);
		ret = w->found(&d, w->arg);
		if (ret)
			return ret;
	}
	return 0;
}

static int mlxconfig_each(const struct backend *be,
			  int (*found)(const struct device *d, void *arg), void *arg)
{
	struct walk w = { be, found, arg };

	if (!exec_is_there("mlxconfig"))
		return 0;
	return sysroot_list("/sys/bus/pci/devices", entry, &w);
}

static int ask(const char *pci, struct err *e)
{
	const char *const argv[] = { "mlxconfig", "-d", pci, "query", NULL };
	int err;

	if (!strcmp(answer.pci, pci))
		return 0;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "asking mlxconfig for %s\n", pci);
	*answer.pci = '\0';
	err = exec_run(argv, answer.text, sizeof(answer.text), e);
	if (!err)
		strcpy(answer.pci, pci);
	return err;
}

/* "   RPG_AI_RATE_P1     5   " or "   CLAMP_TGT_RATE_P1   False(0)   " */
static bool line_value(const char *line, const char *name, uint32_t *v)
{
	char text[16];
	size_t len;

	line += strspn(line, " \t*");
	len = strlen(name);
	if (strncmp(line, name, len) || (line[len] != ' ' && line[len] != '\t'))
		return false;
	line += len;
	line += strspn(line, " \t");
	len = strcspn(line, " \t\r\n");
	if (memchr(line, '(', len))
		line += strcspn(line, "(") + 1;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, ") \t\r\n"), line);
	return !number(text, v);
}

static int mlxconfig_read(const struct device *d, const struct knob *k, uint32_t *v,
			  struct err *e)
{
	char name[NAME_LEN];
	int err = ask(d->pci, e);

	if (err)
		return err;
	snprintf(name, sizeof(name), "%s_%s", k->name, strchr(d->name, '/') + 1);
	for (const char *line = answer.text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (line_value(line, name, v))
			return 0;
	}
	return fail(e, -ENOENT, "mlxconfig shows no %s of %s", name, d->pci);
}

static int mlxconfig_write(const struct device *d, const struct knob *k, uint32_t v,
			   struct err *e)
{
	(void)v;
	return fail(e, -EPERM, "%s %s: mlxconfig sets it, for the next reset", d->name, k->name);
}

const struct backend backend_mlxconfig = {
	.name = "mlxconfig",
	.what = "NVIDIA ConnectX, non-volatile settings (mlxconfig; only shown)",
	.scope = SCOPE_PORT, .read_only = true, .slow = true, .apart = true,
	.knobs = knobs, .knob_count = COUNT(knobs),
	.each = mlxconfig_each, .read = mlxconfig_read, .write = mlxconfig_write,
};
