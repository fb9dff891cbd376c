// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A question to the keeper is the input, as from an mlccd that was taken over; first some that have
 * to be refused.
 */
#include "daemon.h"
#include "keeper.h"
#include "../../userspace/rdma/nic.h"

static int answer(const struct keep_ask *a, size_t size)
{
	static struct keep_told told;
	int fd;

	keeper_answer(&fuzz_kept, a, size, &told, &fd);
	if (fd >= 0)
		close(fd);
	if (keep_told_size(size < sizeof(a->op) ? KEEP_OPS : a->op, &told) > sizeof(told))
		abort();
	return told.err;
}

static void refused(struct keep_ask *a)
{
	if (!answer(a, keep_ask_size(a->op)))
		abort();
}

static void check_refusals(void)
{
	struct keep_ask a = { .op = KEEP_OPS };

	refused(&a);
	a = (struct keep_ask){ .op = KEEP_UNTAG, .id = JOB_IDS, .number = 1 };
	refused(&a);
	a = (struct keep_ask){ .op = KEEP_RULE, .id = 1, .number = 1, .name = "../a" };
	refused(&a);
	a = (struct keep_ask){ .op = KEEP_FILE, .path = "/etc/passwd" };
	refused(&a);
	a = (struct keep_ask){ .op = KEEP_FILE, .path = RXE_DIR "/../qps" };
	refused(&a);
	a = (struct keep_ask){ .op = KEEP_MARK, .id = JOB_IDS };
	refused(&a);
	a = (struct keep_ask){ .op = KEEP_PROGRESS, .number = KEEP_LIST + 1 };
	refused(&a);
	a = (struct keep_ask){ .op = KEEP_ADMIN };
	refused(&a);
	a = (struct keep_ask){ .op = KEEP_TAG, .number = 1, .tag = { .path = ".." } };
	refused(&a);
	a = (struct keep_ask){ .op = KEEP_JOB_SET, .job = { .id = 1 } };
	memset(a.job.name, 'a', sizeof(a.job.name));
	refused(&a);
	if (!answer(&a, sizeof(a)) || !answer(&a, 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct keep_ask a;
	static bool checked;

	fuzz_start();
	if (!checked)
		check_refusals();
	checked = true;
	memset(&a, 0, sizeof(a));
	memcpy(&a, data, size < sizeof(a) ? size : sizeof(a));
	answer(&a, size);
	/* few inputs have the size that their operation has */
	a.op %= KEEP_OPS;
	answer(&a, keep_ask_size(a.op));
	return 0;
}
