// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Hints in shared memory.  The other side may write anything there at any time, and to the eventfd,
 * too:
 *
 * - the memfd is sealed against shrinking, of the right size and of ordinary pages, so that no
 *   access can fault;
 * - who looks at a page that is not there, or writes to it, is charged for it for as long as somebody
 *   has the memfd.  So of the memfd only the head is mapped, whose page is there, and is sealed so
 *   that nobody can take it out; records are read by pread(), which does not fill holes;
 * - a record is copied out, then looked at; slots are remembered, not read again;
 * - the eventfd is never read (whoever takes its count first would leave the reader waiting), the
 *   edge of a write is enough;
 * - at most BATCH records are taken at once, and no more in a second than the user's tokens.
 *
 * A host may have many ranks of a job, each with a ring.  The job's phase begins with the first of
 * them, has the bytes of all of them, and ends with the last.  A rank that begins once more within
 * it begins the next one: so one that hangs, or never says that a phase is over, stops nobody.
 *
 * One of them waits for the slots of a plan, and the others for it in the collective: the first that
 * has asked for the plan, or who begins phases where that one begins none.  Only its ring shows the
 * plan, so that no process has to agree with others by a name that anybody could take.
 *
 * The clock of the other side may be that of another time namespace, as each restored checkpoint
 * has one. So a record's age is told from the ring's own records: the one that came soonest after
 * its time is taken to have no age, and the others are as old as they are later than that.
 *
 * Rings are read one after the other, whatever the times in them.  A short phase of one rank may
 * be over in its ring before that of another is looked at, in which it has begun.  So a phase ends
 * when no ring has anything to say, and not before.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../common/clock.h"
#include "ring.h"

#define BATCH		256
#define LATE_NS		1000000000ULL
#define PAUSE_US	10000
#define SAY_US		10000000	/* between one line of what is dropped and the next */
#define LEAD_STARTS	3	/* phases of another one, with none of whom leads, and it leads */

struct ring {
	struct rings *all;
	struct ring *next;
	sd_event_source *wake;		/* the eventfd */
	sd_event_source *resume;	/* there may be more, or the user has to wait */
	struct who who;
	struct account *account;
	struct mlcc_ring *map;		/* the head */
	int memfd;
	uint32_t slots;
	uint32_t job;			/* whose time-shift it shows; 0: none */
	uint64_t shift_seq;		/* what we wrote last: the other side may write over it */
	uint64_t tail;
	bool timed;			/* a record with a time has come, */
	int64_t ahead_ns;		/* and our clock is ahead of its by so much at most */

	/* of the job that it announced last */
	uint32_t hinted;		/* its id */
	uint64_t phase;			/* of the job, that it has begun or joined; 0: none */
	uint64_t bytes;			/* of its own part; 0: not told */
	bool active;			/* its part is not over */
	struct job_parts last;		/* all of that phase, once it is no more the job's last */
	bool said;			/* that hints are dropped */
};

_Static_assert(sizeof(struct mlcc_ring_record) == 64, "part of the protocol");
_Static_assert(sizeof(struct mlcc_ring) == 192, "part of the protocol");

static bool slots_ok(uint32_t n)
{
	return n >= MLCC_RING_SLOTS_MIN && n <= MLCC_RING_SLOTS_MAX && !(n & (n - 1));
}

static bool is_eventfd(int fd)
{
	char path[64], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target) - 1) > 0 &&
	       !strcmp(target, "anon_inode:[eventfd]");
}

