/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is known of the jobs, as OpenMetrics text: base units, time stamps only of overlap.h's. */
#ifndef MLCCD_METRICS_H
#define MLCCD_METRICS_H

#include <stdio.h>

struct mlccd;

/* All of it; @arg: struct mlccd.  free() it; NULL: no memory. */
char *metrics_text(void *arg, size_t *len);

/* What it begins a family with; @unit: NULL, none. */
void metrics_head(FILE *f, const char *name, const char *type, const char *unit,
		  const char *help);
/* metrics_rdma.c */
void metrics_rdma(const struct mlccd *d, FILE *f);

#endif /* MLCCD_METRICS_H */
