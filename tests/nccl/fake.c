// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../unit/tap.h"
#include "fake.h"

#define PEERS	32
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS	83
#endif

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	struct fake_answers answers;
	struct sockaddr_un addr;
	int listener, stop[2];
	int peers[PEERS], count;
	char question[256], ring_request[256];
	/* under the lock */
	int rings, event;
	struct mlcc_ring *map;
	uint64_t tail;
	uint32_t slots;
} f = { .lock = PTHREAD_MUTEX_INITIALIZER, .event = -1 };

static void take_ring(const int fds[2])
{
	struct stat st;

	CHECK(!fstat(fds[0], &st), "the memfd");
	CHECK(~fcntl(fds[0], F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW) ? 0 : 1, "the seals");
	pthread_mutex_lock(&f.lock);
	f.map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	CHECK(f.map != MAP_FAILED, "the memfd cannot be mapped: it has been another mlccd's");
	CHECK(!fcntl(fds[0], F_ADD_SEALS, F_SEAL_FUTURE_WRITE), "the memfd cannot be sealed");
	CHECK(f.map->magic == MLCC_RING_MAGIC && f.map->version == MLCC_RING_VERSION, "the head");
	CHECK(f.map->record_size == 64, "records of %u", f.map->record_size);
	f.slots = f.map->slots;
	CHECK(st.st_size == (off_t)MLCC_RING_SIZE((size_t)f.slots), "%u slots", f.slots);
	f.tail = __atomic_load_n(&f.map->tail, __ATOMIC_RELAXED);
	f.event = fds[1];
	f.rings++;
	pthread_mutex_unlock(&f.lock);
}

static bool received_fds(struct msghdr *m, int fds[2])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
	return true;
}

static const char *answer(const char *request, struct msghdr *m)
{
	static const char job[] =
		"{\"ok\":true,\"jobs\":[{\"id\":7,\"name\":\"id\",\"uid\":0,\"cgroup\":\"a\"}]}";
	bool ring = strstr(request, "open-ring");
	int fds[2];

	pthread_mutex_lock(&f.lock);
	snprintf(ring ? f.ring_request : f.question, sizeof(f.question), "%.255s", request);
	pthread_mutex_unlock(&f.lock);
	if (!ring)
		return f.answers.job ? f.answers.job : job;
	CHECK(received_fds(m, fds), "open-ring without descriptors");
	if (f.answers.ring)
		return f.answers.ring;
	take_ring(fds);
	return "{\"ok\":true}";
}

/* false: the peer has gone */
static bool serve(int fd)
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char text[4096];
	struct iovec iov = { text, sizeof(text) - 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	const char *reply;

	if (n <= 0)
		return false;
	text[n] = '\0';
	reply = answer(text, &m);
	if (*reply)
		send(fd, reply, strlen(reply), MSG_NOSIGNAL);
	return true;
}

static void allow(int fd, int yes)
{
	if (f.answers.wary)
		setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &yes, sizeof(yes));
}

static void *run(void *arg)
{
	struct pollfd p[PEERS + 2];

	for (;;) {
		p[0] = (struct pollfd){ f.stop[0], POLLIN, 0 };
		p[1] = (struct pollfd){ f.listener, POLLIN, 0 };
		for (int i = 0; i < f.count; i++)
			p[i + 2] = (struct pollfd){ f.peers[i], POLLIN, 0 };
		poll(p, f.count + 2, -1);
		if (p[0].revents)
			return NULL;
		for (int i = f.count - 1; i >= 0; i--) {
			if (!p[i + 2].revents || serve(f.peers[i]))
				continue;
			close(f.peers[i]);
			f.peers[i] = f.peers[--f.count];
		}
		if (p[1].revents && f.count < PEERS) {
			f.peers[f.count] = accept(f.listener, NULL, NULL);
			allow(f.peers[f.count++], 1);
		}
	}
}

