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

#define SIZE(member)	sizeof(((struct keep_ask *)0)->member)

size_t keep_ask_size(uint32_t op)
{
	static const size_t sizes[KEEP_OPS] = {
		[KEEP_JOB_NEW] = SIZE(job), [KEEP_JOB_SET] = SIZE(job),
		[KEEP_PROGRESS] = SIZE(ids),
		[KEEP_PROFILE_GET] = SIZE(name), [KEEP_PROFILE_SET] = SIZE(profile),
		[KEEP_TAG] = SIZE(tag), [KEEP_CGROUP] = SIZE(path), [KEEP_FILE] = SIZE(path),
		[KEEP_RULE] = SIZE(name),
	};

	return op < KEEP_OPS ? offsetof(struct keep_ask, nothing) + sizes[op] : 0;
}

size_t keep_told_size(uint32_t op, const struct keep_told *t)
{
	size_t size = offsetof(struct keep_told, jobs);

	switch (op) {
	case KEEP_JOB_GET:
	case KEEP_JOBS:
		return size + t->count * sizeof(*t->jobs);
	case KEEP_PROGRESS:
		return size + t->count * sizeof(*t->progress);
	case KEEP_PROFILE_GET:
	case KEEP_PROFILES_ALL:
		return size + t->count * sizeof(*t->profiles);
	case KEEP_CGROUP:
		return size + sizeof(t->cgroup);
	case KEEP_PLACE:
		return size + sizeof(t->path);
	}
	return size;
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