static int check_fds(const int fds[RING_FDS], off_t *size, struct err *e)
{
	int seals = fcntl(fds[0], F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (seals < 0)
		return fail(e, -EINVAL, "the first descriptor is no memfd");
	if (~seals & (F_SEAL_SHRINK | F_SEAL_GROW))
		return fail(e, -EINVAL, "the memfd lacks the seals F_SEAL_SHRINK and F_SEAL_GROW");
	if (seals & (F_SEAL_SEAL | F_SEAL_FUTURE_WRITE))
		return fail(e, -EINVAL, "the memfd has been an mlccd's, or has the seal F_SEAL_SEAL: a new one is wanted");
	if (fstat(fds[0], &st) || fstatfs(fds[0], &fs))
		return fail(e, -errno, "memfd: %s", strerror(errno));
	/* a huge page may be lacking when it is first looked at */
	if (fs.f_type != TMPFS_MAGIC)
		return fail(e, -EINVAL, "the memfd is not of ordinary pages");
	if (st.st_size < (off_t)MLCC_RING_SIZE(MLCC_RING_SLOTS_MIN) ||
	    st.st_size > (off_t)MLCC_RING_SIZE(MLCC_RING_SLOTS_MAX))
		return fail(e, -EINVAL, "the memfd has %lld bytes: %zu to %zu are allowed",
			    (long long)st.st_size, MLCC_RING_SIZE((size_t)MLCC_RING_SLOTS_MIN),
			    MLCC_RING_SIZE((size_t)MLCC_RING_SLOTS_MAX));
	if (!is_eventfd(fds[1]))
		return fail(e, -EINVAL, "the second descriptor is no eventfd");
	*size = st.st_size;
	return 0;
}

static int check_head(struct ring *r, off_t total, struct err *e)
{
	volatile struct mlcc_ring *m = r->map;
	uint32_t magic = m->magic, version = m->version, slots = m->slots, size = m->record_size;

	if (magic != MLCC_RING_MAGIC)
		return fail(e, -EINVAL, "ring: magic %#x, %#x is wanted", magic, MLCC_RING_MAGIC);
	if (version != MLCC_RING_VERSION)
		return fail(e, -EPROTONOSUPPORT, "ring: version %u, only %u is known", version,
			    MLCC_RING_VERSION);
	if (size != sizeof(struct mlcc_ring_record))
		return fail(e, -EINVAL, "ring: records of %u bytes, 64 are wanted", size);
	if (!slots_ok(slots) || (off_t)MLCC_RING_SIZE((size_t)slots) != total)
		return fail(e, -EINVAL, "ring: %u slots: a power of two is wanted that fits the memfd",
			    slots);
	r->slots = slots;
	r->tail = __atomic_load_n(&r->map->tail, __ATOMIC_RELAXED);
	/* a ring of an earlier mlccd goes on counting */
	r->shift_seq = __atomic_load_n(&r->map->shift_seq, __ATOMIC_RELAXED) & ~1ULL;
	return 0;
}

/* Whether the last phase of the job that it announced is the job's last one. */
static bool takes_part(const struct ring *r, const struct job *job)
{
	return r->phase && r->phase == job->parts.phase;
}

/*
 * A part of the last phase is told anew, or its process has gone: it is none.  @job: NULL: as the
 * job.
 */
static void part_leave(const struct ring *r, struct job *job)
{
	if (!job || !takes_part(r, job))
		return;
	job->parts.active -= r->active;
	job->parts.unknown -= !r->bytes;
	job->parts.bytes -= r->bytes;
}

static void part_join(struct ring *r, struct job *job, uint64_t bytes)
{
	r->hinted = job->conf.id;
	r->phase = job->parts.phase;
	r->bytes = bytes;
	r->active = true;
	job->parts.active++;
	job->parts.unknown += !bytes;
	job->parts.bytes += bytes;
}

/*
 * What all parts have of the phase that @r begins with @bytes, by those of the last one that @r took
 * part in, as two models may take turns; of a new one, by those of the job's last.  0: not known.  Whose own part was another, by more than a quarter, begins a phase of another kind: the
 * passes of a sharded model alternate.  Then all parts are taken to have changed as much.
 */
static uint64_t ring_phase_bytes(const struct ring *r, const struct job *job, uint64_t bytes)
{
	bool past = r->hinted == job->conf.id && r->last.phase == r->phase;
	const struct job_parts *last = past ? &r->last : &job->parts;
	bool back = r->phase && r->phase == last->phase;
	uint64_t before = back ? r->bytes : 0;
	double all = last->bytes;

	if (!bytes || last->unknown > (back && !before))
		return 0;
	if (before && (bytes > before + before / 4 || bytes < before - before / 4))
		all = all / before * bytes;
	else
		all += (double)bytes - before;
	return all > MLCC_PHASE_BYTES_LIMIT ? 0 : all;
}

/* The phase that was the job's last is so no more. */
static void keep_last(const struct rings *all, const struct job *job)
{
	for (struct ring *r = all->first; r; r = r->next)
		if (takes_part(r, job))
			r->last = job->parts;
}

static void part_start(struct ring *r, struct job *job, uint64_t bytes)
{
	bool begins = takes_part(r, job) || (!job->parts.active && !job->parts.ending);
	uint64_t all = ring_phase_bytes(r, job, bytes);
	struct err none;

	if (begins)
		keep_last(r->all, job);
	part_leave(r, r->all->jobs->by_id[r->hinted]);
	if (begins) {
		carrier_phase_start(r->all->jobs->carrier, job->conf.id, all, &none);
		job->parts = (struct job_parts){ .phase = ++r->all->phases };
	}
	part_join(r, job, bytes);
}

/* Its last part may have ended. */
static void look_for_end(struct rings *all, struct job *job)
{
	if (job->parts.active || job->parts.ending || all->ending_count == JOB_IDS)
		return;
	job->parts.ending = true;
	all->ending[all->ending_count++] = job->conf.id;
	sd_event_source_set_enabled(all->end, SD_EVENT_ONESHOT);
}

/* When all rings have been read. */
static int phases_end(sd_event_source *s, void *arg)
{
	struct rings *all = arg;
	struct err none;

	while (all->ending_count) {
		struct job *job = all->jobs->by_id[all->ending[--all->ending_count]];

		if (!job || !job->parts.ending)
			continue;
		job->parts.ending = false;
		if (job->parts.active || carrier_need(all->jobs->carrier, &none))
			continue;
		carrier_phase_end(all->jobs->carrier, job->conf.id, &none);
	}
	return 0;
}

/* Once, with the first ring. */
static int watch_ends(struct rings *all)
{
	int err;

	if (all->end)
		return 0;
	err = sd_event_add_defer(all->events, &all->end, phases_end, all);
	if (err >= 0)
		err = sd_event_source_set_priority(all->end, SD_EVENT_PRIORITY_IDLE);
	if (err >= 0)
		err = sd_event_source_set_enabled(all->end, SD_EVENT_OFF);
	return err;
}

static void part_end(struct ring *r, struct job *job)
{
	if (r->active && takes_part(r, job))
		job->parts.active--;
	if (r->hinted == job->conf.id)
		r->active = false;
	look_for_end(r->all, job);
}

/* The reader takes what it finds between two equal even numbers. */
static void shift_write(struct ring *r, const struct job_plan *p)
{
	struct mlcc_ring *m = r->map;

	__atomic_store_n(&m->shift_seq, ++r->shift_seq, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&m->shift_period_ns, p->period_us * 1000ULL, __ATOMIC_RELAXED);
	__atomic_store_n(&m->shift_offset_ns, p->offset_us * 1000ULL, __ATOMIC_RELAXED);
	__atomic_store_n(&m->shift_lead_ns, p->lead_us * 1000ULL, __ATOMIC_RELAXED);
	__atomic_store_n(&m->shift_seq, ++r->shift_seq, __ATOMIC_RELEASE);
}

/* An id may be another user's by now. */
static void shift_show(struct ring *r)
{
	static const struct job_plan none;
	struct job *job = r->all->jobs->by_id[r->job];
	bool leads = job && job->lead.ring == r && jobs_may_hint(&r->who, job);

	if (r->job)
		shift_write(r, leads ? &job->plan : &none);
}

static void lead(struct job *job, struct ring *r)
{
	struct ring *before = job->lead.ring;

	job->lead = (struct job_lead){ .ring = r };
	if (before)
		shift_show(before);
	if (r)
		shift_show(r);
}

/* The one that has been there for longest. */
static struct ring *lead_next(struct rings *all, const struct job *job)
{
	struct ring *oldest = NULL;

	for (struct ring *r = all->first; r; r = r->next)
		if (r->job == job->conf.id && jobs_may_hint(&r->who, job))
			oldest = r;
	return oldest;
}

void rings_publish(void *rings, uint32_t id)
{
	struct rings *all = rings;
	struct job *job = all->jobs->by_id[id];

	/* rings may have been there before the job, and have a right to it no more */
	if (job && (!job->lead.ring || !jobs_may_hint(&job->lead.ring->who, job)))
		job->lead = (struct job_lead){ .ring = lead_next(all, job) };
	for (struct ring *r = all->first; r; r = r->next)
		if (r->job == id)
			shift_show(r);
}

/* @r has begun a phase. */
static void lead_follow(struct ring *r, struct job *job)
{
	struct job_lead *l = &job->lead;

	if (r->job != job->conf.id || l->ring == r) {
		l->next = l->ring == r ? NULL : l->next;
		return;
	}
	if (!l->next)
		*l = (struct job_lead){ l->ring, r, 0 };
	if (l->next == r && ++l->starts >= LEAD_STARTS)
		lead(job, r);
}

/* @r, which is in the list no more, has led, or would have. */
static void lead_leave(struct ring *r)
{
	struct job *job = r->all->jobs->by_id[r->job];

	if (job && job->lead.next == r)
		job->lead.next = NULL;
	if (!job || job->lead.ring != r)
		return;
	job->lead.ring = NULL;
	lead(job, lead_next(r->all, job));
}

bool rings_said(const struct rings *all, uint32_t job, struct mlcc_ring_said *said)
{
	struct job *j = all->jobs->by_id[job];
	const struct ring *r = j->lead.ring;

	if (!r || !jobs_may_hint(&r->who, j))
		return false;
	memcpy(said, &r->map->shift_said, sizeof(*said));
	return true;
}

/* How late a record comes, against the one that came soonest.  A time of 0 is none. */
static uint64_t age_ns(struct ring *r, uint64_t time_ns, uint64_t now_ns)
{
	int64_t ahead = now_ns - time_ns;

	if (!time_ns || time_ns > INT64_MAX)
		return 0;
	if (!r->timed || ahead < r->ahead_ns)
		r->ahead_ns = ahead;
	r->timed = true;
	return (uint64_t)ahead - r->ahead_ns;
}

/* Whose hints do nothing hears it once from each ring, and no log is filled by that. */
static void say_dropped(struct ring *r, const char *why)
{
	struct rings *all = r->all;
	uint64_t now = now_us();

	if (r->said || (all->said_us && now < all->said_us + SAY_US))
		return;
	r->said = true;
	all->said_us = now;
	note(5, "hints of process %d of user %u are dropped: %s", r->who.pid, r->who.uid, why);
}

/* One record, our own copy. */
static void ring_take(struct ring *r, const struct mlcc_ring_record *rec, uint64_t seq)
{
	struct rings *all = r->all;
	static const typeof(rec->zero) zero;
	uint64_t age = age_ns(r, rec->time_ns, now_us() * 1000);
	struct job *job = NULL;
	struct err none;

	all->records++;
	if (rec->job < JOB_IDS)
		job = all->jobs->by_id[rec->job];
	if (rec->version != MLCC_RING_VERSION || rec->seq != seq || !job ||
	    !jobs_may_hint(&r->who, job) || memcmp(rec->zero, zero, sizeof(zero)) ||
	    (rec->type != MLCC_RING_PHASE_START && rec->type != MLCC_RING_PHASE_END) ||
	    rec->bytes > MLCC_PHASE_BYTES_LIMIT ||
	    (rec->type == MLCC_RING_PHASE_END && rec->bytes) || rec->time_ns > INT64_MAX) {
		all->bad++;
		say_dropped(r, job ? "a record is not valid" : "there is no such job");
		return;
	}
	if (age > LATE_NS) {
		all->late++;
		say_dropped(r, "one came more than a second later than others");
		return;
	}
	if (carrier_need(all->jobs->carrier, &none))
		return;
	if (rec->type == MLCC_RING_PHASE_START) {
		part_start(r, job, rec->bytes);
		lead_follow(r, job);
	} else {
		part_end(r, job);
	}
}

/* The record @number; what is not there is nothing. */
static void record_read(const struct ring *r, uint64_t number, struct mlcc_ring_record *copy)
{
	off_t at = MLCC_RING_SIZE(number & (r->slots - 1));

	if (pread(r->memfd, copy, sizeof(*copy), at) != sizeof(*copy))
		*copy = (struct mlcc_ring_record){ };
}

/* Takes what is there, to BATCH; true: there may be more. */
static bool drain(struct ring *r, uint64_t now)
{
	struct rings *all = r->all;
	uint64_t head = __atomic_load_n(&r->map->head, __ATOMIC_ACQUIRE);
	const struct config *c = all->jobs->config;
	struct mlcc_ring_record copy;
	unsigned int n;

	if (head - r->tail > r->slots) {
		/* no producer that keeps to the rules gets here */
		all->overruns++;
		r->tail = head;
	}
	/* of those that waited the last one has waited least */
	if (r->tail != head) {
		record_read(r, head - 1, &copy);
		age_ns(r, copy.time_ns, now * 1000);
	}
	for (n = 0; n < BATCH && r->tail != head; n++) {
		if (!r->who.admin && !bucket_take(&r->account->hints, c->hints_per_second,
						  c->hints_burst, now, 1)) {
			all->limited++;
			break;
		}
		record_read(r, r->tail, &copy);
		ring_take(r, &copy, r->tail);
		r->tail++;
	}
	__atomic_store_n(&r->map->tail, r->tail, __ATOMIC_RELEASE);
	return r->tail != head;
}

static void resume_in(struct ring *r, uint64_t us)
{
	sd_event_source_set_time(r->resume, now_us() + us);
	sd_event_source_set_enabled(r->resume, SD_EVENT_ONESHOT);
}

static void ring_serve(struct ring *r)
{
	const struct config *c = r->all->jobs->config;
	uint64_t now = now_us();

	/* a wake-up costs as much as a record: a write to the eventfd with none behind it, too */
	if (!r->who.admin &&
	    !bucket_take(&r->account->hints, c->hints_per_second, c->hints_burst, now, 1)) {
		sd_event_source_set_enabled(r->wake, SD_EVENT_OFF);
		resume_in(r, PAUSE_US);
	} else if (drain(r, now)) {
		resume_in(r, r->who.admin ? 0 : PAUSE_US / 10);
	}
}

static int woken(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	ring_serve(arg);
	return 0;
}

static int resumed(sd_event_source *s, uint64_t at, void *arg)
{
	struct ring *r = arg;

	sd_event_source_set_enabled(r->wake, SD_EVENT_ON);
	ring_serve(r);
	return 0;
}

/* Numbers of the other side's, which may be any. */
void rings_ranks(const struct rings *all, const struct job *job, struct ranks *ranks)
{
	*ranks = (struct ranks){ };
	for (struct ring *r = all->first; r; r = r->next) {
		uint64_t sent, start;

		if (r->hinted != job->conf.id || !jobs_may_hint(&r->who, job))
			continue;
		sent = __atomic_load_n(&r->map->sent_bytes, __ATOMIC_RELAXED);
		start = __atomic_load_n(&r->map->start_bytes, __ATOMIC_RELAXED);
		ranks->count++;
		ranks->sent_bytes += sent;
		if (r->active && takes_part(r, job) && sent > start)
			ranks->phase_bytes += sent - start;
	}
}

int ring_check(const int fds[RING_FDS], struct err *e)
{
	off_t size;

	return check_fds(fds, &size, e);
}

/* What is mapped may be written to still, by both sides; no page can be taken out. */
static int ring_seal(int fd, struct err *e)
{
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		return fail(e, -errno, "cannot seal the memfd: %s", strerror(errno));
	if (!lseek(fd, 0, SEEK_HOLE))
		return fail(e, -EINVAL, "the memfd has no head: nothing has been written there");
	return 0;
}

static int ring_map(struct ring *r, const int fds[RING_FDS], struct err *e)
{
	off_t total;
	int err;

	err = check_fds(fds, &total, e);
	if (err)
		return err;
	r->map = mmap(NULL, sizeof(*r->map), PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	if (r->map == MAP_FAILED)
		return fail(e, -errno, "cannot map the memfd: %s", strerror(errno));
	err = ring_seal(fds[0], e);
	err = err ? err : check_head(r, total, e);
	r->memfd = err ? -1 : fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	if (!err && r->memfd < 0)
		err = fail(e, -errno, "memfd: %s", strerror(errno));
	if (err)
		munmap(r->map, sizeof(*r->map));
	return err;
}

/* The first look is at once: there may be records already. */
static int ring_watch(struct ring *r, int eventfd, struct err *e)
{
	sd_event *events = r->all->events;
	int fd, err;

	fd = fcntl(eventfd, F_DUPFD_CLOEXEC, 0);
	err = fd < 0 ? -errno : sd_event_add_io(events, &r->wake, fd, EPOLLIN | EPOLLET, woken, r);
	if (err >= 0)
		sd_event_source_set_io_fd_own(r->wake, true);
	else if (fd >= 0)
		close(fd);
	if (err >= 0)
		err = sd_event_add_time(events, &r->resume, CLOCK_MONOTONIC, 0, 1, resumed, r);
	if (err >= 0)
		err = watch_ends(r->all);
	return err < 0 ? fail(e, err, "eventfd: %s", strerror(-err)) : 0;
}

static void ring_unmap(struct ring *r)
{
	sd_event_source_unref(r->wake);
	sd_event_source_unref(r->resume);
	munmap(r->map, sizeof(*r->map));
	close(r->memfd);
	free(r);
}

int ring_open(struct rings *all, const struct who *who, struct account *account,
	      const int fds[RING_FDS], uint32_t job, struct ring **ring, struct err *e)
{
	struct ring *r;
	int err;

	if (!who->admin && account->rings >= all->jobs->config->rings_per_user)
		return fail(e, -EDQUOT, "user %u has %u rings, which is the limit", who->uid,
			    account->rings);
	r = calloc(1, sizeof(*r));
	if (!r)
		return fail(e, -ENOMEM, "no memory");
	r->all = all;
	r->who = *who;
	r->account = account;
	r->job = job;
	err = ring_map(r, fds, e);
	if (err) {
		free(r);
		return err;
	}
	err = ring_watch(r, fds[1], e);
	if (err) {
		ring_unmap(r);
		return err;
	}
	account->rings++;
	r->next = all->first;
	all->first = r;
	if (job && !all->jobs->by_id[job]->lead.ring)
		lead(all->jobs->by_id[job], r);
	else
		shift_show(r);
	*ring = r;
	return 0;
}

void ring_close(struct ring *r)
{
	struct ring **p = &r->all->first;

	struct job *job = r->all->jobs->by_id[r->hinted];

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
	lead_leave(r);
	part_leave(r, job);
	/* a rank that was killed in its part */
	if (r->active && job && takes_part(r, job))
		look_for_end(r->all, job);
	r->account->rings--;
	ring_unmap(r);
}
