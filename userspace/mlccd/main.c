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
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "../common/client.h"
#include "../common/clock.h"
#include "../common/exit.h"
#include "../common/standard.h"
#include "../rdma/rdma.h"
#include "http.h"
#include "keeper.h"
#include "last.h"
#include "listen.h"
#include "metrics.h"
#include "mlccd.h"
#include "split.h"
#include "state.h"

#define MLCCD_RUN_DIR	"/run/mlcc"
#define MLCCD_CONFIG	"/etc/mlcc/mlccd.conf"

#define OWN_FILES	512	/* open beside those of connections: of which peer.c keeps some a while */

static const char usage[] =
	"usage: mlccd [--config FILE] [--run-dir DIR] [--sysroot DIR] [--user USER]\n"
	"       mlccd --check [--config FILE]\n"
	"       mlccd --unload [--run-dir DIR]\n"
	"       mlccd --keeper PATH [--config FILE] [--run-dir DIR] [--sysroot DIR]\n"
	"       mlccd --keep [--config FILE] [--sysroot DIR]\n"
	"\n"
	"Owns the training jobs of this host: mlccd(8), mlcc-ctl(8).\n"
	"\n"
	"  --config FILE   instead of " MLCCD_CONFIG "\n"
	"  --run-dir DIR   instead of " MLCCD_RUN_DIR ": sockets and the jobs' files\n"
	"  --sysroot DIR   where /sys and /run are looked for what RDMA devices know of jobs, such as\n"
	"                  the host's root inside of a container\n"
	"  --user USER     whom the part that reads requests runs as, instead of mlcc\n"
	"  --check         only says whether the configuration is valid\n"
	"  --unload        stops the daemon that runs, deletes all of its jobs, takes the tagger out of\n"
	"                  the kernel, and ends\n"
	"  --keep          only the part that has the carrier, for one connection to the socket that\n"
	"                  systemd hands over\n"
	"  --keeper PATH   only the part that reads requests; the other one listens there\n"
	"  --version\n"
	"\n"
	"SIGHUP reads the configuration again; SIGTERM ends the daemon, not the jobs.\n"
	"Exit status: 0 done, 1 failed, 2 usage.\n";

struct options {
	const char *config, *run_dir, *sysroot, *user, *keeper;
	bool check, unload, keep;
};

/* What lives as long as the daemon, and is nobody else's. */
struct running {
	struct mlccd d;
	struct options o;
	struct http *metrics, *port;
	struct listening listening;
	int jobs;			/* the folder of their files */
	struct kept kept;		/* the keeper's */
	struct keeper_pair pair;
};

/* A connection has its own, its process's, its cgroup's and its ring's two descriptors. */
static void fit_limit(struct config *c)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	if (c->connections * 5ULL + OWN_FILES <= r.rlim_max)
		return;
	c->connections = r.rlim_max > 2 * OWN_FILES ? (r.rlim_max - OWN_FILES) / 5 : OWN_FILES / 5;
	note(4, "only %u connections: at most %llu files may be open", c->connections,
	     (unsigned long long)r.rlim_max);
}

/*
 * What is read at start only stays as it was: what sockets are marked with does not change under
 * them, and sockets to listen on are opened before rights are given up.
 */
static void keep_until_restart(struct config *c, const struct config *old)
{
	if (c->mark_mask != old->mark_mask)
		note(4, "mark-mask = %#x needs a restart: it stays %#x", c->mark_mask, old->mark_mask);
	if (c->metrics_port != old->metrics_port)
		note(4, "metrics-port = %u needs a restart: it stays %u", c->metrics_port,
		     old->metrics_port);
	if (strcmp(c->metrics_address, old->metrics_address))
		note(4, "metrics-address = %s needs a restart: it stays %s", c->metrics_address,
		     old->metrics_address);
	c->mark_mask = old->mark_mask;
	c->metrics_port = old->metrics_port;
	strcpy(c->metrics_address, old->metrics_address);
}

/* A file that only the keeper may read. */
static int open_by_keeper(enum keep op, const char *path)
{
	static struct keep_ask a;
	const struct keep_told *t;
	int fd;

	a.op = op;
	snprintf(a.path, sizeof(a.path), "%s", path);
	t = keep_ask(&a, &fd);
	return t->err ? t->err : fd;
}

