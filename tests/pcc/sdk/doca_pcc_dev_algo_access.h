/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Not the SDK; see doca_pcc_dev.h. */
#ifndef MLCC_TESTS_PCC_SDK_ALGO_ACCESS_H
#define MLCC_TESTS_PCC_SDK_ALGO_ACCESS_H

#include "doca_pcc_dev.h"

struct doca_pcc_dev_algo_meta_data {
	uint32_t algo_id, algo_major_version, algo_minor_version, algo_desc_size;
	uint64_t algo_desc_addr;
};

doca_pcc_dev_error_t doca_pcc_dev_algo_init_metadata(uint32_t algo,
						     struct doca_pcc_dev_algo_meta_data *meta,
						     uint32_t params, uint32_t counters);
doca_pcc_dev_error_t doca_pcc_dev_algo_init_param(uint32_t algo, uint32_t param, uint32_t value,
						  uint32_t max, uint32_t min, uint32_t permission,
						  uint32_t name_size, uint64_t name);
doca_pcc_dev_error_t doca_pcc_dev_init_algo_slot(uint32_t port, uint32_t slot, uint32_t algo,
						 uint32_t enabled);

#endif /* MLCC_TESTS_PCC_SDK_ALGO_ACCESS_H */
