/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is known of the jobs, as OpenMetrics text: base units, time stamps only of overlap.h's. */
#ifndef MLCCD_METRICS_H
#define MLCCD_METRICS_H

#include <stddef.h>

/* All of it; @arg: struct mlccd.  free() it; NULL: no memory. */
char *metrics_text(void *arg, size_t *len);

#endif /* MLCCD_METRICS_H */
