// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Back ends that are programs of vendors: found at fixed places, run without an environment, never
 * for long.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/clock.h"
#include "nic.h"

#define TIMEOUT_US	10000000
#define OUTPUT_MAX	65536
#define RATE_MAX	1600000		/* Mb/s */

/* Root runs it, so nobody else may have been able to write it. */
static int exec_open(const char *name)
{
	static const char *const dirs[] = {
		"/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin",
	};
	char path[DIR_LEN];
	struct stat st;
	int fd = -ENOENT;

	for (unsigned int i = 0; i < COUNT(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
		fd = sysroot_open(path, O_RDONLY);
		if (fd == -ENOENT)
			continue;
		if (fd < 0)
			return fd;
		if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !(st.st_mode & 022) &&
		    (!st.st_uid || st.st_uid == geteuid()))
			return fd;
		close(fd);
		return -EPERM;
	}
	return fd;
}

static bool exec_is_there(const char *name)
{
	AUTO_CLOSE int fd = exec_open(name);

	return fd >= 0;
}

static void child(int tool, int out, const char *const argv[])
{
	static char *const environment[] = {
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL
	};
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	/* a script's interpreter opens it by its number */
	fcntl(tool, F_SETFD, 0);
	fexecve(tool, (char *const *)argv, environment);
	_exit(127);
}

/* Reads until the other end is closed; what does not fit is dropped. */
static int nic_tools_collect(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t end = now_us() + TIMEOUT_US;
	char spill[512];
	size_t len = 0;
	ssize_t n = 1;

	while (n) {
		int64_t left = end - now_us();

		if (left <= 0 || !poll(&p, 1, left / 1000 + 1))
			return -ETIMEDOUT;
		if (len < size - 1)
			n = read(fd, text + len, size - 1 - len);
		else
			n = read(fd, spill, sizeof(spill));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && len < size - 1)
			len += n;
		n = n < 0 ? 1 : n;
	}
	text[len] = '\0';
	return 0;
}

static const char *last_line(char *text)
{
	char *at;

	for (at = text + strlen(text); at > text && at[-1] == '\n';)
		*--at = '\0';
	at = strrchr(text, '\n');
	return at ? at + 1 : text;
}

static int exec_wait(pid_t pid, int err, const char *name, char *text, struct err *e)
{
	int status;

	if (err)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (err)
		return fail(e, err, "%s: %s", name, strerror(-err));
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	return fail(e, -EIO, "%s has failed: %.200s", name, last_line(text));
}

/*
 * Runs @argv, of which the first is looked for where programs are installed below the root, with
 * an empty environment and a time-out.  Its output becomes @text.  -ENOENT: there is no such
 * program; -EIO: it has failed, @e has its last line; -ETIMEDOUT.
 */
static int exec_run(const char *const argv[], char *text, size_t size, struct err *e)
{
	AUTO_CLOSE int tool = exec_open(argv[0]);
	int pipes[2], err;
	pid_t pid;

	*text = '\0';
	if (tool == -ENOENT)
		return fail(e, tool, "there is no program %s", argv[0]);
	if (tool < 0)
		return fail(e, tool, "%s: %s (it has to be root's, and nobody else's to write)",
			    argv[0], strerror(-tool));
	if (pipe2(pipes, O_CLOEXEC))
		return fail(e, -errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		child(tool, pipes[1], argv);
	err = pid < 0 ? -errno : 0;
	close(pipes[1]);
	if (!err)
		err = nic_tools_collect(pipes[0], text, size);
	close(pipes[0]);
	return pid < 0 ? fail(e, err, "fork: %s", strerror(-err)) :
			 exec_wait(pid, err, argv[0], text, e);
}

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
/* "file" is the label in what the program prints; its option has the knob's name. */
static const struct knob ionic_knobs[] = {
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
	  .file = "Rate reduce monitor period", .what = "between decreases" },
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
#define EOL	"\r\n"

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
	colon += 1 + strspn(colon + 1, " \t");
	for (end = colon + strlen(colon); end > colon && end[-1] == ' ';)
		*--end = '\0';
	return colon;
}

/* "NIC : <uuid> (0000:f6:00.0)" */
static void pci_of(const char *nic, char pci[NAME_LEN])
{
	const char *open = strchr(nic, '(');

	*pci = '\0';
	if (open)
		snprintf(pci, NAME_LEN, "%.*s", (int)strcspn(open + 1, ")"), open + 1);
}

