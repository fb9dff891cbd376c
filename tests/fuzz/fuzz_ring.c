// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A ring whose memory is the input: first as it is, then with a head that mlccd accepts, so that
 * the records are reached, too.
 */
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "../../include/mlcc/uapi/mlcc_ring.h"
#include "../../userspace/common/clock.h"
#include "daemon.h"

#define SLOTS	16
#define SIZE	MLCC_RING_SIZE(SLOTS)

static void give(struct mlccd *d, const uint8_t *data, size_t size, bool good)
{
	struct mlcc_ring head = {
		.magic = MLCC_RING_MAGIC, .version = MLCC_RING_VERSION, .slots = SLOTS,
		.record_size = sizeof(struct mlcc_ring_record),
	};
	struct who who = { .uid = 1000 };
	struct account *a = account_get(&d->accounts, who.uid, 0, &d->config, now_us());
	struct ring *ring = NULL;
	struct err e;
	int fds[RING_FDS];

	fds[0] = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fds[1] = eventfd(0, EFD_CLOEXEC);
	if (fds[0] < 0 || fds[1] < 0)
		abort();
	if (ftruncate(fds[0], SIZE) || pwrite(fds[0], data, size, 0) != (ssize_t)size ||
	    (good && pwrite(fds[0], &head, offsetof(struct mlcc_ring, spare0), 0) < 0) ||
	    fcntl(fds[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		abort();
	if (!ring_open(&d->rings, &who, a, fds, 1, &ring, &e)) {
		for (int i = 0; i < 4; i++)
			sd_event_run(d->events, 0);
		ring_close(ring);
	} else if (good) {
		abort();
	}
	close(fds[0]);
	close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_wanted mine = { .job.conf.id = 1 }, roots = { .job.conf.id = 2 };
	struct who admin = { .admin = true };
	struct mlccd *d = fuzz_start();
	struct mlcc_job_info info;
	struct job *set;
	struct err e;

	if (size > SIZE)
		size = SIZE;
	if (jobs_set(&d->jobs, &admin, &mine, &set, &e))
		abort();
	d->jobs.by_id[1]->uid = 1000;
	if (jobs_set(&d->jobs, &admin, &roots, &set, &e))
		abort();
	give(d, data, size, false);
	give(d, data, size, true);
	/* whatever it was, the job of root has heard nothing of it */
	if (carrier_job_get(&d->carrier, 2, &info) || info.phases || info.hinted)
		abort();
	jobs_clear(&d->jobs);
	return 0;
}
