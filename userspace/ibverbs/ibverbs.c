// SPDX-License-Identifier: BSD-2-Clause
/*
 * Parts the queue pairs of a connection: libibverbs with another ibv_modify_qp(), for NCCL_IBVERBS_LIB.
 *
 * Whoever opens this library finds all other functions in libibverbs, which it is linked with.  Where
 * that is missing NCCL cannot open this library either, and goes on by itself.
 *
 * Most NICs make RoCEv2's UDP source port, by which ECMP chooses a path, of the flow label's low 14
 * bits and high 6, XORed.  NCCL gives no label; then the port is a hash of the two queue pairs'
 * numbers, and two of a connection may have the same.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#define LABEL		0x4000U		/* so that none is 0, which means that there is none */
#define PORTS		0x4000U
/*
 * Odd, so that each port comes once in 16384.  Labels that follow each other are spread evenly by some
 * switches' hashes, and not at all by others; these by none much worse than at random.
 */
#define STEP		14877U

typedef int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);

static modify *behind;
static atomic_uint labelled;

/* On its way to a peer, by an address in which nobody has chosen a label. */
static bool wants_label(const struct ibv_qp_attr *attr, int mask)
{
	return (mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RTR && (mask & IBV_QP_AV) &&
	       attr->ah_attr.is_global && !attr->ah_attr.grh.flow_label;
}

__attribute__((constructor)) static void find_behind(void)
{
	behind = (modify *)dlvsym(RTLD_NEXT, "ibv_modify_qp", "IBVERBS_1.1");
}

/*
 * As libibverbs has it: 0 or an errno, and EOPNOTSUPP without it as for a provider that cannot.  @attr
 * is the caller's, and may be shorter than ours: it is not copied, and afterwards as it was.
 */
__attribute__((visibility("default")))
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int err;

	if (!behind)
		return EOPNOTSUPP;
	if (!wants_label(attr, mask))
		return behind(qp, attr, mask);
	attr->ah_attr.grh.flow_label = LABEL | atomic_fetch_add(&labelled, 1) * STEP % PORTS;
	err = behind(qp, attr, mask);
	attr->ah_attr.grh.flow_label = 0;
	return err;
}
