// SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later
/*
 * The tagger (bpf/tagger.bpf.c): loads and pins it, writes its map of jobs, and has sockets follow.
 *
 * All state is in the pins.  The link is pinned last and taken away first, so it says whether the
 * tagger is there.  Changes are made under the lock of the pin directory, which a process that dies
 * lets go.  They are counted: a walk over the sockets of all namespaces, which takes its time, is
 * made without the lock, and after it as many are followed as there were before it.  Whoever opens
 * the tagger, and finds more, walks.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../common/cgroup2.h"
#include "libmlcc.h"
#include "netns.h"
#include "pins.h"
#include "registered.h"
#include "skip.h"
#include "../../bpf/tagger_bpf.h"
#include "../../include/mlcc/uapi/mlcc_netlink.h"
#include <tagger.skel.h>

#define ROOT_CGROUP	1	/* id of the root of the hierarchy */
#define DSCP_MAX	63

struct mlcc_tagger {
	int settings, jobs, counts, sockets, sync;
	int lock, dir;		/* while it is locked: the pin directory, the tagger's part of it */
	struct mlcc_tagger_config cfg;
	char error[MLCC_ERROR_LEN];
};

static const char *const pins[] = {
	"link", "sockops", "sync", "settings", "jobs", "counts", "sockets", NULL
};

static __thread char open_error[MLCC_ERROR_LEN] = "no error";

const char *mlcc_tagger_error(const struct mlcc_tagger *t)
{
	return t ? t->error : open_error;
}

/* Closes *@fd, unless it is closed. */
static void tagger_fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void unlock(struct mlcc_tagger *t)
{
	tagger_fd_close(&t->dir);
	tagger_fd_close(&t->lock);
}

/* @make: the directories, if they are missing; otherwise -ENODEV: the tagger is not loaded. */
static int lock(struct mlcc_tagger *t, bool make)
{
	int err = 0;

	t->lock = mlcc_pins_lock(make, t->error);
	if (t->lock >= 0)
		t->dir = mlcc_pins_part(t->lock, "tagger", make, t->error);
	if (t->lock < 0 || t->dir < 0)
		err = t->lock < 0 ? t->lock : t->dir;
	else if (!make && faccessat(t->dir, "link", F_OK, 0))
		err = -ENOENT;
	if (!err)
		return 0;
	if (make && t->lock >= 0)
		mlcc_pins_drop();
	unlock(t);
	if (!make && (err == -ENOENT || err == -ENODEV))
		return mlcc_fail(t->error, -ENODEV, "the tagger is not loaded");
	return err;
}

/*** What the kernel is told ***/

static int config_write(struct mlcc_tagger *t)
{
	unsigned int zero = 0;

	if (!bpf_map_update_elem(t->settings, &zero, &t->cfg, BPF_ANY))
		return 0;
	return mlcc_fail(t->error, -errno, "cannot write the tagger's settings: %s",
			 strerror(errno));
}

/* Runs the iterator over the sockets of the namespace that the thread is in. */
static int sync_here(void *arg)
{
	struct mlcc_tagger *t = arg;
	AUTO_CLOSE int link = bpf_link_create(t->sync, 0, BPF_TRACE_ITER, NULL);
	AUTO_CLOSE int fd = link < 0 ? link : bpf_iter_create(link);
	char buf[64];
	ssize_t n;

	if (fd < 0)
		return fd;
	while ((n = read(fd, buf, sizeof(buf))))
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
	return 0;
}

/* @cgroup: path of the only one whose sockets are to follow; NULL: all. */
static int sync_sockets(struct mlcc_tagger *t, const char *cgroup)
{
	int err = mlcc_netns_each(cgroup, sync_here, t);

	return err ? mlcc_fail(t->error, err, "cannot walk the sockets: %s", strerror(-err)) : 0;
}

/* With a carrier the first connection may ask for ECN, too. */
static void carrier_look(struct mlcc_tagger *t)
{
	t->cfg.carrier = mlcc_registered("mlcc");
}

/* A change that all sockets have to follow. */
static int change_count(struct mlcc_tagger *t)
{
	t->cfg.changes++;
	carrier_look(t);
	return config_write(t);
}

