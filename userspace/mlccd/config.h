/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What /etc/mlcc/mlccd.conf says. */
#ifndef MLCCD_CONFIG_H
#define MLCCD_CONFIG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/err.h"
#include "../libmlcc/libmlcc.h"

#define CONFIG_PROFILES	16
#define CONFIG_CLASSES	8

struct config {
	/* [daemon] */
	uint32_t mark_mask;
	uint32_t poll_ms;		/* how often cgroups are looked for */
	uint32_t peer_timeout_ms;	/* for a peer that does not read */
	uint32_t connections;
	uint32_t metrics_port;		/* 0: none */
	char metrics_address[INET6_ADDRSTRLEN];	/* where it is */
	char link[MLCC_NAME_LEN];	/* "": not said */
	/* [jobs] */
	char skip[MLCC_SKIP_LEN];	/* of those that name nothing */
	char background[MLCC_SKIP_LEN];	/* connections of any: of that class; "none" */
	/* [limits]: for those without CAP_NET_ADMIN */
	bool users;			/* may they set jobs at all? */
	uint32_t jobs_per_user;
	uint32_t rings_per_user;
	uint32_t connections_per_user;
	uint32_t requests_per_second, requests_burst;
	uint32_t hints_per_second, hints_burst;
	uint32_t priority_classes;	/* at most; 0: none */
	bool latency_class;		/* may they set jobs of that class? */
	char profiles[CONFIG_PROFILES][MLCC_NAME_LEN];
	uint32_t profile_count;		/* 0: all */
	/* [priority] */
	uint8_t dscp[CONFIG_CLASSES];
};

void config_default(struct config *c);

/*
 * Reads a whole file's text, which is overwritten, and behind which is a NUL.  Returns 0, or -EINVAL
 * with "NAME:LINE: what" in @e; @c is then as it was.
 */
int config_parse(struct config *c, const char *name, char *text, size_t len, struct err *e);

/* The same from a file.  One that is not there gives the defaults if @may_lack. */
int config_read(struct config *c, const char *path, bool may_lack, struct err *e);
/* The same from @fd, which is closed; a negative error number: @path could not be opened. */
int config_load(struct config *c, const char *path, int fd, bool may_lack, struct err *e);

bool config_profile_allowed(const struct config *c, const char *name);

#endif /* MLCCD_CONFIG_H */
