/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two processes: one that everybody speaks to, without rights, and one that has them, the keeper.
 *
 *	users --- JSON, rings ---> mlccd, as user mlcc ---- keep_ask ---> keeper, as root
 *	                           no capability, a      <--- keep_told --  carrier, tagger
 *	                           filter (filter.c)
 *
 * mlccd decides who may do what, and keeps the jobs' files.  The keeper does what the kernel lets
 * nobody else do (enum keep), and knows nothing of users.
 *
 * They speak by a pair of SOCK_SEQPACKET sockets: a question has the size that its operation has,
 * then comes the answer, then the next question. Names and numbers only: nothing that a peer has
 * written goes on as it came, no path but a cgroup's, resolved below the mount, and of two folders
 * those with names that a table has. The keeper checks all of it again (keeper.c): whoever has
 * taken over mlccd may set, tag and announce jobs as mlccd may, and read what is above, and
 * nothing else. It receives no descriptors, and gives only such as may be read.
 *
 * Under systemd each is a unit's: mlccd connects to a socket that only root and its group may
 * connect to, and that starts a keeper, which serves the first to come, and ends with him. Nobody
 * connects a second time: connect(2) is filtered.
 *
 * Elsewhere the keeper is the parent, and forks before either has a thread, with the sockets open
 * and the folder of the jobs' files handed over. It passes SIGHUP, SIGTERM and SIGINT on as bytes,
 * as it may lack the right to signal another user.
 *
 * If mlccd ends, the keeper finishes the walks and ends, as a parent with the same status; if the
 * keeper ends, so does mlccd, as it can do nothing without. Whoever starts them starts both anew,
 * which loses nothing: jobs are in files, carrier and tagger in the kernel.
 */
#ifndef MLCCD_KEEP_H
#define MLCCD_KEEP_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/err.h"
#include "../common/sysroot.h"
#include "../libmlcc/libmlcc.h"

#define KEEP_LIST	32	/* of a list, in one answer */
#define KEEP_PROFILES	16	/* likewise, and there are no more */

enum keep {
	/* opens, or loads, what the other operations are about */
	KEEP_OPEN,
	KEEP_TAGGER,
	KEEP_REFRESH,
	/* libmlcc's functions of that name */
	KEEP_JOB_SET,		/* job, number: 1: it fails if there is one */
	KEEP_JOB_DEL,		/* id */
	KEEP_JOB_GET,		/* id, number: 1: its orphans, too */
	KEEP_PROGRESS,		/* ids, number: so many */
	KEEP_JOBS,		/* number: how many are known already; 0 looks anew */
	KEEP_PHASE_START,	/* id, number: bytes */
	KEEP_PHASE_END,		/* id */
	KEEP_PROFILE_GET,	/* name */
	KEEP_PROFILE_SET,	/* profile */
	KEEP_PROFILES_ALL,
	/* tags of cgroups; which sockets follow in a thread (kept.h) */
	KEEP_TAG,		/* tag, number: which cgroup has to be at its path */
	KEEP_UNTAG,		/* number: the cgroup, id: only a tag of that job */
	KEEP_UNLOAD,		/* the tagger */
	/* of a process, by its id */
	KEEP_ADMIN,		/* whether it is an administrator (account.h) */
	KEEP_PROCESS,		/* what says in which cgroup it is, where /proc hides it */
	KEEP_MOUNTS,		/* what it has mounted; no descriptor: its cgroup namespace is ours */
	KEEP_PIDS,		/* -EINVAL: its numbers of processes are not ours */

	KEEP_CGROUP,		/* path: of one in a folder that only its owner may enter */
	KEEP_PLACE,		/* number: the id of a cgroup, whose path that is */
	KEEP_FILE,		/* path: soft-RoCE's tables and what mlcc-dcqcn follow tells */
	KEEP_RULE,		/* name: of the device, number: the cgroup, id: the job, or 0 */
	KEEP_CONFIG,		/* the configuration file, to read it again */
	KEEP_MARK,		/* id: -EADDRINUSE if a policy rule is about its mark */
	KEEP_OPS
};

struct keep_ask {
	uint32_t op;			/* enum keep */
	uint32_t id;
	uint64_t number;
	union {				/* to this one's end it is sent */
		char nothing[0];
		char name[NAME_LEN];
		char path[PATH_MAX];
		struct mlcc_job_conf job;
		uint32_t ids[KEEP_LIST];
		struct mlcc_profile_conf profile;
		struct {
			struct mlcc_tag_conf conf;
			char path[PATH_MAX];
		} tag;
	};
};

struct keep_told {
	int32_t err;			/* 0, or a negative error number and why */
	uint32_t carrier;		/* enum mlcc_carrier that is open now; 0: none */
	uint32_t tagger;		/* it is open */
	uint32_t count;			/* of what is in this answer; 0 where it is an error */
	int32_t orphans;		/* JOB_GET, also where that fails; -1: not to be seen */
	char why[ERR_LEN];
	union {
		struct mlcc_job_info jobs[KEEP_LIST];
		struct mlcc_job_progress progress[KEEP_LIST];
		struct mlcc_profile_conf profiles[KEEP_PROFILES];
		struct cgroup_look {
			uint64_t id;
			uint32_t uid, procs_uid;	/* of the folder, and of its cgroup.procs */
		} cgroup[1];
		char path[1][PATH_MAX];
	};
};

/* What a question of this operation has; 0: there is no such operation. */
size_t keep_ask_size(uint32_t op);
/* What an answer to it has. */
size_t keep_told_size(uint32_t op, const struct keep_told *t);

/*** mlccd's side ***/

struct kept;

/* keeper_answer() */
typedef void keep_answer(struct kept *k, const struct keep_ask *a, size_t size,
			 struct keep_told *t, int *fd);

/* Who answers: a keeper at the other end of @fd, or @answer of @here, in this process. */
void keep_by(int fd, keep_answer *answer, struct kept *here);

/*
 * Asks.  The answer is there until the next question; @fd, NULL: none is wanted, gets a descriptor
 * if one comes with it, or -1.  If the keeper has gone, this does not return.
 */
const struct keep_told *keep_ask(const struct keep_ask *a, int *fd);

#endif /* MLCCD_KEEP_H */
