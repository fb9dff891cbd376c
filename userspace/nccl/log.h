/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MLCC_NCCL_LOG_H
#define MLCC_NCCL_LOG_H

#include <stdbool.h>

#include "abi.h"

/* NCCL's logger, from v4 on, and with MLCC_LOG=1 standard error. @log: NULL leaves it as it is. */
void log_set(nccl_logger log, bool to_stderr);

/* One line; what comes from outside is shown as printable ASCII. */
void log_line(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* MLCC_NCCL_LOG_H */
