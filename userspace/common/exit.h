/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Exit statuses of all programs; mlccplan/errors.py has the same. */
#ifndef MLCC_EXIT_H
#define MLCC_EXIT_H

enum {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,	/* or refused, by whoever was asked; or something is wrong */
	EXIT_USAGE = 2,		/* the words make no sense, or a value is out of its range */
	EXIT_NO_DAEMON = 3,	/* mlccd does not answer */
	EXIT_NO_DEVICE = 3,	/* there is no such device now */
};

#endif /* MLCC_EXIT_H */
