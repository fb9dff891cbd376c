/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TEST_SECOND_H
#define TEST_SECOND_H

#include <stdint.h>

struct second_counts {
	int version;
	int inits, finalizes;
	int starts[16];			/* by the bit of the type */
	int stops, records;
	int parents;			/* events that had one */
	int wrong;			/* whatever a plugin need not expect */
	uint64_t bytes;
};

#endif /* TEST_SECOND_H */
