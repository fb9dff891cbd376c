// SPDX-License-Identifier: GPL-2.0
/* What NCCL finds in libmlcc-ibverbs, and what libibverbs, or one that the test has made, is told. */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../unit/tap.h"

#define NCCL_SIZE	offsetof(struct ibv_qp_attr, rate_limit)	/* NCCL's own has no more */
#define NCCL_MASK	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define PORTS		16384

typedef int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);

static modify *ours;
static char ports[PORTS];
static struct {
	struct ibv_qp_attr attr;
	int mask, answer;
} seen;

/* @behind: the variable that names a libibverbs; NULL: the system's */
static void *open_before(const char *behind)
{
	void *lib;

	if (behind && !dlopen(getenv(behind), RTLD_NOW))
		CHECK(false, "%s", dlerror());
	lib = dlopen(getenv("IBVERBS"), RTLD_NOW);
	CHECK(lib, "%s", dlerror());
	ours = lib ? (modify *)dlvsym(lib, "ibv_modify_qp", "IBVERBS_1.1") : NULL;
	CHECK(ours, "no ibv_modify_qp");
	if (!ours)
		_exit(1);
	return lib;
}

/* For what stands behind. */
static int see(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	memcpy(&seen.attr, attr, NCCL_SIZE);
	seen.mask = mask;
	return seen.answer;
}

static struct ibv_qp_attr to_peer(void)
{
	struct ibv_qp_attr attr;

	memset(&attr, 0x5a, sizeof(attr));
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.flow_label = 0;
	return attr;
}

static uint32_t label(struct ibv_qp_attr attr, int mask)
{
	struct ibv_qp qp = { .qp_context = see };

	CHECK(ours(&qp, &attr, mask) == seen.answer, "another answer");
	return seen.attr.ah_attr.grh.flow_label;
}

/* Each in a process of its own, as libraries stay in memory. */

TEST_ALONE(one_function_is_ours_and_the_others_are_found)
{
	static const char *const versions[][2] = {
		{ "ibv_modify_qp", "IBVERBS_1.1" }, { "ibv_get_device_list", "IBVERBS_1.1" },
		{ "ibv_create_qp", "IBVERBS_1.1" }, { "ibv_fork_init", "IBVERBS_1.1" },
		{ "ibv_reg_mr_iova2", "IBVERBS_1.8" }, { "ibv_query_ece", "IBVERBS_1.10" },
	};
	void *lib = open_before(NULL), *f;
	Dl_info from;

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		f = dlvsym(lib, versions[i][0], versions[i][1]);
		CHECK(f && dladdr(f, &from), "%s is not found", versions[i][0]);
		CHECK(f && !strstr(from.dli_fname, "libmlcc-ibverbs.so") == !!i, "%s is of %s",
		      versions[i][0], from.dli_fname);
	}
}

/* The port of a label, as NICs make it. */
static int count(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	uint32_t l = attr->ah_attr.grh.flow_label;

	__atomic_fetch_add(&ports[(l ^ l >> 14) % PORTS], l && l >> 20 == 0, __ATOMIC_RELAXED);
	return 0;
}

static void *take_half(void *unused)
{
	struct ibv_qp qp = { .qp_context = count };
	struct ibv_qp_attr attr = to_peer();

	for (int i = 0; i < PORTS / 2; i++)
		ours(&qp, &attr, NCCL_MASK);
	return NULL;
}

TEST_ALONE(two_threads_take_each_port_once)
{
	pthread_t other;
	int wrong = 0;

	open_before("BEHIND");
	CHECK(!pthread_create(&other, NULL, take_half, NULL), "no thread");
	take_half(NULL);
	pthread_join(other, NULL);
	for (int i = 0; i < PORTS; i++)
		wrong += ports[i] != 1;
	CHECK(!wrong, "%d ports are not taken once", wrong);
}

TEST_ALONE(nothing_else_is_changed)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *end = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0) + page;
	struct ibv_qp_attr *attr = (struct ibv_qp_attr *)(end - NCCL_SIZE), was = to_peer();
	struct ibv_qp qp = { .qp_context = see };

	open_before("BEHIND");
	memcpy(attr, &was, NCCL_SIZE);
	CHECK(!mprotect(end, page, PROT_NONE), "no fence");
	seen.answer = ETIMEDOUT;
	CHECK(ours(&qp, attr, NCCL_MASK) == ETIMEDOUT && seen.mask == NCCL_MASK, "%x", seen.mask);
	CHECK(seen.attr.ah_attr.grh.flow_label, "no label");
	CHECK(!memcmp(attr, &was, NCCL_SIZE), "the caller's is changed");
	seen.attr.ah_attr.grh.flow_label = 0;
	CHECK(!memcmp(&seen.attr, &was, NCCL_SIZE), "libibverbs's is changed");
}

TEST_ALONE(what_is_no_way_to_a_peer_or_has_a_label_stays)
{
	struct ibv_qp_attr chosen = to_peer(), local = chosen, ready = chosen;
	uint32_t first;

	open_before("BEHIND");
	first = label(to_peer(), NCCL_MASK);
	chosen.ah_attr.grh.flow_label = 7;
	local.ah_attr.is_global = 0;
	ready.qp_state = IBV_QPS_RTS;
	CHECK(label(chosen, NCCL_MASK) == 7, "the caller's label is lost");
	CHECK(!label(local, NCCL_MASK) && !label(ready, NCCL_MASK), "no GRH, RTS");
	CHECK(!label(to_peer(), NCCL_MASK & ~IBV_QP_AV), "no address");
	CHECK(!label(to_peer(), NCCL_MASK & ~IBV_QP_STATE), "no state");
	CHECK((label(to_peer(), NCCL_MASK) - first) % PORTS == 14877, "a label is left out");
}

TEST_ALONE(without_the_function_it_is_not_supported)
{
	open_before("BEHIND_NONE");
	CHECK(ours(NULL, NULL, 0) == EOPNOTSUPP, "another answer");
}

TAP_MAIN
