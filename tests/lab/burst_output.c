// SPDX-License-Identifier: GPL-2.0
/* Output of mlcc-burst: JSON lines on stdout, one-line errors on stderr. */
#include <stdarg.h>
#include <stdlib.h>

#include "burst.h"

static const char *job_name = "";

void die(enum burst_exit status, const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("mlcc-burst: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

void output_open(const struct options *opt)
{
	job_name = opt->job;
	setvbuf(stdout, NULL, _IOLBF, 0);
}

void output_sample(int64_t now, uint64_t received)
{
	printf("{\"job\":\"%s\",\"sample_ns\":%lld,\"received_bytes\":%llu}\n",
	       job_name, (long long)now, (unsigned long long)received);
}
