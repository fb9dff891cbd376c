// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Programs of vendors: found at fixed places, run without an environment, never for long. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nic.h"

#define TIMEOUT_MS	10000

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

bool exec_is_there(const char *name)
{
	int fd = exec_open(name);

	if (fd >= 0)
		close(fd);
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

static long ms_left(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
}

/* Reads until the other end is closed; what does not fit is dropped. */
static int collect(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec end;
	char spill[512];
	size_t len = 0;
	ssize_t n = 1;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += TIMEOUT_MS / 1000;
	while (n) {
		long ms = ms_left(&end);

		if (ms <= 0 || !poll(&p, 1, ms))
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

int exec_run(const char *const argv[], char *text, size_t size, struct err *e)
{
	int tool = exec_open(argv[0]), pipes[2], err;
	pid_t pid;

	*text = '\0';
	if (tool == -ENOENT)
		return fail(e, tool, "there is no program %s", argv[0]);
	if (tool < 0)
		return fail(e, tool, "%s: %s (it has to be root's, and nobody else's to write)",
			    argv[0], strerror(-tool));
	if (pipe2(pipes, O_CLOEXEC)) {
		close(tool);
		return fail(e, -errno, "pipe: %s", strerror(errno));
	}
	pid = fork();
	if (!pid)
		child(tool, pipes[1], argv);
	err = pid < 0 ? -errno : 0;
	close(tool);
	close(pipes[1]);
	if (!err)
		err = collect(pipes[0], text, size);
	close(pipes[0]);
	return pid < 0 ? fail(e, err, "fork: %s", strerror(-err)) :
			 exec_wait(pid, err, argv[0], text, e);
}