/*** Opening and loading ***/

static int tagger_pin_open(struct mlcc_tagger *t, const char *name, int *fd)
{
	*fd = mlcc_pins_get(t->dir, name);
	if (*fd >= 0)
		return 0;
	return mlcc_fail(t->error, -errno, "the tagger's pin '%s': %s", name, strerror(errno));
}

static int tagger_pin_put(struct mlcc_tagger *t, const char *name, int fd)
{
	char path[MLCC_PINS_PATH];

	if (!bpf_obj_pin(fd, mlcc_pins_path(path, t->dir, name)))
		return 0;
	return mlcc_fail(t->error, -errno, "cannot pin the tagger's '%s': %s", name,
			 strerror(errno));
}

static int tagger_config_read(struct mlcc_tagger *t)
{
	int err = mlcc_settings_read(t->settings, &t->cfg, sizeof(t->cfg));

	if (err && err != -EPROTO)
		return mlcc_fail(t->error, err, "the tagger's settings: %s", strerror(-err));
	if (err || t->cfg.layout != MLCC_TAGGER_LAYOUT)
		return mlcc_fail(t->error, -EPROTO,
				 "another release has loaded the tagger: unload it with that");
	return 0;
}

static int tagger_pins_open(struct mlcc_tagger *t)
{
	int err = tagger_pin_open(t, "settings", &t->settings);

	err = err ? err : tagger_config_read(t);
	err = err ? err : tagger_pin_open(t, "jobs", &t->jobs);
	err = err ? err : tagger_pin_open(t, "counts", &t->counts);
	err = err ? err : tagger_pin_open(t, "sockets", &t->sockets);
	return err ? err : tagger_pin_open(t, "sync", &t->sync);
}

static int pins_remove(struct mlcc_tagger *t)
{
	int err = mlcc_pins_remove(t->dir, pins, t->error);

	unlinkat(t->lock, "tagger", AT_REMOVEDIR);
	mlcc_pins_drop();
	return err;
}

/* Where the whole cgroup v2 hierarchy is mounted; in a container that is all it may see of it. */
static int root_open(struct mlcc_tagger *t)
{
	AUTO_FCLOSE FILE *f = fopen("/proc/self/mountinfo", "re");
	char root[PATH_MAX], where[PATH_MAX];
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	int fd = -1;

	while (f && fd < 0 && getline(&line, &room, f) > 0)
		/* another file system may cover it */
		if (strstr(line, " - cgroup2 ") &&
		    sscanf(line, "%*s %*s %*s %4095s %4095s", root, where) == 2 &&
		    !strcmp(root, "/") && is_cgroup2(where))
			fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : mlcc_fail(t->error, -ENODEV, "no cgroup v2 hierarchy is mounted");
}

/* In the place of a link that is pinned. */
static int root_attach(struct mlcc_tagger *t, int prog)
{
	AUTO_CLOSE int root = root_open(t), link = -1;

	if (root < 0)
		return root;
	link = bpf_link_create(prog, root, BPF_CGROUP_SOCK_OPS, NULL);
	if (link == -EPERM)
		return mlcc_fail(t->error, link,
				 "not permitted, or another program has the root cgroup alone");
	if (link < 0)
		return mlcc_fail(t->error, link, "cannot attach to the root cgroup: %s",
				 strerror(-link));
	if (unlinkat(t->dir, "link", 0) && errno != ENOENT)
		return mlcc_fail(t->error, -errno, "cannot remove the pin 'link': %s",
				 strerror(errno));
	return tagger_pin_put(t, "link", link);
}

static int skeleton_pin(struct mlcc_tagger *t, struct tagger_bpf *skel)
{
	const struct { const char *name; int fd; } objects[] = {
		{ "sockops", bpf_program__fd(skel->progs.mlcc_sockops) },
		{ "sync", bpf_program__fd(skel->progs.mlcc_sync) },
		{ "settings", bpf_map__fd(skel->maps.settings) },
		{ "jobs", bpf_map__fd(skel->maps.jobs) },
		{ "counts", bpf_map__fd(skel->maps.counts) },
		{ "sockets", bpf_map__fd(skel->maps.sockets) },
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(objects) / sizeof(*objects); i++)
		err = tagger_pin_put(t, objects[i].name, objects[i].fd);
	return err;
}

