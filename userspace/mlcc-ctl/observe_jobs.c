// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/cgroup2.h"
#include "../common/clock.h"
#include "ctl.h"
#include "observe.h"

#define DEPTH		32		/* of cgroups that are looked for */
#define IDLE_US		1000000		/* silent for so long: looked at less often */
#define IDLE_LOOKS	10

static const char *mount;		/* of the cgroup v2 hierarchy, "": none */
static struct {
	uint64_t id;
	struct observe_group *group;	/* NULL: it is left out */
} known[4 * OBSERVE_JOBS];
static unsigned int known_count;
static void *by_id;			/* of tsearch() */

/*** Which cgroup ***/

void observe_cgroups(struct observe *o)
{
	struct stat s;
	char *path;

	mount = is_cgroup2("/sys/fs/cgroup") ? "/sys/fs/cgroup" :
		is_cgroup2("/sys/fs/cgroup/unified") ? "/sys/fs/cgroup/unified" : "";
	if (!o->cgroup)
		return;
	if (!strncmp(o->cgroup, mount, strlen(mount)))
		o->cgroup += strlen(mount);
	o->cgroup += *o->cgroup == '/';
	if (asprintf(&path, "%s/%s", mount, o->cgroup) < 0 || !*mount || !*o->cgroup ||
	    stat(path, &s) || !S_ISDIR(s.st_mode))
		die(EXIT_USAGE, "--cgroup: '%s' is no cgroup of version 2 below %s", o->cgroup,
		    *mount ? mount : "/, where there are none");
	free(path);
	observe_group(o, o->cgroup)->given = true;
}

/*** Its network namespace ***/

static pid_t some_process;

static int find_process(const char *path, const struct stat *s, int type, struct FTW *at)
{
	AUTO_FCLOSE FILE *f = NULL;

	if (type == FTW_F && !strcmp(path + at->base, "cgroup.procs"))
		f = fopen(path, "re");
	if (f && fscanf(f, "%d", &some_process) != 1)
		some_process = 0;
	return some_process > 0;
}

void observe_enter(const char *cgroup)
{
	char path[64 + PATH_MAX];
	struct stat theirs, ours;
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", mount, cgroup);
	if (nftw(path, find_process, 16, FTW_PHYS) <= 0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", some_process);
	if (stat(path, &theirs) || stat("/proc/self/ns/net", &ours) || theirs.st_ino == ours.st_ino)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		warn("process %d of the cgroup is in another network namespace, which only root may enter",
		     some_process);
}

/*** Which cgroup a socket's is ***/

/* A directory's number is the cgroup's.  @path grows to where it is. */
static bool find_cgroup(uint64_t id, char *path, size_t size, int depth)
{
	AUTO_CLOSEDIR DIR *dir = depth < DEPTH ? opendir(path) : NULL;
	size_t len = strlen(path);
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
		    snprintf(path + len, size - len, "/%s", e->d_name) >= (int)(size - len))
			continue;
		found = e->d_ino == id || find_cgroup(id, path, size, depth + 1);
	}
	if (!found)
		path[len] = '\0';
	return found;
}

void observe_cut(char *path)
{
	for (char *at = path, *end; at && (end = strchr(at + 1, '/')); at = end) {
		const char *pod = strstr(at, "pod");

		while (pod && pod < end && (!strchr("-/", pod[-1]) || pod[3] == 's'))
			pod = strstr(pod + 1, "pod");
		if (!strncmp(at, "/step_", 6) || (pod && pod < end)) {
			*end = '\0';
			return;
		}
	}
}

/* One whose connections are gone, longest silent, with all that was known of it. */
static struct observe_group *reuse_group(struct observe *o)
{
	unsigned int old = o->count;

	for (unsigned int i = 0; i < o->count; i++)
		if (!o->groups[i]->job.flows &&
		    (old == o->count || o->groups[i]->active_us < o->groups[old]->active_us))
			old = i;
	if (old == o->count)
		return NULL;
	for (unsigned int i = 0; i < OBSERVE_JOBS; i++) {
		o->overlap[i][old].us = 0;
		o->overlap[old][i].us = 0;
	}
	known_count = 0;	/* which may name it */
	free(o->groups[old]->spans);
	memset(o->groups[old], 0, sizeof(*o->groups[old]));
	return o->groups[old];
}

static struct observe_group *new_group(struct observe *o)
{
	static bool warned;
	struct observe_group *g = o->count < OBSERVE_JOBS ? calloc(1, sizeof(*g)) : reuse_group(o);

	if (g && o->count < OBSERVE_JOBS)
		o->groups[o->count++] = g;
	if (!g && !warned)
		warn("%d cgroups have connections: more are not looked at", OBSERVE_JOBS);
	warned |= !g;
	return g;
}

