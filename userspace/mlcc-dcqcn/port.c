// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A port's transmit counter as a job: ports/<n>/counters/port_xmit_data of the RDMA device, which
 * counts in units of four octets (InfiniBand, PortXmitData).
 *
 * Looks and the counter's own updates have each their rhythm, so a look without new bytes is not a
 * silence yet: one that is not longer than "idle_us" is not seen.
 */
#include <stdio.h>
#include <string.h>

#include "progress.h"

#define UNIT	4

int port_open(struct progress *p, const struct device *d, struct err *e)
{
	const char *slash = d->be->scope == SCOPE_PORT ? strchr(d->name, '/') : NULL;
	char ibdev[NAME_LEN];
	uint64_t v;
	int err;

	device_ibdev(d, ibdev);
	if (!*ibdev)
		return fail(e, -ENODEV, "%s:%s: no RDMA device, so no counter of a port",
			    d->be->name, d->name);
	snprintf(p->counter, sizeof(p->counter),
		 "/sys/class/infiniband/%s/ports/%.8s/counters/port_xmit_data", ibdev,
		 slash ? slash + 1 : "1");
	err = sysroot_number(p->counter, &v);
	if (err)
		return fail(e, err, "%s: %s", p->counter, strerror(-err));
	mlcc_job_hint(&p->tracker, p->phase_bytes);
	return 0;
}

/* Some bytes were sent since the last look. */
static uint32_t sent(struct progress *p, uint64_t bytes, uint64_t now_us)
{
	uint32_t progress = MLCC_NEUTRAL;

	if (!p->tracker.seq || now_us - p->counted_us >= p->idle_us)
		mlcc_job_tx_start(&p->tracker, now_us, 0);
	p->counted_us = now_us;
	while (bytes) {
		uint32_t n = bytes > UINT32_MAX ? UINT32_MAX : bytes;

		progress = mlcc_job_acked(&p->tracker, n, now_us);
		bytes -= n;
	}
	return progress;
}

uint32_t port_progress(struct progress *p, uint64_t now_us)
{
	uint64_t v, bytes;

	if (sysroot_number(p->counter, &v)) {
		p->counting = false;
		return MLCC_NEUTRAL;
	}
	/* a counter that goes back has been reset */
	if (!p->counting || v < p->counted) {
		p->counting = true;
		p->counted = v;
		return MLCC_NEUTRAL;
	}
	bytes = (v - p->counted) * UNIT;
	p->counted = v;
	if (bytes)
		return sent(p, bytes, now_us);
	if (now_us - p->counted_us >= p->idle_us)
		return MLCC_NEUTRAL;
	return mlcc_job_acked(&p->tracker, 0, p->counted_us);
}
