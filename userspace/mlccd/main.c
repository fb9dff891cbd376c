// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mlccd: owns the jobs of this host.
 *
 * All that makes flows behave is in the kernel; the daemon decides who may change it, and keeps
 * book.  It may be killed and started again at any time: jobs, tags and flows stay as they are.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "../rdma/rdma.h"
#include "listen.h"
#include "mlccd.h"

enum { EXIT_FINE, EXIT_USAGE, EXIT_FAILED };

static const char usage[] =
	"usage: mlccd [--config FILE] [--run-dir DIR] [--sysroot DIR]\n"
	"       mlccd --check [--config FILE]\n"
	"       mlccd --unload [--run-dir DIR]\n"
	"\n"
	"Owns the training jobs of this host: mlccd(8), mlcc-ctl(8).\n"
	"\n"
	"  --config FILE   instead of " MLCCD_CONFIG "\n"
	"  --run-dir DIR   instead of " MLCCD_RUN_DIR ": sockets and the jobs' files\n"
	"  --sysroot DIR   where /sys and /run are looked for what RDMA devices know of jobs, such as\n"
	"                  the host's root inside of a container\n"
	"  --check         only says whether the configuration is valid\n"
	"  --unload        deletes all of its jobs, takes the tagger out of the kernel, and ends\n"
	"  --version\n"
	"\n"
	"SIGHUP reads the configuration again; SIGTERM ends the daemon, not the jobs.\n"
	"Exit status: 0 fine, 1 usage, 2 failed.\n";

struct options {
	const char *config, *run_dir, *sysroot;
	bool check, unload;
};

static void signalled(struct mlccd *d, struct source *s, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	if (read(s->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		d->reload = true;
	else
		d->stop = true;
}

static int watch_signals(struct mlccd *d)
{
	static struct source s;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s = (struct source){ signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), signalled };
	return s.fd < 0 ? -errno : source_add(d, &s, EPOLLIN);
}

/* All of the new file, or nothing of it. */
static void reload(struct mlccd *d)
{
	char error[CONFIG_ERROR_LEN];
	struct config c;

	d->reload = false;
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)now_us());
	if (config_read(&c, d->config_path, true, error)) {
		note(3, "keeps the old configuration: %s", error);
		sd_notifyf(0, "READY=1\nSTATUS=The new configuration was refused: %s", error);
		return;
	}
	/* what sockets are marked with does not change under them */
	c.mark_mask = d->config.mark_mask;
	c.metrics_port = d->config.metrics_port;
	d->config = c;
	jobs_complete(d);
	note(6, "has read %s", d->config_path);
	sd_notify(0, "READY=1\nSTATUS=");
}

static void raise_limit(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* Without an option it is only that RDMA is not shown. */
static int open_sysroot(const struct options *o, struct err *e)
{
	int err = sysroot_set(o->sysroot ? o->sysroot : "/", e);

	if (!err || o->sysroot)
		return err;
	note(4, "what jobs send by RDMA is not seen: %s", e->text);
	return 0;
}

static int start(struct mlccd *d, const struct options *o, struct err *e)
{
	char jobs[PATH_MAX];
	int err;

	raise_limit();
	d->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (d->epfd < 0 || watch_signals(d))
		return fail(e, -errno, "epoll, signalfd: %s", strerror(errno));
	if (mkdir(o->run_dir, 0755) && errno != EEXIST)
		return fail(e, -errno, "%s: %s", o->run_dir, strerror(errno));
	err = open_sysroot(o, e);
	if (err)
		return err;
	/* sockets first: two daemons must not both have the jobs */
	err = listen_all(d, o->run_dir, e);
	if (err)
		return err;
	if (cgroups_init(&d->cgroups))
		note(4, "no cgroup2 file system is mounted: jobs have to be told by their marks");
	if (carrier_need(&d->carrier, e))
		note(4, "%s", e->text);
	if (tagger_need(&d->carrier, e))
		note(4, "%s", e->text);
	snprintf(jobs, sizeof(jobs), "%s/jobs", o->run_dir);
	return jobs_init(d, jobs, e);
}

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "run-dir", required_argument, NULL, 'r' },
		{ "sysroot", required_argument, NULL, 'R' },
		{ "check", no_argument, NULL, 'k' },
		{ "unload", no_argument, NULL, 'u' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", opts, NULL)) != -1) {
		if (c == 'c') {
			o->config = optarg;
		} else if (c == 'r') {
			o->run_dir = optarg;
		} else if (c == 'R') {
			o->sysroot = optarg;
		} else if (c == 'k') {
			o->check = true;
		} else if (c == 'u') {
			o->unload = true;
		} else if (c == 'v') {
			puts("mlccd " MLCCD_VERSION);
			exit(EXIT_FINE);
		} else if (c == 'h') {
			fputs(usage, stdout);
			exit(EXIT_FINE);
		} else {
			return -EINVAL;
		}
	}
	return optind == argc ? 0 : -EINVAL;
}

/* All that this and earlier daemons have put into the kernel. */
static int unload(struct mlccd *d)
{
	int err;

	jobs_clear(d);
	err = d->carrier.t ? mlcc_tagger_unload(d->carrier.t) : 0;
	if (err)
		note(3, "%s", mlcc_tagger_error(d->carrier.t));
	return err ? EXIT_FAILED : EXIT_FINE;
}

static int run(struct mlccd *d, const struct options *o)
{
	struct err e;
	int err;

	err = start(d, o, &e);
	if (err) {
		note(3, "%s", e.text);
		return EXIT_FAILED;
	}
	if (o->unload)
		return unload(d);
	note(6, "ready: carrier %s, %u jobs", carrier_name(&d->carrier), d->jobs.count);
	sd_notify(0, "READY=1");
	while (!d->stop && !err) {
		err = loop_run(d);
		if (d->reload)
			reload(d);
	}
	sd_notify(0, "STOPPING=1");
	peers_close(d);
	metrics_close(d);
	jobs_free(d);
	transport_free(d);
	carrier_close(&d->carrier);
	return err ? EXIT_FAILED : EXIT_FINE;
}

int main(int argc, char **argv)
{
	struct options o = { .config = MLCCD_CONFIG, .run_dir = MLCCD_RUN_DIR };
	char error[CONFIG_ERROR_LEN];
	static struct mlccd d;

	if (parse_options(argc, argv, &o)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (config_read(&d.config, o.config, !o.check, error)) {
		fprintf(stderr, "%s\n", error);
		return EXIT_FAILED;
	}
	if (o.check)
		return EXIT_FINE;
	d.config_path = o.config;
	d.carrier.mark_mask = d.config.mark_mask;
	return run(&d, &o);
}
