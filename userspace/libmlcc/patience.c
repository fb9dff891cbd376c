// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdint.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "libmlcc.h"
#include "patience.h"

#define AGAIN_MS	1000	/* who was not to be had is not waited for until then */

static __thread unsigned int patience_ms = MLCC_FOR_EVER;
static __thread uint64_t stuck_until_ms;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

void mlcc_patience(unsigned int ms)
{
	patience_ms = ms;
}

int mlcc_lock_wait(int fd, int how, unsigned int ms)
{
	uint64_t end = now_ms();

	if (patience_ms == MLCC_FOR_EVER && ms == MLCC_FOR_EVER)
		return flock(fd, how) ? -errno : 0;
	if (end >= stuck_until_ms)
		end += patience_ms < ms ? patience_ms : ms;
	while (flock(fd, how | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (now_ms() >= end) {
			stuck_until_ms = now_ms() + AGAIN_MS;
			return -EAGAIN;
		}
		usleep(1000);
	}
	return 0;
}
