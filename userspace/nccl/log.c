// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "log.h"

static _Atomic nccl_logger logger;
static atomic_bool loud;

void log_set(nccl_logger log, bool to_stderr)
{
	if (log)
		atomic_store(&logger, log);
	atomic_store(&loud, to_stderr);
}

void log_line(int level, const char *format, ...)
{
	nccl_logger log = atomic_load(&logger);
	char line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	for (char *s = line; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
	if (log)
		log(level, NCCL_LOG_ALL, "mlcc", 0, "PROFILER/mlcc: %s", line);
	if (atomic_load(&loud))
		fprintf(stderr, "mlcc: %s\n", line);
}
