/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Not the SDK; see doca_pcc_dev.h. */
#ifndef MLCC_TESTS_PCC_SDK_DEV_H
#define MLCC_TESTS_PCC_SDK_DEV_H

#include <stdint.h>

#include "doca_error.h"

#define DOCA_DEVINFO_IBDEV_NAME_SIZE	64

struct doca_dev;
struct doca_devinfo;

doca_error_t doca_devinfo_create_list(struct doca_devinfo ***list, uint32_t *count);
doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **list);
doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *info, char *name,
					 uint32_t size);
doca_error_t doca_dev_open(struct doca_devinfo *info, struct doca_dev **dev);
doca_error_t doca_dev_close(struct doca_dev *dev);

#endif /* MLCC_TESTS_PCC_SDK_DEV_H */
