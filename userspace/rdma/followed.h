/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a running follow tells others: a file for each device, made anew once a second,
 * gone at the end.
 *
 *	FOLLOWED_DIR/BACK END:DEVICE	{"version": 1, "updated_us": CLOCK_MONOTONIC, ...}
 *
 * After kill -9 the file stays: one that has not been made anew for FOLLOWED_STALE_US is nobody's.
 */
#ifndef MLCC_FOLLOWED_H
#define MLCC_FOLLOWED_H

#define FOLLOWED_DIR		"/run/mlcc/follow"
#define FOLLOWED_VERSION	1
#define FOLLOWED_EVERY_US	1000000
#define FOLLOWED_STALE_US	5000000
#define FOLLOWED_MAX		4096	/* bytes of a file */

#endif /* MLCC_FOLLOWED_H */
