/* SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later */
/*
 * libmlcc: jobs, hints and profiles of whichever carrier is loaded, the module (generic netlink) or
 * the BPF carrier (pinned maps).
 *
 * All functions return 0, or a negative error number; mlcc_error() then says in one line what was
 * wrong and what is allowed, netlink's extack text included.  What is refused has changed nothing.
 * A handle is for one thread at a time.  Times are microseconds, fractions are Q16 (65536 is one).
 */
#ifndef LIBMLCC_H
#define LIBMLCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MLCC_NAME_LEN		64	/* with the final NUL */
/* of names of jobs and profiles */
#define MLCC_NAME_CHARS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+-"
#define MLCC_PHASE_BYTES_LIMIT	((1ULL << 48) - 1)
#define MLCC_ERROR_LEN		256	/* of a line on what was wrong */
#define MLCC_SKIP_LEN		256	/* of mlcc_tag_conf.skip */

struct mlcc;

enum mlcc_carrier {
	MLCC_CARRIER_ANY,	/* the module if it is loaded, else BPF */
	MLCC_CARRIER_MODULE,
	MLCC_CARRIER_BPF,
};

/*
 * How long what the calling thread calls waits for somebody who changes the carrier or the tagger,
 * and may be stopped while he does: -EAGAIN after that.  Without this 5 s where a job is changed, and
 * for ever where carrier or tagger are.
 */
void mlcc_patience(unsigned int ms);

/* What userspace says of a job. */
struct mlcc_job_conf {
	uint32_t id;			/* 1 .. 65535 */
	char name[MLCC_NAME_LEN];	/* of MLCC_NAME_CHARS; "" for none */
	char profile[MLCC_NAME_LEN];	/* "": the default profile */
	uint64_t phase_bytes;		/* bytes this host sends in a phase; 0: learn */
	char job_class[16];		/* training (or ""), latency, background: these have no phases */
};

/* What the carrier knows of it. */
struct mlcc_job_info {
	struct mlcc_job_conf conf;
	uint32_t flows, phases;
	uint64_t d_sent, d_phase, d_learnt;	/* bytes; d_phase 0: neutral */
	uint32_t hits;				/* phases in a row that agreed; three are trusted */
	bool neutral;				/* no progress: the base algorithm */
	uint32_t progress, gain;		/* Q16 */
	uint32_t iteration_us, comm_us, best_us;
	uint64_t bytes, retrans, ce;
	bool hinted;				/* phases are announced */
	uint32_t timeouts;	/* phases in a row that waited in vain; the BPF carrier alone tells */
};

/* How far it is: the part that somebody may want a thousand times a second. */
struct mlcc_job_progress {
	bool neutral;
	uint32_t phases, progress;		/* progress: Q16 */
	uint64_t d_sent;
};

/* What the leader of a job of several hosts answers (include/mlcc/lead.h). */
struct mlcc_answer_conf {
	uint32_t id;
	uint32_t progress;			/* Q16; more than 65536: neutral */
	uint32_t best_us, gap_us, age_us;
};

struct mlcc_profile_conf {
	char name[MLCC_NAME_LEN];
	uint32_t floor, slope, hold;		/* Q16 */
	uint32_t shape;
	char base[16], restart[16];		/* reno, cubic; base, queue */
	bool is_default;
};

/* Opens the carrier.  -ENODEV: none is loaded. */
int mlcc_open(struct mlcc **m, enum mlcc_carrier wanted);
void mlcc_close(struct mlcc *m);
/* Whether it would be the same, opened again.  False: it may be another one, or gone. */
bool mlcc_is_current(const struct mlcc *m);
enum mlcc_carrier mlcc_carrier_of(const struct mlcc *m);
const char *mlcc_carrier_name(enum mlcc_carrier c);

/* What went wrong in the last call that failed; never NULL.  @m may be NULL after mlcc_open(). */
const char *mlcc_error(const struct mlcc *m);

/* Sets the job as a whole.  @create: -EEXIST if there is one of that id. */
int mlcc_job_set(struct mlcc *m, const struct mlcc_job_conf *conf, bool create);
int mlcc_job_del(struct mlcc *m, uint32_t id);			/* -ENOENT */
int mlcc_job_get(struct mlcc *m, uint32_t id, struct mlcc_job_info *info);	/* -ENOENT */

/*
 * Its progress only, without a system call where the carrier is memory.  A job without flows is
 * neutral, and there a carrier need not tell it from one that does not exist.
 */
int mlcc_job_progress(struct mlcc *m, uint32_t id, struct mlcc_job_progress *progress);

/* Calls @each for every job until it returns something else than 0, and returns that. */
int mlcc_job_each(struct mlcc *m, int (*each)(const struct mlcc_job_info *info, void *arg),
		  void *arg);

/* A phase of @bytes begins now (0: as many as the last one); it is over. */
int mlcc_phase_start(struct mlcc *m, uint32_t id, uint64_t bytes);
int mlcc_phase_end(struct mlcc *m, uint32_t id);