static void new_path(void)
{
	const char *tmp = getenv("TMPDIR");
	char dir[80];

	snprintf(dir, sizeof(dir), "%s/mlcc-nccl-XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(dir), "no directory");
	f.addr.sun_family = AF_UNIX;
	snprintf(f.addr.sun_path, sizeof(f.addr.sun_path), "%s/sock", dir);
	setenv("MLCC_SOCKET", f.addr.sun_path, 1);
}

static void listen_here(int backlog)
{
	unlink(f.addr.sun_path);
	f.count = 0;
	f.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(!bind(f.listener, (struct sockaddr *)&f.addr, sizeof(f.addr)), "bind");
	CHECK(!listen(f.listener, backlog), "listen");
}

void fake_start(const struct fake_answers *answers, bool again)
{
	if (!again)
		new_path();
	listen_here(8);
	f.answers = answers ? *answers : (struct fake_answers){ };
	allow(f.listener, 0);
	CHECK(!pipe(f.stop), "pipe");
	CHECK(!pthread_create(&f.thread, NULL, run, NULL), "no thread");
}

int fake_full(const char *path, int *fds, int max)
{
	int i;

	strcpy(f.addr.sun_path, path);
	listen_here(1);
	for (i = 0; i < max; i++) {
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
		if (connect(fds[i], (struct sockaddr *)&f.addr, sizeof(f.addr)))
			break;
	}
	return i;
}

void fake_kill(void)
{
	CHECK(write(f.stop[1], "", 1) == 1, "the pipe");
	pthread_join(f.thread, NULL);
	for (int i = 0; i < f.count; i++)
		close(f.peers[i]);
	close(f.listener);
	close(f.stop[0]);
	close(f.stop[1]);
}

int fake_rings(int wait)
{
	int n = 0;

	for (int i = 0; i < 10000; i++) {
		pthread_mutex_lock(&f.lock);
		n = f.rings;
		pthread_mutex_unlock(&f.lock);
		if (n >= wait)
			break;
		usleep(1000);
	}
	return n;
}

const char *fake_request(bool ring)
{
	static char copy[256];

	pthread_mutex_lock(&f.lock);
	strcpy(copy, ring ? f.ring_request : f.question);
	pthread_mutex_unlock(&f.lock);
	return copy;
}

/* As mlccd does. */
void fake_plan(uint64_t period, uint64_t offset)
{
	struct mlcc_ring *m = f.map;
	uint64_t seq = __atomic_load_n(&m->shift_seq, __ATOMIC_RELAXED) & ~1ULL;

	__atomic_exchange_n(&m->shift_seq, seq + 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&m->shift_period_ns, period, __ATOMIC_RELEASE);
	__atomic_store_n(&m->shift_offset_ns, offset, __ATOMIC_RELEASE);
	__atomic_store_n(&m->shift_seq, seq + 2, __ATOMIC_RELEASE);
}

static void check_record(const struct mlcc_ring_record *r)
{
	static const uint64_t zero[4];

	CHECK(r->version == MLCC_RING_VERSION, "version %u", r->version);
	CHECK(r->seq == f.tail, "record %llu is number %llu", (unsigned long long)f.tail,
	      (unsigned long long)r->seq);
	CHECK(r->job == FAKE_JOB, "job %u", r->job);
	CHECK(r->type == MLCC_RING_PHASE_START || r->type == MLCC_RING_PHASE_END, "type %u", r->type);
	CHECK(r->type == MLCC_RING_PHASE_START || !r->bytes, "an end has bytes");
	CHECK(r->bytes < 1ULL << 48, "bytes out of range");
	CHECK(!memcmp(r->zero, zero, sizeof(zero)), "what is to be zero");
}

bool fake_take(struct mlcc_ring_record *r)
{
	bool any = false;

	pthread_mutex_lock(&f.lock);
	if (f.map && __atomic_load_n(&f.map->head, __ATOMIC_ACQUIRE) != f.tail) {
		*r = f.map->records[f.tail & (f.slots - 1)];
		check_record(r);
		f.tail++;
		__atomic_store_n(&f.map->tail, f.tail, __ATOMIC_RELEASE);
		any = true;
	}
	pthread_mutex_unlock(&f.lock);
	return any;
}

bool fake_woken(void)
{
	uint64_t n;

	return read(f.event, &n, sizeof(n)) == sizeof(n);
}

struct mlcc_ring *fake_ring(void)
{
	return f.map;
}