void observe_clean(char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s >= 0x7f || strchr("\"\\<>&", *s))
			*s = '?';
}

struct observe_group *observe_group(struct observe *o, const char *path)
{
	char clean[sizeof(o->groups[0]->path)];
	struct observe_group *g;

	snprintf(clean, sizeof(clean), "%s", path);
	observe_clean(clean);
	for (unsigned int i = 0; i < o->count; i++)
		if (!strcmp(o->groups[i]->path, clean))
			return o->groups[i];
	g = new_group(o);
	if (!g)
		return NULL;
	strcpy(g->path, clean);
	g->name = g->path + strlen(clean);
	for (int slashes = 0; g->name > g->path && (slashes += g->name[-1] == '/') < 2;)
		g->name--;
	return g;
}

/* The group that was named for the cgroup at @path, or one above it. */
static struct observe_group *given_group(const struct observe *o, const char *path)
{
	for (unsigned int i = 0; i < o->count; i++) {
		size_t len = strlen(o->groups[i]->path);

		if (o->groups[i]->given && !strncmp(path, o->groups[i]->path, len) &&
		    strchr("/", path[len]))
			return o->groups[i];
	}
	return NULL;
}

/* Without a cgroup, those of an account are one job. */
static struct observe_group *resolve(struct observe *o, uint64_t id, uint32_t uid)
{
	char path[1024], *name = path;
	struct observe_group *g;
	size_t len = strlen(mount);

	snprintf(path, sizeof(path), "%s", mount);
	if (!id) {
		snprintf(path, sizeof(path), "uid-%u", uid);
	} else if (*mount && find_cgroup(id, path, sizeof(path), 0)) {
		name += len + 1;
		observe_clean(name);
		g = given_group(o, name);
		if (g)
			return g;
		observe_cut(path + len);
	} else {
		snprintf(path, sizeof(path), id == 1 ? "root" : "cgroup-%llu", (unsigned long long)id);
	}
	return o->cgroup && !o->others ? NULL : observe_group(o, name);
}

static struct observe_group *group_by_id(struct observe *o, uint64_t id, uint32_t uid)
{
	uint64_t key = id ? id : ~(uint64_t)uid;
	struct observe_group *g;

	for (unsigned int i = 0; i < known_count; i++)
		if (known[i].id == key)
			return known[i].group;
	g = resolve(o, id, uid);
	if (known_count == sizeof(known) / sizeof(*known))
		known_count = 0;	/* of most the cgroups are gone */
	known[known_count].id = key;
	known[known_count++].group = g;
	return g;
}

/*** Which sockets ***/

static struct in6_addr to_mapped(uint8_t family, const __be32 *address)
{
	struct in6_addr a = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	memcpy(family == AF_INET6 ? a.s6_addr : a.s6_addr + 12, address, family == AF_INET6 ? 16 : 4);
	return a;
}

/* As the tagger has it: 127.0.0.0/8, ::1, our own address. */
static bool is_own(const struct in6_addr *peer, const struct in6_addr *own)
{
	return !memcmp(peer, own, 16) || IN6_IS_ADDR_LOOPBACK(peer) ||
	       (IN6_IS_ADDR_V4MAPPED(peer) && peer->s6_addr[12] == 127);
}

static bool is_named(const struct mlcc_skip *s, const struct inet_diag_sockid *id,
		     const struct in6_addr *peer)
{
	uint16_t own = ntohs(id->idiag_sport), other = ntohs(id->idiag_dport);
	bool named = false;

	for (unsigned int i = 0; i < s->ports; i++)
		named |= (own >= s->first[i] && own <= s->last[i]) ||
			 (other >= s->first[i] && other <= s->last[i]);
	for (unsigned int i = 0; i < s->addresses; i++) {
		uint32_t differs = 0;

		for (int k = 0; k < 4; k++)
			differs |= (peer->s6_addr32[k] & s->mask[i][k]) ^ s->address[i][k];
		named |= !differs;
	}
	return named;
}

static int compare(const void *a, const void *b)
{
	const struct observe_socket *x = a, *y = b;

	return memcmp(&x->id, &y->id, sizeof(x->id));
}

struct observe_socket *observe_known(struct observe *o, const struct inet_diag_sockid *id)
{
	struct observe_socket key = { .id = *id }, **at = tfind(&key, &by_id, compare);

	if (at)
		(*at)->search = o->search;
	return at ? *at : NULL;
}

bool observe_left_out(const struct observe *o, uint8_t family, const struct inet_diag_sockid *id)
{
	struct in6_addr peer = to_mapped(family, id->idiag_dst);
	struct in6_addr own = to_mapped(family, id->idiag_src);

	return o->skip.own && is_own(&peer, &own);
}

