// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How long a thread waits for whoever has the lock of the pins, and who may be stopped while he has
 * it.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/file.h>
#include <unistd.h>

#include "../common/clock.h"
#include "internal.h"

#define AGAIN_US	1000000	/* who was not to be had is not waited for until then */

static __thread unsigned int patience_ms = MLCC_FOR_EVER;
static __thread uint64_t stuck_until_us;

void mlcc_patience(unsigned int ms)
{
	patience_ms = ms;
}

int mlcc_lock_wait(int fd, int how, unsigned int ms)
{
	uint64_t end = now_us();

	if (patience_ms == MLCC_FOR_EVER && ms == MLCC_FOR_EVER)
		return flock(fd, how) ? -errno : 0;
	if (end >= stuck_until_us)
		end += (patience_ms < ms ? patience_ms : ms) * 1000ULL;
	while (flock(fd, how | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (now_us() >= end) {
			stuck_until_us = now_us() + AGAIN_US;
			return -EAGAIN;
		}
		usleep(1000);
	}
	return 0;
}
