/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Not the SDK; see doca_pcc_dev.h. */
#ifndef MLCC_TESTS_PCC_SDK_ERROR_H
#define MLCC_TESTS_PCC_SDK_ERROR_H

typedef enum {
	DOCA_SUCCESS,
	DOCA_ERROR_INVALID_VALUE,
	DOCA_ERROR_NOT_FOUND,
	DOCA_ERROR_NOT_SUPPORTED,
	DOCA_ERROR_UNEXPECTED,
} doca_error_t;

const char *doca_error_get_descr(doca_error_t error);

#endif /* MLCC_TESTS_PCC_SDK_ERROR_H */