/*
 * Whether sockets can keep what they had before.  Newer kernels allocate that without locks, which
 * they cannot on a processor without a compare-and-exchange of two words (cmpxchg16b on x86).
 */
static int storage_probe(struct mlcc_tagger *t)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct mlcc_tagged none = { };

	if (fd < 0)
		return mlcc_fail(t->error, -errno, "no socket: %s", strerror(errno));
	if (!bpf_map_update_elem(t->sockets, &fd, &none, BPF_NOEXIST))
		return 0;
	return mlcc_fail(t->error, -EOPNOTSUPP,
			 "the kernel cannot keep socket storage on this processor: %s",
			 strerror(errno));
}

static int skeleton_start(struct mlcc_tagger *t, struct tagger_bpf *skel)
{
	unsigned int zero = 0;
	int err = 0;

	if (bpf_map_update_elem(bpf_map__fd(skel->maps.settings), &zero, &t->cfg, BPF_ANY))
		err = mlcc_fail(t->error, -errno, "cannot write the tagger's settings: %s",
				strerror(errno));
	err = err ? err : skeleton_pin(t, skel);
	err = err ? err : tagger_pins_open(t);
	err = err ? err : storage_probe(t);
	return err ? err : root_attach(t, bpf_program__fd(skel->progs.mlcc_sockops));
}

/* What a process that died has left without a link is none; it goes first. */
static int tagger_load(struct mlcc_tagger *t, uint32_t mask)
{
	libbpf_print_fn_t before = libbpf_set_print(mlcc_libbpf_print);
	int err = mlcc_pins_remove(t->dir, pins, t->error);
	struct tagger_bpf *skel = NULL;

	t->cfg.layout = MLCC_TAGGER_LAYOUT;
	t->cfg.mark_mask = mask;
	t->cfg.mark_shift = __builtin_ctz(mask);
	if (!err)
		skel = tagger_bpf__open();
	if (skel)
		mlcc_sockets_share(t->lock, skel->maps.sockets);
	if (skel && tagger_bpf__load(skel)) {
		tagger_bpf__destroy(skel);
		skel = NULL;
	}
	if (skel)
		err = skeleton_start(t, skel);
	else if (!err)
		err = mlcc_fail(t->error, -errno,
				"the kernel refused the tagger: %s (MLCC_DEBUG=1 shows why)%s",
				strerror(errno),
				access("/sys/kernel/btf/vmlinux", R_OK) ? "; it has no BTF" : "");
	tagger_bpf__destroy(skel);
	libbpf_set_print(before);
	return err;
}

/* The mask that the BPF carrier goes by, if it is loaded. */
static uint32_t mask_default(struct mlcc_tagger *t)
{
	AUTO_CLOSE int fd = mlcc_pins_get(t->lock, "settings");
	struct mlcc_config cfg;

	return !mlcc_settings_read(fd, &cfg, sizeof(cfg)) && cfg.layout == MLCC_LAYOUT ?
	       cfg.mark_mask : MLCC_MARK_MASK;
}

/* Under the lock. */
static int tagger_open(struct mlcc_tagger *t, uint32_t mask)
{
	char why[sizeof(t->error)];
	int err;

	if (faccessat(t->dir, "link", F_OK, 0)) {
		err = tagger_load(t, mask ? mask : mask_default(t));
		if (!err)
			return 0;
		strcpy(why, t->error);
		pins_remove(t);
		return mlcc_fail(t->error, err, "%s", why);
	}
	err = tagger_pins_open(t);
	if (!err && mask && mask != t->cfg.mark_mask)
		err = mlcc_fail(t->error, -EEXIST, "the tagger is loaded with the mark mask %#x",
				t->cfg.mark_mask);
	return err;
}

/* Takes over what another process may have changed. */
static int tagger_lock(struct mlcc_tagger *t)
{
	int err = lock(t, false);

	if (err)
		return err;
	err = tagger_config_read(t);
	if (err)
		unlock(t);
	return err;
}

