/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef MLCC_DCQCN_RESTORE_H
#define MLCC_DCQCN_RESTORE_H

#include "../rdma/saved.h"

enum restored {
	RESTORED,	/* written, and read back */
	RESTORED_SAME,	/* it had the value already */
	RESTORED_LEFT,	/* it has one that this program has not written: left as it is */
};

/*
 * Puts one knob back to @value.  @dry_run: only says what would be done.
 * Returns enum restored, or a negative error number.
 */
int restore_one(const struct device *d, const struct saved *saved, uint32_t value, bool force,
		bool dry_run, struct err *e);

#endif /* MLCC_DCQCN_RESTORE_H */
