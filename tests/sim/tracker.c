// SPDX-License-Identifier: GPL-2.0
/* What tracker.h declares. */
#include <stdlib.h>

#include "tracker.h"
#include "../../include/mlcc/hint.h"

struct mlcc_job *tracker_new(void)
{
	return calloc(1, sizeof(struct mlcc_job));
}

uint32_t tracker_phases(const struct mlcc_job *j)
{
	return j->seq;
}

void tracker_begin(struct mlcc_job *j, uint64_t bytes, uint64_t now)
{
	mlcc_job_hint_start(j, bytes, now + TRACKER_FIRST_US);
}

void tracker_end(struct mlcc_job *j)
{
	mlcc_job_hint_end(j);
}