/* Has all sockets follow what is counted; without the lock. */
static int tagger_sync(struct mlcc_tagger *t)
{
	uint32_t changes = t->cfg.changes;
	int err = changes != t->cfg.synced ? sync_sockets(t, NULL) : 0;

	if (err || changes == t->cfg.synced)
		return err;
	err = tagger_lock(t);
	if (err)
		return err;
	/* another walk may have begun later, and be over */
	if ((int32_t)(changes - t->cfg.synced) > 0) {
		t->cfg.synced = changes;
		err = config_write(t);
	}
	unlock(t);
	return err;
}

static int tagger_find(struct mlcc_tagger *t, uint32_t mask, bool load)
{
	uint32_t low = mask & -mask;
	int err;

	if (mask && (mask + low) & mask)
		return mlcc_fail(t->error, -EINVAL, "mark mask %#x: bits side by side are wanted",
				 mask);
	err = lock(t, load);
	if (err)
		return err;
	err = tagger_open(t, mask);
	carrier_look(t);
	if (!err)
		err = config_write(t);
	unlock(t);
	return err;
}

void mlcc_tagger_close(struct mlcc_tagger *t)
{
	if (!t)
		return;
	tagger_fd_close(&t->settings);
	tagger_fd_close(&t->jobs);
	tagger_fd_close(&t->counts);
	tagger_fd_close(&t->sockets);
	tagger_fd_close(&t->sync);
	free(t);
}

int mlcc_tagger_open_only(struct mlcc_tagger **tp, uint32_t mark_mask, bool load)
{
	struct mlcc_tagger *t = calloc(1, sizeof(*t));
	int err;

	*tp = NULL;
	if (!t) {
		strcpy(open_error, "no memory");
		return -ENOMEM;
	}
	*t = (struct mlcc_tagger){
		.settings = -1, .jobs = -1, .counts = -1, .sockets = -1, .sync = -1, .lock = -1,
		.dir = -1, .error = "no error",
	};
	err = tagger_find(t, mark_mask, load);
	if (!err) {
		*tp = t;
		return 0;
	}
	strcpy(open_error, t->error);
	mlcc_tagger_close(t);
	return err;
}

int mlcc_tagger_open(struct mlcc_tagger **tp, uint32_t mark_mask, bool load)
{
	int err = mlcc_tagger_open_only(tp, mark_mask, load);

	err = err ? err : tagger_sync(*tp);
	if (!err || !*tp)
		return err;
	strcpy(open_error, (*tp)->error);
	mlcc_tagger_close(*tp);
	*tp = NULL;
	return err;
}

/* A link that somebody has detached stays where it is pinned, and has no cgroup any more. */
static int is_attached(struct mlcc_tagger *t)
{
	struct bpf_link_info info = { };
	__u32 len = sizeof(info);
	AUTO_CLOSE int fd = -1;
	int err = tagger_pin_open(t, "link", &fd);

	if (!err && bpf_obj_get_info_by_fd(fd, &info, &len))
		err = mlcc_fail(t->error, -errno, "the tagger's link: %s", strerror(errno));
	return err ? err : !!info.cgroup.cgroup_id;
}

static int attach_again(struct mlcc_tagger *t)
{
	AUTO_CLOSE int prog = -1;
	int err = tagger_pin_open(t, "sockops", &prog);

	if (!err)
		err = root_attach(t, prog);
	/* what has connected meanwhile has no tag */
	return err ? err : change_count(t);
}

int mlcc_tagger_mend(struct mlcc_tagger *t)
{
	int err = tagger_lock(t), attached;

	if (err)
		return err;
	attached = is_attached(t);
	err = attached < 0 ? attached : 0;
	if (!attached)
		err = attach_again(t);
	unlock(t);
	return err ? err : !attached;
}

/*** Tags ***/

