/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Soft-RoCE's rules, where its driver has them: which queue pairs are a job's. */
#ifndef MLCCD_RXE_H
#define MLCCD_RXE_H

#include "job.h"

/* The queue pairs of every job of the list are the job's. */
void rxe_set(const struct job_list *jobs);
/* Those of this job, which is about to go, are nobody's. */
void rxe_remove(const struct job *job);

#endif /* MLCCD_RXE_H */
