/* SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later */
/* Where the attributes of the netlink family belong in libmlcc.h's structs. */
#ifndef LIBMLCC_NETLINK_FIELDS_H
#define LIBMLCC_NETLINK_FIELDS_H

#include "libmlcc.h"

struct mlcc_field {
	uint16_t type;			/* 0: the end */
	enum { U32, U64, TEXT, FLAG } kind;
	size_t offset, size;
};

#define MLCC_FIELD(type, kind, of, member) \
	{ type, kind, offsetof(struct of, member), sizeof(((struct of *)0)->member) }

extern const struct mlcc_field mlcc_job_conf_fields[];		/* struct mlcc_job_conf */
extern const struct mlcc_field mlcc_job_info_fields[];		/* mlcc_job_info, but for its conf */
extern const struct mlcc_field mlcc_answer_conf_fields[];	/* mlcc_answer_conf */
extern const struct mlcc_field mlcc_profile_conf_fields[];	/* mlcc_profile_conf */

#endif /* LIBMLCC_NETLINK_FIELDS_H */