static int conf_check(struct mlcc_tagger *t, const struct mlcc_tag_conf *conf)
{
	uint32_t max = t->cfg.mark_mask >> t->cfg.mark_shift;

	if (max > 65535)
		max = 65535;
	if (!conf->job || conf->job > max)
		return mlcc_fail(t->error, -EINVAL, "job id %u: from 1 to %u", conf->job, max);
	if (conf->priority_classes > MLCC_CLASSES_MAX)
		return mlcc_fail(t->error, -EINVAL, "%u priority classes: from 0 to %d",
				 conf->priority_classes, MLCC_CLASSES_MAX);
	for (uint32_t i = 0; i < conf->priority_classes; i++)
		if (conf->dscp[i] > DSCP_MAX)
			return mlcc_fail(t->error, -EINVAL, "DSCP %u: at most %d", conf->dscp[i],
					 DSCP_MAX);
	return 0;
}

static int cgroup_id_of(struct mlcc_tagger *t, const char *path, uint64_t *id)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0 || fstatfs(fd, &fs) || fstat(fd, &st))
		return mlcc_fail(t->error, -errno, "%.200s: %s", path, strerror(errno));
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return mlcc_fail(t->error, -EINVAL, "%.200s: is no cgroup of the v2 hierarchy",
				 path);
	if (st.st_ino == ROOT_CGROUP)
		return mlcc_fail(t->error, -EINVAL,
				 "%.200s: is the root; a cgroup below it is wanted", path);
	*id = st.st_ino;
	return 0;
}

static int tag_put(struct mlcc_tagger *t, const char *path, uint64_t id,
		   const struct mlcc_tag *tag, bool had)
{
	struct mlcc_tag_count none = { };
	int err;

	bpf_map_update_elem(t->counts, &id, &none, BPF_NOEXIST);
	if (!bpf_map_update_elem(t->jobs, &id, tag, BPF_ANY))
		return 0;
	err = errno == E2BIG ? -ENOSPC : -errno;
	if (!had)
		bpf_map_delete_elem(t->counts, &id);
	return mlcc_fail(t->error, err, "cannot tag %.200s: %s", path ? path : "others",
			 strerror(-err));
}

/* @change: which the sockets are to follow; as it was, where all have that tag. */
static int tag_write(struct mlcc_tagger *t, const char *path, uint64_t id,
		     const struct mlcc_tag *tag, uint32_t *change)
{
	struct mlcc_tag_count count = { };
	struct mlcc_tag old;
	bool had = !bpf_map_lookup_elem(t->jobs, &id, &old);
	int err;

	bpf_map_lookup_elem(t->counts, &id, &count);
	if (had && !count.refused && !memcmp(&old, tag, sizeof(old)))
		return 0;
	err = change_count(t);
	if (!err)
		err = tag_put(t, path, id, tag, had);
	if (!err)
		*change = t->cfg.changes;
	return err;
}

int mlcc_tag_set_only(struct mlcc_tagger *t, const char *path, const struct mlcc_tag_conf *conf,
		      uint32_t *change)
{
	struct mlcc_tag tag = { .job = conf->job, .classes = conf->priority_classes };
	int err = tagger_lock(t);
	uint64_t id = MLCC_TAG_OTHER;

	*change = 0;
	if (err)
		return err;
	err = conf_check(t, conf);
	if (!err)
		err = mlcc_skip_parse(&tag.skip, conf->skip, t->error);
	if (!err && path)
		err = cgroup_id_of(t, path, &id);
	memcpy(tag.dscp, conf->dscp, sizeof(tag.dscp));
	if (!err)
		err = tag_write(t, path, id, &tag, change);
	unlock(t);
	return err;
}

/* The sockets of @path have followed; with what is counted before, and is not that, all have to. */
static int change_followed(struct mlcc_tagger *t, uint32_t change)
{
	int err = tagger_lock(t);

	if (err)
		return err;
	if (t->cfg.synced + 1 == change) {
		t->cfg.synced = change;
		err = config_write(t);
	}
	unlock(t);
	return err;
}

int mlcc_tag_follow(const char *path, uint32_t change)
{
	struct mlcc_tagger *t;
	int err = mlcc_tagger_open_only(&t, 0, false);

	if (err)
		return err;
	if (t->cfg.synced + 1 == change)
		err = sync_sockets(t, path);
	if (!err)
		err = change_followed(t, change);
	if (!err && (int32_t)(change - t->cfg.synced) > 0)
		err = tagger_sync(t);
	mlcc_tagger_close(t);
	return err;
}