/*
 * What the job's leader has answered: its flows over RDMA go by that alone from now on.  -ENOENT;
 * -EOPNOTSUPP: the carrier has no such flows.
 */
int mlcc_job_hear(struct mlcc *m, const struct mlcc_answer_conf *answer);

int mlcc_profile_get(struct mlcc *m, const char *name, struct mlcc_profile_conf *conf);
int mlcc_profile_each(struct mlcc *m, int (*each)(const struct mlcc_profile_conf *conf, void *arg),
		      void *arg);
/* Changes the constants of a profile as a whole; with is_default, makes it the default, too. */
int mlcc_profile_set(struct mlcc *m, const struct mlcc_profile_conf *conf);

/*
 * Carriers that were unloaded under their flows, as they are now; the module is not unloaded before
 * its flows have ended. -EPERM: only root may look (CAP_SYS_ADMIN).
 */
struct mlcc_orphans;

int mlcc_orphans_open(struct mlcc_orphans **o);
void mlcc_orphans_close(struct mlcc_orphans *o);
/* How many of the job's flows have one: nothing that is set or announced now reaches them. */
uint32_t mlcc_orphans_of(const struct mlcc_orphans *o, uint32_t id);

/*
 * The tagger: which cgroups' sockets belong to which job (bpf/tagger.bpf.c).  It works with both
 * carriers, by the socket's mark.
 */
struct mlcc_tagger;

#define MLCC_CLASS_FIXED	1

struct mlcc_tag_conf {
	uint32_t job;			/* 1 .. 65535 */
	/*
	 * 0: leave DSCP alone; 2 .. 8: by progress; MLCC_CLASS_FIXED: dscp[0], whatever the
	 * progress
	 */
	uint32_t priority_classes;
	uint8_t dscp[8];		/* by class, lowest progress first */
	/*
	 * Connections that are not the job's: "lo" (peers on this host), ports, ranges of ports
	 * and addresses with or without "/LEN", with commas; "none" or "": nothing.
	 * mlcc_tag_get() does not tell it.
	 */
	char skip[MLCC_SKIP_LEN];
};

/* -EINVAL, -E2BIG: that is no such list, and @error says why. */
int mlcc_skip_check(const char *skip, char error[MLCC_ERROR_LEN]);

struct mlcc_tag_info {
	struct mlcc_tag_conf conf;
	uint64_t cgroup_id;
	uint64_t tagged, refused;	/* sockets, ever */
};

/* Opens the pinned tagger, or loads and pins it.  @mark_mask: bits of the mark that are the job. */
int mlcc_tagger_open(struct mlcc_tagger **t, uint32_t mark_mask, bool load);
/* The same, but sockets that should have followed earlier changes do not yet: mlcc_tagger_follow(). */
int mlcc_tagger_open_only(struct mlcc_tagger **t, uint32_t mark_mask, bool load);
void mlcc_tagger_close(struct mlcc_tagger *t);
const char *mlcc_tagger_error(const struct mlcc_tagger *t);
/*
 * Attaches it again if somebody has detached it: 1, and sockets that have connected meanwhile follow
 * with mlcc_tagger_follow().  0: it is attached.
 */
int mlcc_tagger_mend(struct mlcc_tagger *t);

/*
 * Tags what is in the cgroup at @path and below it, from now on and the sockets there are.  These
 * are not looked at where all have just that tag.
 */
int mlcc_tag_set(struct mlcc_tagger *t, const char *path, const struct mlcc_tag_conf *conf);
/*
 * The same, but the sockets there are follow with mlcc_tag_follow(@path, @change), from any thread,
 * or when somebody opens the tagger.  @change 0: there are none.  @path NULL: MLCC_TAG_OTHER, and
 * @conf's skip names its connections; these follow with mlcc_tagger_follow().
 */
int mlcc_tag_set_only(struct mlcc_tagger *t, const char *path, const struct mlcc_tag_conf *conf,
		      uint32_t *change);
int mlcc_tag_follow(const char *path, uint32_t change);
/* Takes the tags off, gives sockets back what they had.  By id: the path may be gone. */
int mlcc_tag_del(struct mlcc_tagger *t, uint64_t cgroup_id);
/*
 * The same, but sockets that there are follow with mlcc_tagger_follow(), from any thread, or when
 * somebody opens the tagger: that walks all network namespaces, once for all that were forgotten.
 * @job: only a tag of that job; 0: of any.
 */
int mlcc_tag_forget(struct mlcc_tagger *t, uint64_t cgroup_id, uint32_t job);
int mlcc_tagger_follow(void);
/* -ENOENT: the cgroup has no tag. */
int mlcc_tag_get(struct mlcc_tagger *t, uint64_t cgroup_id, struct mlcc_tag_info *info);
int mlcc_tag_each(struct mlcc_tagger *t, int (*each)(const struct mlcc_tag_info *info, void *arg),
		  void *arg);
/* Takes everything away that mlcc_tagger_open() and mlcc_tag_set() have put into the kernel. */
int mlcc_tagger_unload(struct mlcc_tagger *t);

#ifdef __cplusplus
}
#endif

#endif /* LIBMLCC_H */
