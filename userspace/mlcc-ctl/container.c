// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* set-job --container: which process a container is, by the command of the runtime that knows it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "place.h"

/* A runtime may speak of another machine's processes; and not each container has its own cgroup. */
static bool is_here(int pid, const char *id)
{
	const char *cgroup;
	char process[16];

	snprintf(process, sizeof(process), "%d", pid);
	cgroup = cgroup_of(process);
	return cgroup && strstr(cgroup, id);
}

static int ask_runtime(const char *command, char id[CONTAINER_ID_LEN])
{
	char line[256] = "", format[32];
	FILE *f = popen(command, "re");
	bool there = f && fgets(line, sizeof(line), f);
	int pid;

	snprintf(format, sizeof(format), "%%d %%%ds", CONTAINER_ID_LEN - 1);
	if (!f || pclose(f) || !there || sscanf(line, format, &pid, id) != 2)
		return -1;
	/* 0: it does not run */
	return pid > 0 && strlen(id) >= 12 ? pid : 0;
}

#define INSPECT(program, words)	\
	{ program, program " inspect " words " -- \"$MLCC_CONTAINER\" </dev/null 2>/dev/null" }
#define AS_DOCKER	"--type=container --format='{{.State.Pid}} {{.Id}}'"

int container_pid(const char *name, char id[CONTAINER_ID_LEN])
{
	static const struct {
		const char *program, *command;
	} asked[] = {
		INSPECT("docker", AS_DOCKER), INSPECT("podman", AS_DOCKER), INSPECT("nerdctl", AS_DOCKER),
		INSPECT("crictl", "--output=go-template --template='{{.info.pid}} {{.status.id}}'"),
	};

	setenv("MLCC_CONTAINER", name, 1);
	/* ignored, there is no status of a child */
	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		int pid = ask_runtime(asked[i].command, id);

		if (pid < 0)
			continue;
		if (!pid)
			die(EXIT_FAILED, "--container '%s': %s says that it does not run", name,
			    asked[i].program);
		if (!is_here(pid, id))
			die(EXIT_FAILED, "--container '%s': no cgroup of its own on this host holds process %d, which %s names",
			    name, pid, asked[i].program);
		return pid;
	}
	die(EXIT_FAILED, "--container '%s': docker, podman, nerdctl and crictl know none; those of enroot, pyxis and apptainer have no cgroup of their own: 'mlcc-ctl run -- apptainer ...' starts one as a job",
	    name);
}
