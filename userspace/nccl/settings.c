// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "log.h"
#include "settings.h"

#define SOCKET	"/run/mlcc/mlccd.sock"

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static void warn_once(const char *text, const char *value)
{
	static atomic_bool warned;

	if (!atomic_exchange(&warned, true))
		log_line(NCCL_LOG_WARN, "MLCC_MASK=%.40s: %s", value, text);
}

/*
 * Steps are for v4 and later: v3 tells the bytes with the operation.  Nothing else would be looked
 * at, and some of it slows the GPU down.
 */
static int read_mask(int version)
{
	const char *value = variable("MLCC_MASK");
	int useful = EV_PROXY_OP | (version > 3 ? EV_PROXY_STEP : 0);
	unsigned long mask;
	char *end;

	if (!value)
		return EV_PROXY_OP;
	errno = 0;
	mask = strtoul(value, &end, 0);
	if (errno || *end || mask > 0xffff) {
		warn_once("8 (operations), 24 (their transfers, too) or 0 is wanted; 8 is taken",
			  value);
		return EV_PROXY_OP;
	}
	if (mask & EV_KERNEL_CH)
		warn_once("KernelCh (64) slows the GPU down, and is never asked for", value);
	else if (mask & ~(EV_PROXY_OP | EV_PROXY_STEP | EV_GROUP | EV_COLL | EV_P2P))
		warn_once("only 8 and 16 are of use, the others are left out", value);
	return mask ? (int)(mask & useful) | EV_PROXY_OP : 0;
}

void settings_read(struct settings *s, int version)
{
	const char *log = variable("MLCC_LOG"), *shift = variable("MLCC_SHIFT");

	s->log = log && strcmp(log, "0");
	log_set(NULL, s->log);
	s->socket = variable("MLCC_SOCKET");
	if (!s->socket)
		s->socket = SOCKET;
	s->job = variable("MLCC_JOB");
	if (!s->job)
		s->job = variable("MLCC_JOB_ID");
	s->chain = variable("MLCC_CHAIN_PLUGIN");
	s->mask = read_mask(version);
	s->shift = !shift || strcmp(shift, "0");
}
