/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Not the SDK; see doca_pcc_dev.h. */
#ifndef MLCC_TESTS_PCC_SDK_SERVICES_H
#define MLCC_TESTS_PCC_SDK_SERVICES_H

#include "doca_pcc_dev.h"

doca_pcc_dev_error_t doca_pcc_dev_user_mailbox_handle(void *request, uint32_t request_size,
						      uint32_t max_response_size, void *response,
						      uint32_t *response_size);

#endif /* MLCC_TESTS_PCC_SDK_SERVICES_H */
