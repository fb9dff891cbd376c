// SPDX-License-Identifier: GPL-2.0
/*
 * Announces the job's phases to mlccd, over the ring that it gave us: what a
 * launcher or a plugin does that knows its phases.  The other way the ring
 * tells of the job's time-shift.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../include/mlcc/uapi/mlcc_ring.h"
#include "burst.h"

#define SLOTS	64

static struct {
	struct mlcc_ring *ring;
	int event;
	uint32_t job;
	double claim;		/* announced bytes / true ones */
	uint64_t bytes;		/* announced of the phase that lasts; 0: none does */
} hint;

static int daemon_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(addr.sun_path))
		die(EXIT_USAGE, "--hint: %s: longer than %zu characters", path,
		    sizeof(addr.sun_path) - 1);
	strcpy(addr.sun_path, path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die(EXIT_SYSTEM, "--hint: %s: %s", path, strerror(errno));
	return fd;
}

/* The reply carries the memory and the eventfd, in this order. */
static void ring_receive(int fd, int fds[2])
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char reply[4096];
	struct iovec iov = { .iov_base = reply, .iov_len = sizeof(reply) - 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	reply[n > 0 ? n : 0] = '\0';
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(2 * sizeof(int)))
		die(EXIT_SYSTEM, "--hint: no ring: %s", reply);
	memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
}

static void hint_write(uint16_t type, uint64_t bytes)
{
	const uint64_t one = 1;
	uint64_t head;

	if (!hint.ring)
		return;
	head = hint.ring->head;
	if (head - __atomic_load_n(&hint.ring->tail, __ATOMIC_ACQUIRE) >= SLOTS) {
		hint.ring->dropped++;
		return;
	}
	hint.ring->records[head % SLOTS] = (struct mlcc_ring_record) {
		.version = MLCC_RING_VERSION, .type = type, .job = hint.job, .bytes = bytes,
		.time_ns = (uint64_t)now_ns(), .seq = head,
	};
	__atomic_store_n(&hint.ring->head, head + 1, __ATOMIC_RELEASE);
	if (write(hint.event, &one, sizeof(one)) < 0 && errno != EAGAIN)
		die(EXIT_SYSTEM, "--hint: cannot wake mlccd: %s", strerror(errno));
}

/* What a liar says in the middle of a transfer. */
static void phase_again(struct watch *watch, uint32_t events)
{
	uint64_t expired;

	(void)events;
	if (read(watch->fd, &expired, sizeof(expired)) < 0 || !hint.bytes)
		return;
	hint_write(MLCC_RING_PHASE_END, 0);
	hint_write(MLCC_RING_PHASE_START, hint.bytes);
}

static void restart_every(double ms)
{
	static struct watch restart = { .ready = phase_again };
	const int64_t ns = ms_to_ns(ms);
	const struct timespec every = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	const struct itimerspec timer = { .it_interval = every, .it_value = every };

	restart.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (restart.fd < 0 || timerfd_settime(restart.fd, 0, &timer, NULL))
		die(EXIT_SYSTEM, "--restart-ms: %s", strerror(errno));
	loop_add(&restart, EPOLLIN);
}

/* The connection stays open: the ring ends with it. */
void hint_open(const struct options *opt)
{
	char request[80];
	int fd, fds[2];

	if (!opt->hint.socket)
		return;
	snprintf(request, sizeof(request), "{\"op\": \"open-ring\", \"slots\": %d, \"job\": %u}",
		 SLOTS, opt->hint.job);
	fd = daemon_connect(opt->hint.socket);
	if (send(fd, request, strlen(request), 0) < 0)
		die(EXIT_SYSTEM, "--hint: %s: %s", opt->hint.socket, strerror(errno));
	ring_receive(fd, fds);
	hint.ring = mmap(NULL, MLCC_RING_SIZE(SLOTS), PROT_READ | PROT_WRITE, MAP_SHARED, fds[0],
			 0);
	if (hint.ring == MAP_FAILED)
		die(EXIT_SYSTEM, "--hint: cannot map the ring: %s", strerror(errno));
	hint.event = fds[1];
	hint.job = opt->hint.job;
	hint.claim = opt->hint.claim;
	shift_open(opt, hint.ring);
	if (opt->hint.restart_ms > 0.0)
		restart_every(opt->hint.restart_ms);
}

void hint_start(uint64_t bytes)
{
	hint.bytes = (uint64_t)((double)bytes * hint.claim);
	hint_write(MLCC_RING_PHASE_START, hint.bytes);
}

void hint_end(void)
{
	hint.bytes = 0;
	hint_write(MLCC_RING_PHASE_END, 0);
}