int mlcc_tag_set(struct mlcc_tagger *t, const char *path, const struct mlcc_tag_conf *conf)
{
	uint32_t change;
	int err = mlcc_tag_set_only(t, path, conf, &change);

	if (err)
		return err;
	/* that tag was there: its sockets may not have followed */
	if (!change)
		return tagger_sync(t);
	err = mlcc_tag_follow(path, change);
	return err ? mlcc_fail(t->error, err, "its sockets do not follow: %s", strerror(-err)) : 0;
}

static int tag_delete(struct mlcc_tagger *t, uint64_t id)
{
	int err = change_count(t);

	if (err)
		return err;
	if (bpf_map_delete_elem(t->jobs, &id))
		err = mlcc_fail(t->error, -errno, "cgroup %llu: %s", (unsigned long long)id,
				errno == ENOENT ? "has no tag" : strerror(errno));
	bpf_map_delete_elem(t->counts, &id);
	return err;
}

int mlcc_tag_forget(struct mlcc_tagger *t, uint64_t cgroup_id, uint32_t job)
{
	int err = tagger_lock(t);
	struct mlcc_tag tag;

	if (err)
		return err;
	if (bpf_map_lookup_elem(t->jobs, &cgroup_id, &tag) || (job && tag.job != job))
		err = mlcc_fail(t->error, -ENOENT, "cgroup %llu has no tag",
				(unsigned long long)cgroup_id);
	else
		err = tag_delete(t, cgroup_id);
	unlock(t);
	return err;
}

int mlcc_tag_del(struct mlcc_tagger *t, uint64_t cgroup_id)
{
	int err = mlcc_tag_forget(t, cgroup_id, 0);

	return err ? err : tagger_sync(t);
}

int mlcc_tagger_follow(void)
{
	struct mlcc_tagger *t;
	int err = mlcc_tagger_open(&t, 0, false);

	mlcc_tagger_close(t);
	return err;
}

/* All keys at once: a walk during which tags go begins again and again. */
static int tag_keys(struct mlcc_tagger *t, uint64_t **keys, size_t *count)
{
	uint64_t *prev = NULL;

	*count = 0;
	*keys = calloc(MLCC_TAGS, sizeof(**keys));
	if (!*keys)
		return mlcc_fail(t->error, -ENOMEM, "no memory");
	while (*count < MLCC_TAGS && !bpf_map_get_next_key(t->jobs, prev, *keys + *count)) {
		prev = *keys + *count;
		++*count;
	}
	return 0;
}

int mlcc_tag_get(struct mlcc_tagger *t, uint64_t id, struct mlcc_tag_info *info)
{
	struct mlcc_tag_count n = { };
	struct mlcc_tag tag;

	if (bpf_map_lookup_elem(t->jobs, &id, &tag))
		return -ENOENT;
	bpf_map_lookup_elem(t->counts, &id, &n);
	memset(info, 0, sizeof(*info));
	info->conf.job = tag.job;
	info->conf.priority_classes = tag.classes;
	memcpy(info->conf.dscp, tag.dscp, sizeof(tag.dscp));
	info->cgroup_id = id;
	info->tagged = n.tagged;
	info->refused = n.refused;
	return 0;
}

int mlcc_tag_each(struct mlcc_tagger *t, int (*each)(const struct mlcc_tag_info *info, void *arg),
		  void *arg)
{
	struct mlcc_tag_info info;
	uint64_t *keys;
	size_t count;
	int ret = tag_keys(t, &keys, &count);

	for (size_t i = 0; !ret && i < count; i++)
		if (!mlcc_tag_get(t, keys[i], &info))
			ret = each(&info, arg);
	free(keys);
	return ret;
}

int mlcc_tagger_unload(struct mlcc_tagger *t)
{
	int err = tagger_lock(t);
	uint64_t *keys;
	size_t count;

	if (err)
		return err;
	err = tag_keys(t, &keys, &count);
	for (size_t i = 0; !err && i < count; i++)
		err = tag_delete(t, keys[i]);
	free(keys);
	if (!err)
		err = sync_sockets(t, NULL);
	if (!err)
		err = pins_remove(t);
	unlock(t);
	return err;
}
