// SPDX-License-Identifier: GPL-2.0
/* A libibverbs whose ibv_modify_qp() is what the queue pair's context says; or has none, with NONE. */
#include <infiniband/verbs.h>

#ifndef NONE
typedef int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return ((modify *)qp->qp_context)(qp, attr, mask);
}
#endif
