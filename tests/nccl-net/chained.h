/* SPDX-License-Identifier: GPL-2.0 */
/* A network plugin that plays one: it notes its calls, and its sends are done when a test says. */
#ifndef TEST_CHAINED_H
#define TEST_CHAINED_H

#include <stdbool.h>
#include <stddef.h>

#define CHAINED_SENDS	64

struct chained {
	int version;		/* by which it was last called: init */
	void *last[8];		/* arguments of the last call, as far as they are pointers */
	size_t last_size;
	int last_dev;
	int sends;		/* all that there were */
	int closed;
	int fails;		/* what isend returns */
	bool full;		/* isend has no room */
	bool offloads;		/* connect gives a device handle */
	bool done[CHAINED_SENDS];	/* by the number of the send */
};

#endif /* TEST_CHAINED_H */