static int ionic_list(const struct backend *be, struct devices *all)
{
	static const char *const argv[] = { "nicctl", "show", "dcqcn", NULL };
	char *v, *rest, ibdev[40] = "", pci[NAME_LEN] = "";
	struct device d = { .be = be };
	struct err e;

	if (!exec_is_there("nicctl"))
		return 0;
	if (exec_run(argv, output, sizeof(output), &e)) {
		snprintf(d.name, sizeof(d.name), "nicctl");
		snprintf(d.why, sizeof(d.why), "%.150s", e.text);
		device_add(all, &d);
		return 0;
	}
	for (char *line = strtok_r(output, EOL, &rest); line; line = strtok_r(NULL, EOL, &rest)) {
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
		device_add(all, &d);
	}
	return 0;
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
	char ibdev[NAME_LEN], *profile, *rest, *value;
	int err = name_parts(d, ibdev, &profile, e);

	if (!err) {
		const char *const argv[] = {
			"nicctl", "show", "dcqcn", "-r", ibdev, "-i", profile, NULL
		};

		err = exec_run(argv, output, sizeof(output), e);
	}
	if (err)
		return err;
	for (char *line = strtok_r(output, EOL, &rest); line; line = strtok_r(NULL, EOL, &rest)) {
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

static const struct backend_ops ionic_ops = {
	.list = ionic_list, .read = ionic_read, .write = ionic_write,
};

const struct backend backend_ionic = {
	.name = "ionic", .what = "AMD Pensando, through nicctl",
	.scope = SCOPE_PROFILE, .budget = 5,
	.knobs = ionic_knobs, .knob_count = COUNT(ionic_knobs), .ops = &ionic_ops,
};

/*
 * NVIDIA's mlxconfig: what the firmware begins with after its next reset.  It is not what the NIC
 * works with now, a change would need a reset, and the program takes seconds.  So it is only shown,
 * and only if asked for by name.
 */
/* A name stands for that of a port: with _P1, _P2 behind it. */
static const struct knob mlxconfig_knobs[] = {
	{ "RPG_AI_RATE", "Mb/s", 1, RATE_MAX, 5, ROLE_AI, .what = "R_AI, additive increase" },
	{ "RPG_HAI_RATE", "Mb/s", 1, RATE_MAX, 50, .what = "R_HAI, hyper increase" },
	{ "RPG_TIME_RESET", "us", 1, 131071, 300, ROLE_TIME, .what = "T, the increase timer" },
	{ "RPG_BYTE_RESET", "", 0, 32767, 32767, .what = "B, the byte counter" },
	{ "RPG_THRESHOLD", "", 1, 31, 1, .what = "F, steps of fast recovery" },
	{ "RPG_MAX_RATE", "Mb/s", 0, RATE_MAX, 0, .what = "most for a flow; 0: the port's rate" },
	{ "RPG_MIN_RATE", "Mb/s", 1, RATE_MAX, 1, .what = "least for a flow" },
	{ "RPG_MIN_DEC_FAC", "%", 0, 100, 50, .what = "a decrease leaves at least this" },
	{ "RPG_GD", "log2", 0, 15, 11, .what = "divides alpha in a decrease" },
	{ "DCE_TCP_G", "/1024", 0, 1023, 1019, .what = "what alpha keeps in an update" },
	{ "DCE_TCP_RTT", "us", 1, 131071, 1, .what = "period of alpha's update" },
	{ "RATE_REDUCE_MONITOR_PERIOD", "us", 1, UINT32_MAX, 4, .what = "between decreases" },
	{ "INITIAL_ALPHA_VALUE", "/1024", 1, 1023, 1023, .what = "alpha at a first CNP" },
	{ "RATE_TO_SET_ON_FIRST_CNP", "Mb/s", 0, RATE_MAX, 0, .what = "0: off" },
	{ "CLAMP_TGT_RATE", "", 0, 1, 0, .what = "each decrease lowers the target rate, too" },
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

static int mlxconfig_list(const struct backend *be, struct devices *all)
{
	AUTO_CLOSEDIR DIR *functions = NULL;
	char path[DIR_LEN], vendor[16];
	int err = 0;

	if (exec_is_there("mlxconfig"))
		functions = sysroot_dir("/sys/bus/pci/devices", &err);
	for (const char *name; (name = sysroot_next(functions));) {
		struct device d = { .be = be };

		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.*s/vendor", NAME_LEN, name);
		if (sysroot_read(path, vendor, sizeof(vendor)) < 0 || strcmp(vendor, "0x15b3"))
			continue;
		snprintf(d.pci, sizeof(d.pci), "%s", name);
		for (char port = '1'; port <= '2'; port++) {
			snprintf(d.name, sizeof(d.name), "%.*s/P%c", NAME_LEN - 4, name, port);
			device_add(all, &d);
		}
	}
	return err;
}

static int nic_tools_ask(const char *pci, struct err *e)
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
	int err = nic_tools_ask(d->pci, e);

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

static const struct backend_ops mlxconfig_ops = {
	.list = mlxconfig_list, .read = mlxconfig_read,
};

const struct backend backend_mlxconfig = {
	.name = "mlxconfig",
	.what = "NVIDIA ConnectX, non-volatile settings (mlxconfig; only shown)",
	.scope = SCOPE_PORT, .slow = true, .apart = true,
	.read_only = "mlxconfig sets it, for the next reset",
	.knobs = mlxconfig_knobs, .knob_count = COUNT(mlxconfig_knobs), .ops = &mlxconfig_ops,
};
