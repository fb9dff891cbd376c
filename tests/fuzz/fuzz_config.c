// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The configuration file: what is refused has a line and leaves what was there. */
#include <stdlib.h>
#include <string.h>

#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = calloc(1, size + 1);
	struct config c, before;
	struct err e = { "" };

	memset(&c, 0x5a, sizeof(c));
	before = c;
	memcpy(copy, data, size);
	if (config_parse(&c, "mlccd.conf", copy, size, &e)) {
		if (memcmp(&c, &before, sizeof(c)) || strncmp(e.text, "mlccd.conf:", 11))
			abort();
	} else if (!c.mark_mask || c.priority_classes > CONFIG_CLASSES ||
		   c.profile_count > CONFIG_PROFILES || !c.poll_ms ||
		   strnlen(c.metrics_address, INET6_ADDRSTRLEN) == INET6_ADDRSTRLEN ||
		   strnlen(c.link, MLCC_NAME_LEN) == MLCC_NAME_LEN) {
		abort();
	}
	free(copy);
	return 0;
}
