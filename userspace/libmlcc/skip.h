/* SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later */
#ifndef LIBMLCC_SKIP_H
#define LIBMLCC_SKIP_H

#include "../../include/mlcc/uapi/mlcc_skip.h"
#include "internal.h"

/* What mlcc_tag_conf.skip says.  -EINVAL, -E2BIG: @error says why. */
int mlcc_skip_parse(struct mlcc_skip *s, const char *text, char error[MLCC_ERROR_LEN]);

#endif /* LIBMLCC_SKIP_H */
