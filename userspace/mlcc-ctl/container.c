// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* set-job --container: which process a container is, by the command of the runtime that knows it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"
#include "place.h"

extern char **environ;

/* The first line that the command prints; false: none, or it has failed. */
static bool printed_line(const char *const *argv, char *line, size_t size)
{
	posix_spawn_file_actions_t actions;
	int ends[2], status = -1, err;
	FILE *f;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	err = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	f = fdopen(ends[0], "r");
	*line = '\0';
	if (f && !err && !fgets(line, size, f))
		*line = '\0';
	if (f)
		fclose(f);
	else
		close(ends[0]);
	while (!err && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !err && !status && *line;
}

/* A runtime may speak of another machine's processes; and not each container has its own cgroup. */
static bool is_here(int pid, const char *id)
{
	const char *cgroup;
	char process[16];

	snprintf(process, sizeof(process), "%d", pid);
	cgroup = cgroup_of(process);
	return cgroup && strstr(cgroup, id);
}

static int ask_runtime(const char *const *argv, char id[CONTAINER_ID_LEN])
{
	char line[256], format[32];
	int pid;

	snprintf(format, sizeof(format), "%%d %%%ds", CONTAINER_ID_LEN - 1);
	if (!printed_line(argv, line, sizeof(line)) || sscanf(line, format, &pid, id) != 2)
		return -1;
	/* 0: it does not run */
	return pid > 0 && strlen(id) >= 12 ? pid : 0;
}

int container_pid(const char *name, char id[CONTAINER_ID_LEN])
{
	const char *const asked[][8] = {
		{ "docker", "inspect", "--type=container", "--format={{.State.Pid}} {{.Id}}", "--", name },
		{ "podman", "inspect", "--type=container", "--format={{.State.Pid}} {{.Id}}", "--", name },
		{ "nerdctl", "inspect", "--type=container", "--format={{.State.Pid}} {{.Id}}", "--", name },
		{ "crictl", "inspect", "--output=go-template",
		  "--template={{.info.pid}} {{.status.id}}", "--", name },
	};

	/* ignored, there is no status of a child */
	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		int pid = ask_runtime(asked[i], id);

		if (pid < 0)
			continue;
		if (!pid)
			die(EXIT_FAILED, "--container '%s': %s says that it does not run", name,
			    asked[i][0]);
		if (!is_here(pid, id))
			die(EXIT_FAILED, "--container '%s': no cgroup of its own on this host holds process %d, which %s names",
			    name, pid, asked[i][0]);
		return pid;
	}
	die(EXIT_FAILED, "--container '%s': docker, podman, nerdctl and crictl know none; those of enroot, pyxis and apptainer have no cgroup of their own: 'mlcc-ctl run -- apptainer ...' starts one as a job",
	    name);
}
