/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who a peer is, and how much of the daemon they may use.
 *
 * Rates are token buckets, one pair for each account, not for each connection: a new connection
 * brings no new tokens.  An account is a user's, with all subordinate ids that he has
 * (/etc/subuid); but the processes in the cgroup of a job that somebody else has set for them have
 * one of their own, as in pods all may be root.
 *
 * What all share is a pool.  A part of it is root's; of the rest an account may have as much as it
 * leaves to all others, besides its own limit: so many accounts take ever less each, and there is
 * something left for the next one.
 */
#ifndef MLCCD_ACCOUNT_H
#define MLCCD_ACCOUNT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroups;
struct config;

/* Which namespace, as the kernel tells one from another. */
struct ns {
	dev_t dev;
	ino_t ino;
};

/* The network that the daemon is about, and whose CAP_NET_ADMIN is one over it. */
struct home {
	struct ns net, owner, cgroups, pids;
};

/*
 * @admin: root with CAP_NET_ADMIN in the user namespace that owns the daemon's network namespace,
 * and in that network namespace.  No limit applies to them.
 */
struct who {
	int fd;			/* the connection, which knows the groups */
	int pidfd;		/* of the process, who_free(); -1: it has ended */
	int cgroup;		/* cgroup_watch_pid(): who_cgroup() */
	const struct cgroups *cgroups;	/* where that is; NULL: nowhere */
	uid_t uid;
	pid_t pid;
	bool admin;
};

struct bucket {
	uint64_t tokens;	/* millionths of one */
	uint64_t at_us;
};

#define ACCOUNT_ADMIN	UINT64_MAX	/* which is no cgroup's */

struct account {
	struct account *next;
	uid_t uid;			/* account_uid() */
	uint64_t cgroup;		/* jobs_foreign(), or ACCOUNT_ADMIN */
	unsigned int connections, rings;
	unsigned int kept;	/* replies that nobody has taken yet */
	uint64_t looks_us;	/* until then what it names is not looked for */
	unsigned int fetches;	/* of descriptors, that have not ended (away.h) */
	struct bucket requests, hints;
};

struct accounts {
	struct account *first;
};

struct pool {
	uint64_t size, kept;		/* all of it; as much is root's */
	uint64_t used;			/* of all others */
};

/* Whether who has @have may have @more. */
static inline bool pool_has(const struct pool *p, uint64_t have, uint64_t more)
{
	uint64_t taken = p->kept + p->used;

	return taken < p->size && have + more <= p->size - taken;
}

/* Looks where the daemon is.  -errno: nobody is an administrator then. */
int home_find(struct home *h);

/* Whether the process is an administrator, as far as that is its own. */
bool home_has_admin(const struct home *h, pid_t pid);

/* Whether paths of cgroups mean the same to the process and to us. */
bool home_has_cgroups(const struct home *h, pid_t pid);

/* Whether numbers of processes do. */
bool home_has_pids(const struct home *h, pid_t pid);

/* The process that connected; 0: it cannot be told. */
pid_t who_pid(int fd);

/* Its credentials. */
int who_of(int fd, struct who *who);
void who_free(struct who *who);

/* Whether the process is still there; if not, its number may be another's. */
bool who_lives(const struct who *who);

/* Its cgroup now, as cgroup_watched(); -EAGAIN: its user's have taken too long. */
int who_cgroup(const struct who *who, char path[PATH_MAX]);

/* Whether numbers of processes mean the same to it and to us. */
bool who_has_our_pids(const struct who *who);

/* Whether the process that connected was in the group then. */
bool who_is_in(const struct who *who, gid_t gid);

/* One number for all that are one user's: himself, or the range of subordinate ones. */
uid_t account_uid(uid_t uid);

/* The account, made if there is none; NULL: no memory. */
struct account *account_get(struct accounts *all, uid_t uid, uint64_t cgroup,
			    const struct config *c, uint64_t now_us);
/* Forgets accounts that are not in use and owe nothing. */
void accounts_prune(struct accounts *all, const struct config *c, uint64_t now_us);

/* Takes @tokens, but no more than the bucket holds, if they are there. */
bool bucket_take(struct bucket *b, uint32_t per_second, uint32_t burst, uint64_t now_us,
		 uint32_t tokens);

#endif /* MLCCD_ACCOUNT_H */
