// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * undo: takes back all that mlcc has changed on this host, under jobs that run.
 *
 * Programs stay installed, and connections go on with what they had before they were a job's.  The
 * order is that of a removal: who changes NICs, who starts the daemon, the daemon with its jobs and
 * its tagger, and the carrier last, as nobody asks for it any more.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "../libmlcc/pins.h"
#include "../libmlcc/registered.h"
#include "ctl.h"
#include "findings.h"

#define DEFAULT_CC	"/proc/sys/net/ipv4/tcp_congestion_control"

static void undo_nics(void)
{
	char *const stop[] = { "systemctl", "stop", "mlcc-dcqcn@*.service", NULL };
	char *const restore[] = { "mlcc-dcqcn", "restore", NULL };

	if (access("/run/mlcc/dcqcn", F_OK)) {
		result(FINE, "nics", "", "mlcc-dcqcn has changed none");
		return;
	}
	if (sd_booted() > 0)
		ran("nics", stop);
	if (!ran("nics", restore))
		result(BAD, "nics", "/run/mlcc/dcqcn says what they had",
		       "not all of them have their parameters back");
}

static void undo_default(void)
{
	char *const words[] = { "sysctl", "-qw", "net.ipv4.tcp_congestion_control=cubic", NULL };
	char name[32];

	if (first_line(DEFAULT_CC, name, sizeof(name)) && !strncmp(name, "mlcc", 4) &&
	    !ran("default", words))
		result(BAD, "default", "set net.ipv4.tcp_congestion_control",
		       "%s is the default for all sockets", name);
}

/* Its jobs, its tagger and their files go with it.  A socket's folder is the daemon's. */
static void undo_daemon(void)
{
	char *const disable[] = { "systemctl", "-q", "disable", "--now", "mlccd.socket",
				  "mlccd.service", "mlcc-carrier.service", NULL };
	char *const plain[] = { "mlccd", "--unload", NULL };
	char dir[PATH_MAX] = "", *slash;
	char *const elsewhere[] = { "mlccd", "--run-dir", dir, "--unload", NULL };

	snprintf(dir, sizeof(dir), "%s", common.place ? common.place : "");
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	if (sd_booted() > 0 && !common.place &&
	    (!access("/lib/systemd/system/mlccd.service", F_OK) ||
	     !access("/usr/local/lib/systemd/system/mlccd.service", F_OK)))
		ran("units", disable);
	if (!ran("mlccd", slash ? elsewhere : plain))
		result(BAD, "mlccd", "its messages say why", "jobs or the tagger are still there");
}

static void undo_carrier(void)
{
	char *const module[] = { "modprobe", "-r", "tcp_mlcc", NULL };
	char *const bpf[] = { "mlcc-bpf", "unload", NULL };

	if (!access("/sys/module/tcp_mlcc", F_OK))
		ran("carrier", module);
	else if (mlcc_registered("mlcc") || mlcc_registered("mlcc_plain"))
		ran("carrier", bpf);
	if (common.dry_run)
		return;
	if (mlcc_registered("mlcc"))
		result(BAD, "carrier", "the module goes when no connection has it any more",
		       "the congestion control 'mlcc' is still there");
	else
		result(FINE, "carrier", "", "there is no congestion control 'mlcc'");
}

static void look_for_pins(void)
{
	char why[MLCC_ERROR_LEN];
	int dir = mlcc_pins_open(why);

	if (dir >= 0) {
		close(dir);
		result(BAD, "pins", "'ls -R' says which, where MLCC_PIN_DIR or /sys/fs/bpf/mlcc is",
		       "something is pinned still");
	} else {
		result(FINE, "pins", "", "nothing is pinned");
	}
}

int verb_undo(int argc, char **argv)
{
	flag_option(argc, argv, NULL);
	options_end(argc, argv);
	if (geteuid() && !common.dry_run)
		die(EXIT_FAILED, "undo: only root may take everything back");
	findings_begin();
	undo_nics();
	undo_default();
	undo_daemon();
	undo_carrier();
	if (!common.dry_run)
		look_for_pins();
	return findings_end();
}
