/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Not the SDK; see doca_pcc_dev.h. */
#ifndef MLCC_TESTS_PCC_SDK_PCC_H
#define MLCC_TESTS_PCC_SDK_PCC_H

#include "doca_dev.h"

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
