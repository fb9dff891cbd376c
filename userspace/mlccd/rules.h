/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef MLCCD_RULES_H
#define MLCCD_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a policy rule (ip rule) of this network namespace is about packets of that mark. */
bool rules_have(uint32_t mark);

#endif /* MLCCD_RULES_H */