static int open_file(const char *path)
{
	return open_by_keeper(KEEP_FILE, path);
}

/* All of the new file, or nothing of it. */
static int reload(sd_event_source *s, const struct signalfd_siginfo *info, void *arg)
{
	struct running *r = arg;
	struct mlccd *d = &r->d;
	struct config c;
	struct err e;

	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)now_us());
	/* an editor that replaces it takes it away for a moment: that means no defaults */
	if (config_load(&c, r->o.config, open_by_keeper(KEEP_CONFIG, ""), false, &e)) {
		note(3, "keeps the old configuration: %s", e.text);
		sd_notifyf(0, "READY=1\nSTATUS=The new configuration was refused: %s", e.text);
		return 0;
	}
	fit_limit(&c);
	keep_until_restart(&c, &d->config);
	d->config = c;
	jobs_complete(&d->jobs);
	overlap_configured(&d->overlap);
	note(6, "has read %s", r->o.config);
	sd_notify(0, "READY=1\nSTATUS=");
	return 0;
}

/* What has no event of its own is looked for now and then. */
static int poll_due(sd_event_source *s, uint64_t at, void *arg)
{
	struct mlccd *d = arg;

	jobs_poll(&d->jobs);
	accounts_prune(&d->accounts, &d->config, now_us());
	sd_event_source_set_time(s, now_us() + d->config.poll_ms * 1000ULL);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

/* What the keeper got.  With its end everything ends. */
static int signalled(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	struct running *r = arg;
	char number;
	ssize_t n = recv(fd, &number, sizeof(number), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n == sizeof(number) && number == SIGHUP)
		return reload(s, NULL, arg);
	return sd_event_exit(r->d.events, n == sizeof(number) ? 0 : -EPIPE);
}

/* SIGTERM and SIGINT end the loop; SIGCHLD is blocked for porter.c. */
static int watch_signals(struct running *r)
{
	sd_event *events = r->d.events;
	int err;

	keeper_block_signals();
	err = sd_event_add_signal(events, NULL, SIGHUP, reload, r);
	err = err < 0 ? err : sd_event_add_signal(events, NULL, SIGINT, NULL, NULL);
	err = err < 0 ? err : sd_event_add_signal(events, NULL, SIGTERM, NULL, NULL);
	err = err < 0 ? err : sd_event_add_io(events, NULL, r->pair.signals[1], EPOLLIN, signalled,
					      r);
	err = err < 0 ? err : sd_event_add_time(events, NULL, CLOCK_MONOTONIC, 0, 1000, poll_due,
						&r->d);
	err = err < 0 ? err : overlap_start(&r->d.overlap, events);
	return err < 0 ? err : sd_event_set_watchdog(events, true);
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

/* Who comes in waits until all else is there: nobody is answered before the loop runs. */
static int listen_start(struct running *r, struct err *e)
{
	struct mlccd *d = &r->d;
	const struct listening *l = &r->listening;
	int err = peers_listen(d, l->control);

	if (err)
		return fail(e, err, "cannot listen: %s", strerror(-err));
	r->metrics = http_listen(d->events, l->metrics, metrics_text, d);
	if (l->port >= 0)
		r->port = http_listen(d->events, l->port, metrics_text, d);
	if (!r->metrics || (l->port >= 0 && !r->port))
		return fail(e, -ENOMEM, "cannot serve metrics");
	return 0;
}

/* What is open when rights are given up. */
static int prepare(struct running *r, const struct split *user, struct err *e)
{
	const struct options *o = &r->o;
	const struct config *c = &r->d.config;
	char jobs[PATH_MAX];
	int err;

	/* users look for the socket there, whatever the starter's umask is; each file says its own mode */
	umask(022);
	if (mkdir(o->run_dir, 0755) && errno != EEXIST)
		return fail(e, -errno, "%s: %s", o->run_dir, strerror(errno));
	err = open_sysroot(o, e);
	/* sockets first: two daemons must not both have the jobs */
	err = err ? err : listen_all(&r->listening, o->run_dir, c->metrics_address, c->metrics_port, e);
	if (err)
		return err;
	snprintf(jobs, sizeof(jobs), "%s/jobs", o->run_dir);
	r->jobs = state_open(jobs, e);
	if (r->jobs < 0)
		return r->jobs;
	if (cgroups_init(&r->d.cgroups))
		note(4, "no cgroup2 file system is mounted: jobs have to be told by their marks");
	err = o->keeper ? 0 : keeper_pair(&r->pair);
	if (err)
		return fail(e, err, "socketpair: %s", strerror(-err));
	return geteuid() ? 0 : state_give(r->jobs, user->uid, user->gid, e);
}

static int mlccd_start(struct running *r, struct err *e)
{
	struct mlccd *d = &r->d;
	int err;

	fit_limit(&d->config);
	err = watch_signals(r);
	if (err < 0)
		return fail(e, err, "signals, timers: %s", strerror(-err));
	err = listen_start(r, e);
	if (err)
		return err;
	if (carrier_need(&d->carrier, e))
		note(4, "%s", e->text);
	if (tagger_need(&d->carrier, e))
		note(4, "%s", e->text);
	jobs_init(&d->jobs, r->jobs);
	return 0;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	const char **const words[] = {
		&o->config, &o->run_dir, &o->sysroot, &o->user, &o->keeper,
	};
	static const struct option opts[] = {
		/* as they are in @words */
		{ "config", required_argument, NULL, 'w' },
		{ "run-dir", required_argument, NULL, 'w' },
		{ "sysroot", required_argument, NULL, 'w' },
		{ "user", required_argument, NULL, 'w' },
		{ "keeper", required_argument, NULL, 'w' },
		{ "check", no_argument, NULL, 'k' },
		{ "unload", no_argument, NULL, 'u' },
		{ "keep", no_argument, NULL, 'K' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ },
	};
	int c, at;

	while ((c = getopt_long(argc, argv, "h", opts, &at)) != -1) {
		if (c == '?')
			return -EINVAL;
		if (c == 'w')
			*words[at] = optarg;
		o->check |= c == 'k';
		o->unload |= c == 'u';
		o->keep |= c == 'K';
		if (c == 'v' || c == 'h') {
			fputs(c == 'h' ? usage : "mlccd " MLCCD_VERSION "\n", stdout);
			exit(EXIT_FINE);
		}
	}
	return optind == argc ? 0 : -EINVAL;
}

/* All that this and earlier daemons have put into the kernel. */
static int unload(struct mlccd *d)
{
	struct err e;
	int err;

	jobs_clear(&d->jobs);
	err = tagger_need(&d->carrier, &e);
	if (!err)
		err = carrier_unload(&d->carrier, &e);
	else if (err == -ENOENT || err == -ENODEV)
		err = 0;
	if (err)
		note(3, "%s", e.text);
	return err ? EXIT_FAILED : EXIT_FINE;
}

static int mlccd_become(struct running *r, const struct split *user, pid_t keeper, struct err *e)
{
	int err = split_drop(user, keeper, e);

	close(r->pair.ask[0]);
	close(r->pair.signals[0]);
	keep_by(r->pair.ask[1], NULL, NULL);
	sysroot_else(open_file);
	if (!err && filter_set(e))
		note(4, "%s", e->text);
	return err;
}

static int run_loop(struct running *r)
{
	struct mlccd *d = &r->d;
	int err;

	note(6, "ready: carrier %s, %u jobs", carrier_name(&d->carrier), d->jobs.count);
	sd_notify(0, "READY=1");
	err = sd_event_loop(d->events);
	sd_notify(0, "STOPPING=1");
	/* with the keeper gone another one may have begun */
	if (err >= 0)
		jobs_keep_counts(&d->jobs);
	peers_close(d);
	http_close(r->metrics);
	http_close(r->port);
	jobs_free(&d->jobs);
	transport_free(&d->transport);
	sd_event_unref(d->events);
	return err < 0 ? EXIT_FAILED : EXIT_FINE;
}

static int mlccd_failed(const struct err *e)
{
	note(3, "%s", e->text);
	return EXIT_FAILED;
}

/* The part that everybody speaks to. */
static int run_parser(struct running *r, const struct split *user, pid_t keeper, int handed)
{
	struct mlccd *d = &r->d;
	sd_event *events;
	struct err e;
	int err = mlccd_become(r, user, keeper, &e);
	char pid[16];

	if (err)
		return mlccd_failed(&e);
	/* the service manager means its main process, which is the keeper */
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (getenv("WATCHDOG_PID"))
		setenv("WATCHDOG_PID", pid, 1);
	/* before there are threads, which it would not have */
	if (!r->o.unload) {
		d->peers.porter = porter_start(away_work);
		last_start(handed, &r->listening);
	}
	err = sd_event_default(&events);
	if (err < 0) {
		note(3, "no event loop: %s", strerror(-err));
		return EXIT_FAILED;
	}
	mlccd_init(d, events);
	if (mlccd_start(r, &e))
		return mlccd_failed(&e);
	return r->o.unload ? unload(d) : run_loop(r);
}

/* What is mlccd's alone: with its end they are closed. */
static void close_handed_over(struct running *r)
{
	close(r->listening.control);
	close(r->listening.metrics);
	if (r->listening.port >= 0)
		close(r->listening.port);
	close(r->listening.door);
	close(r->jobs);
}

static int run_daemon(struct running *r)
{
	pid_t keeper = r->o.keeper ? getppid() : getpid(), child;
	int handed = sd_listen_fds(0);
	struct split user;
	struct err e;

	split_user(&user, r->o.user);
	if ((r->o.unload && listen_stop_other(r->o.run_dir, &e)) || prepare(r, &user, &e))
		return mlccd_failed(&e);
	child = r->o.keeper ? 0 : fork();
	if (!child)
		return run_parser(r, &user, keeper, handed);
	close_handed_over(r);
	if (child < 0) {
		note(3, "fork: %s", strerror(errno));
		return EXIT_FAILED;
	}
	kept_init(&r->kept, &r->d.cgroups, r->o.config, r->d.config.mark_mask);
	r->kept.unloads = r->o.unload;
	return keeper_run(&r->kept, &r->pair, child);
}

/* The keeper of one mlccd that comes to it: the next one starts the next. */
static int mlccd_keep(struct running *r)
{
	struct err e = { "--keep: systemd hands over no socket" };
	int fd = -1;

	if (sd_listen_fds(1) == 1)
		fd = accept4(SD_LISTEN_FDS_START, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 || open_sysroot(&r->o, &e))
		return mlccd_failed(&e);
	cgroups_init(&r->d.cgroups);
	kept_init(&r->kept, &r->d.cgroups, r->o.config, r->d.config.mark_mask);
	keeper_serve(&r->kept, fd);
	return EXIT_FINE;
}

/* Its signals are mlccd's own: only its end comes by that socket. */
static int connect_keeper(struct running *r, struct err *e)
{
	int fd = client_connect(r->o.keeper, 0);

	if (fd < 0)
		return fail(e, fd, "--keeper %.150s: %s", r->o.keeper, strerror(-fd));
	r->pair = (struct keeper_pair){ { -1, fd }, { -1, fd } };
	keep_by(fd, NULL, NULL);
	return config_load(&r->d.config, r->o.config, open_by_keeper(KEEP_CONFIG, ""), true, e);
}

static int mlccd_configure(struct running *r, struct err *e)
{
	return r->o.keeper ? connect_keeper(r, e) :
			     config_read(&r->d.config, r->o.config, !r->o.check, e);
}

int main(int argc, char **argv)
{
	static struct running r = { .o = { .config = MLCCD_CONFIG, .run_dir = MLCCD_RUN_DIR,
					  .user = "mlcc" } };
	struct err e;

	fill_standard_files();
	/* ignored by who has started us, there is no status of a child */
	signal(SIGCHLD, SIG_DFL);
	if (parse_options(argc, argv, &r.o)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (mlccd_configure(&r, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return EXIT_FAILED;
	}
	if (r.o.check)
		return EXIT_FINE;
	return r.o.keep ? mlccd_keep(&r) : run_daemon(&r);
}
