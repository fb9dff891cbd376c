// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl.h"
#include "findings.h"

static const char *const names[] = { "ok", "note", "FAIL" };

static struct json_object *results;
static bool found_bad;

void findings_begin(void)
{
	results = json_object_new_array();
}

void result(enum finding s, const char *what, const char *todo, const char *fmt, ...)
{
	struct json_object *o = json_object_new_object();
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	found_bad |= s == BAD;
	put_string(o, "check", what);
	put_string(o, "state", names[s]);
	put_string(o, "text", text);
	put_string(o, "todo", todo);
	json_object_array_add(results, o);
	if (common.json)
		return;
	printf("%-5s %-12s %s%s%s\n", names[s], what, text, *todo ? "; " : "", todo);
}

/* Who has become root by su has no sbin in PATH, where mlccd and mlcc-bpf are. */
static void add_sbin(void)
{
	const char *path = getenv("PATH");
	char *longer;

	if (geteuid() || !path || strstr(path, "/sbin") ||
	    asprintf(&longer, "%s:/usr/local/sbin:/usr/sbin:/sbin", path) < 0)
		return;
	setenv("PATH", longer, 1);
	free(longer);
}

bool ran(const char *what, char *const words[])
{
	posix_spawn_file_actions_t actions;
	char line[128] = "";
	int status = -1;
	pid_t child;

	for (int i = 0; words[i]; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s", i ? " " : "",
			 words[i]);
	if (common.dry_run) {
		result(NOTE, what, "", "would run '%s'", line);
		return true;
	}
	add_sbin();
	/* ignored, there is no status of a child */
	signal(SIGCHLD, SIG_DFL);
	/* what it says is no part of ours */
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!posix_spawnp(&child, words[0], &actions, NULL, words, environ))
		waitpid(child, &status, 0);
	posix_spawn_file_actions_destroy(&actions);
	result(status ? NOTE : FINE, what, "", status ? "'%s' has failed" : "ran '%s'", line);
	return !status;
}

int findings_end(void)
{
	answer(results);
	return found_bad ? EXIT_FAILED : EXIT_FINE;
}
