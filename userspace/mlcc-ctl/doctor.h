/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef MLCC_CTL_DOCTOR_H
#define MLCC_CTL_DOCTOR_H

/* doctor_rdma.c; below the root that sysroot_set() has opened. */
void check_rdma(void);

#endif /* MLCC_CTL_DOCTOR_H */
