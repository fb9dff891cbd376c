// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/exit.h"
#include "keep.h"
#include "pass.h"

static int keeper = -1;
static keep_answer *answer;
static struct kept *in_here;

#define ASK(member)	sizeof(((struct keep_ask *)0)->member)
#define TOLD(member)	sizeof(*((struct keep_told *)0)->member)

/* What a question has behind its head, and each of what an answer has so many of. */
static const struct {
	size_t ask, told;
} sizes[KEEP_OPS] = {
	[KEEP_JOB_SET] = { ASK(job), 0 },
	[KEEP_JOB_GET] = { 0, TOLD(jobs) },
	[KEEP_JOBS] = { 0, TOLD(jobs) },
	[KEEP_PROGRESS] = { ASK(ids), TOLD(progress) },
	[KEEP_PROFILE_GET] = { ASK(name), TOLD(profiles) },
	[KEEP_PROFILE_SET] = { ASK(profile), 0 },
	[KEEP_PROFILES_ALL] = { 0, TOLD(profiles) },
	[KEEP_TAG] = { ASK(tag), 0 },
	[KEEP_CGROUP] = { ASK(path), TOLD(cgroup) },
	[KEEP_PLACE] = { 0, TOLD(path) },
	[KEEP_FILE] = { ASK(path), 0 },
	[KEEP_RULE] = { ASK(name), 0 },
};

size_t keep_ask_size(uint32_t op)
{
	return op < KEEP_OPS ? offsetof(struct keep_ask, nothing) + sizes[op].ask : 0;
}

size_t keep_told_size(uint32_t op, const struct keep_told *t)
{
	return offsetof(struct keep_told, jobs) + (op < KEEP_OPS ? t->count * sizes[op].told : 0);
}

void keep_by(int fd, keep_answer *a, struct kept *here)
{
	keeper = fd;
	answer = a;
	in_here = here;
}

/* Nothing is lost that was answered: files come first, and the kernel has the rest. */
static void __attribute__((noreturn)) lost(void)
{
	note(3, "the process that holds the carrier has ended");
	_exit(EXIT_FAILED);
}

static bool keep_is_whole(uint32_t op, const struct keep_told *t, ssize_t n)
{
	return n >= (ssize_t)offsetof(struct keep_told, jobs) && t->count <= KEEP_LIST &&
	       n == (ssize_t)keep_told_size(op, t) && memchr(t->why, '\0', sizeof(t->why));
}

const struct keep_told *keep_ask(const struct keep_ask *a, int *fd)
{
	static struct keep_told told;
	int fds[PASS_FDS], got = -1, flags = 0;
	unsigned int count = 0;
	ssize_t n;

	if (answer) {
		answer(in_here, a, keep_ask_size(a->op), &told, &got);
	} else {
		n = TEMP_FAILURE_RETRY(send(keeper, a, keep_ask_size(a->op), MSG_NOSIGNAL));
		do {
			n = n < 0 ? n : pass_receive(keeper, &told, sizeof(told), fds, &count, &flags);
		} while (n == -EINTR);
		if (n <= 0 || !keep_is_whole(a->op, &told, n))
			lost();
		if (count)
			got = fds[0];
	}
	if (fd)
		*fd = got;
	else if (got >= 0)
		close(got);
	return &told;
}
