/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Not the SDK; see doca_pcc_dev.h. */
#ifndef MLCC_TESTS_PCC_SDK_PCC_H
#define MLCC_TESTS_PCC_SDK_PCC_H

#include <stdint.h>

typedef enum {
	DOCA_SUCCESS,
	DOCA_ERROR_INVALID_VALUE,
	DOCA_ERROR_NOT_FOUND,
	DOCA_ERROR_NOT_SUPPORTED,
	DOCA_ERROR_UNEXPECTED,
} doca_error_t;

const char *doca_error_get_descr(doca_error_t error);

#define DOCA_DEVINFO_IBDEV_NAME_SIZE	64

struct doca_dev;
struct doca_devinfo;

doca_error_t doca_devinfo_create_list(struct doca_devinfo ***list, uint32_t *count);
doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **list);
doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *info, char *name,
					 uint32_t size);
doca_error_t doca_dev_open(struct doca_devinfo *info, struct doca_dev **dev);
doca_error_t doca_dev_close(struct doca_dev *dev);

struct doca_pcc;
struct doca_pcc_app;

doca_error_t doca_devinfo_get_is_pcc_supported(const struct doca_devinfo *info);
doca_error_t doca_pcc_create(struct doca_dev *dev, struct doca_pcc **pcc);
doca_error_t doca_pcc_destroy(struct doca_pcc *pcc);
doca_error_t doca_pcc_get_min_num_threads(struct doca_pcc *pcc, uint32_t *count);
doca_error_t doca_pcc_get_max_num_threads(struct doca_pcc *pcc, uint32_t *count);
doca_error_t doca_pcc_set_app(struct doca_pcc *pcc, struct doca_pcc_app *app);
doca_error_t doca_pcc_set_thread_affinity(struct doca_pcc *pcc, uint32_t count, uint32_t *numbers);
doca_error_t doca_pcc_set_mailbox(struct doca_pcc *pcc, uint32_t request_size,
				  uint32_t response_size);
doca_error_t doca_pcc_start(struct doca_pcc *pcc);
doca_error_t doca_pcc_stop(struct doca_pcc *pcc);
doca_error_t doca_pcc_mailbox_get_request_buffer(struct doca_pcc *pcc, void **buffer);
doca_error_t doca_pcc_mailbox_get_response_buffer(struct doca_pcc *pcc, void **buffer);
doca_error_t doca_pcc_mailbox_send(struct doca_pcc *pcc, uint32_t request_size,
				   uint32_t *response_size, uint32_t *returned);

#endif /* MLCC_TESTS_PCC_SDK_PCC_H */
