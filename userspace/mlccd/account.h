/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who a peer is, and how much of the daemon they may use.
 *
 * Rates are token buckets, one pair for each user, not for each connection: a new connection brings
 * no new tokens.
 */
#ifndef MLCCD_ACCOUNT_H
#define MLCCD_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct config;

/* @admin: root with CAP_NET_ADMIN in the daemon's user namespace, to whom no limit applies. */
struct who {
	int fd;			/* the connection, which knows the groups */
	int pidfd;		/* of the process, who_free(); -1: it has ended */
	int cgroup;		/* cgroup_watch_pid() */
	uid_t uid;
	pid_t pid;
	bool admin;
};

struct bucket {
	uint64_t tokens;	/* millionths of one */
	uint64_t at_us;
};

struct account {
	struct account *next;
	uid_t uid;
	unsigned int connections, rings;
	unsigned int fetches;	/* of descriptors, whose process has not ended (porter.h) */
	struct bucket requests, hints;
};

struct accounts {
	struct account *first;
};

/* The credentials of the process that connected. */
int who_of(int fd, struct who *who);
void who_free(struct who *who);

/* Whether the process is still there; if not, its number may be another's. */
bool who_lives(const struct who *who);

/* Whether the process that connected was in the group then. */
bool who_is_in(const struct who *who, gid_t gid);

/* The user's account, made if there is none; NULL: no memory. */
struct account *account_get(struct accounts *all, uid_t uid, const struct config *c,
			    uint64_t now_us);
/* Forgets accounts that are not in use and owe nothing. */
void accounts_prune(struct accounts *all, const struct config *c, uint64_t now_us);

/* Takes a token if there is one. */
bool bucket_take(struct bucket *b, uint32_t per_second, uint32_t burst, uint64_t now_us);

#endif /* MLCCD_ACCOUNT_H */