struct observe_socket *observe_add(struct observe *o, struct observe_group *g, uint8_t family,
				   const struct inet_diag_sockid *id)
{
	struct in6_addr peer = to_mapped(family, id->idiag_dst);
	struct observe_socket *s = calloc(1, sizeof(*s));

	if (!s)
		die(EXIT_FAILED, "no memory");
	s->id = *id;
	s->family = family;
	s->search = o->search;
	s->flow.storage = is_named(&o->skip, id, &peer);
	s->flow.next = g->job.flows;
	g->job.flows = &s->flow;
	if (!tsearch(s, &by_id, compare))
		die(EXIT_FAILED, "no memory");
	return s;
}

void observe_found(struct observe *o, const struct inet_diag_msg *m, uint64_t cgroup)
{
	struct observe_group *g;

	if (observe_known(o, &m->id) || observe_left_out(o, m->idiag_family, &m->id))
		return;
	g = group_by_id(o, cgroup, m->idiag_uid);
	if (g)
		observe_add(o, g, m->idiag_family, &m->id)->device =
			observe_device(m->idiag_family, &m->id);
}

void observe_drop(struct observe *o, unsigned int age)
{
	for (unsigned int i = 0; i < o->count; i++) {
		struct observe_flow **at = &o->groups[i]->job.flows;

		while (*at) {
			struct observe_socket *s = (struct observe_socket *)*at;

			if (o->search - s->search <= age && !s->gone) {
				at = &s->flow.next;
				continue;
			}
			*at = s->flow.next;
			tdelete(s, &by_id, compare);
			free(s);
		}
	}
}

void observe_refresh(struct observe *o)
{
	o->search++;
	observe_search(o);
	observe_drop(o, 0);
	observe_allowances(o);
}

/*** Looks ***/

/* Many in one call, whichever jobs they are of; NULL: those that are left. */
static void ask_soon(struct observe_socket *s)
{
	static struct observe_socket *batch[OBSERVE_BATCH];
	static unsigned int n;

	if (s)
		batch[n++] = s;
	if (n == OBSERVE_BATCH || (n && !s)) {
		observe_ask(batch, n);
		n = 0;
	}
}

static uint64_t devices_of(const struct observe_job *j)
{
	uint64_t devices = 0;

	for (const struct observe_flow *f = j->flows; f; f = f->next)
		if (!f->storage && (f->now.tcpi_unacked ||
				    f->now.tcpi_bytes_acked != f->last.tcpi_bytes_acked))
			devices |= ((const struct observe_socket *)f)->device;
	return devices;
}

/* Both have sent since the last look, through the same device. */
static void look_overlap(struct observe *o, unsigned int a, unsigned int b)
{
	struct observe_job *x = &o->groups[a]->job, *y = &o->groups[b]->job;
	uint64_t from = x->from_us > y->from_us ? x->from_us : y->from_us;
	uint64_t to = x->to_us < y->to_us ? x->to_us : y->to_us;
	uint64_t devices = o->groups[a]->devices & o->groups[b]->devices;

	if (to <= from || !devices)
		return;
	o->overlap[a][b].us += to - from;
	o->overlap[a][b].devices = devices;
	x->phase.shared_us += to - from;
	y->phase.shared_us += to - from;
}

static bool has_fresh(const struct observe_job *j)
{
	const struct observe_flow *f = j->flows;

	while (f && !f->fresh)
		f = f->next;
	return f;
}

void observe_looked(struct observe *o, uint64_t now)
{
	unsigned int sent[OBSERVE_JOBS], n = 0;

	o->now_us = now;
	o->begin_us = o->begin_us ? o->begin_us : now;
	for (unsigned int i = 0; i < o->count; i++) {
		struct observe_group *g = o->groups[i];

		if (!has_fresh(&g->job))
			continue;
		g->devices = devices_of(&g->job);
		observe_look(&g->job, now);
		if (o->plot)
			observe_span(g);
		if (!g->job.to_us)
			continue;
		g->active_us = now;
		sent[n++] = i;
	}
	for (unsigned int a = 0; a < n; a++)
		for (unsigned int b = a + 1; b < n; b++)
			look_overlap(o, sent[a], sent[b]);
	o->looks++;
}

void observe_all(struct observe *o)
{
	uint64_t now = now_us();

	for (unsigned int i = 0; i < o->count; i++) {
		struct observe_group *g = o->groups[i];

		if (!g->job.flows || (now - g->active_us > IDLE_US && (o->looks + i) % IDLE_LOOKS))
			continue;
		for (struct observe_flow *f = g->job.flows; f; f = f->next)
			ask_soon((struct observe_socket *)f);
	}
	ask_soon(NULL);
	now = now_us();
	if (o->record)
		observe_write(o, now);
	observe_looked(o, now);
}
