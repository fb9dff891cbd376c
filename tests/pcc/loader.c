// SPDX-License-Identifier: GPL-2.0
/*
 * The host's side of a NIC that is none, for mlcc-pcc: it "loads" the firmware of nic.h, which is
 * in this program, and says on standard error what becomes of it.  There are mlx5_0, and mlx5_1
 * that cannot be programmed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <doca_dev.h>
#include <doca_pcc.h>

#include "nic.h"

struct doca_devinfo {
	const char *name;
	bool programmable;
};

struct doca_dev {
	int opened;
};

struct doca_pcc {
	void *request, *response;
	u32 request_size, response_size;
	bool has_app, has_threads, started;
};

struct doca_pcc_app {
	int nothing;
};

static struct doca_devinfo infos[] = { { "mlx5_0", true }, { "mlx5_1", false } };
static struct doca_devinfo *list_of_infos[] = { &infos[0], &infos[1] };
static struct doca_dev device;
static struct doca_pcc pcc_of_device;
static struct doca_pcc_app app;

struct doca_pcc_app *mlcc_pcc_app = &app;

const char *doca_error_get_descr(doca_error_t error)
{
	static const char *const texts[] = {
		"success", "invalid value", "not found", "not supported", "unexpected",
	};

	return texts[error];
}

doca_error_t doca_devinfo_create_list(struct doca_devinfo ***list, uint32_t *count)
{
	*list = list_of_infos;
	*count = 2;
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **list)
{
	return list == list_of_infos ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *info, char *name, uint32_t size)
{
	snprintf(name, size, "%s", info->name);
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_get_is_pcc_supported(const struct doca_devinfo *info)
{
	return info->programmable ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
}

doca_error_t doca_dev_open(struct doca_devinfo *info, struct doca_dev **dev)
{
	(void)info;
	device.opened++;
	*dev = &device;
	return DOCA_SUCCESS;
}

doca_error_t doca_dev_close(struct doca_dev *dev)
{
	fprintf(stderr, "closed %d\n", dev->opened--);
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_create(struct doca_dev *dev, struct doca_pcc **pcc)
{
	(void)dev;
	*pcc = &pcc_of_device;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_destroy(struct doca_pcc *pcc)
{
	free(pcc->request);
	free(pcc->response);
	fprintf(stderr, "destroyed\n");
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_get_min_num_threads(struct doca_pcc *pcc, uint32_t *count)
{
	(void)pcc;
	*count = 2;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_get_max_num_threads(struct doca_pcc *pcc, uint32_t *count)
{
	(void)pcc;
	*count = 128;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_set_app(struct doca_pcc *pcc, struct doca_pcc_app *firmware)
{
	pcc->has_app = firmware == &app;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_set_thread_affinity(struct doca_pcc *pcc, uint32_t count, uint32_t *numbers)
{
	pcc->has_threads = true;
	fprintf(stderr, "threads %u: %u to %u\n", count, numbers[0], numbers[count - 1]);
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_set_mailbox(struct doca_pcc *pcc, uint32_t request_size,
				  uint32_t response_size)
{
	pcc->request_size = request_size;
	pcc->response_size = response_size;
	pcc->request = calloc(1, request_size);
	pcc->response = calloc(1, response_size);
	return pcc->request && pcc->response ? DOCA_SUCCESS : DOCA_ERROR_UNEXPECTED;
}

doca_error_t doca_pcc_start(struct doca_pcc *pcc)
{
	if (!pcc->has_app || !pcc->has_threads || !pcc->request)
		return DOCA_ERROR_INVALID_VALUE;
	nic_start();
	pcc->started = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_stop(struct doca_pcc *pcc)
{
	pcc->started = false;
	for (u32 i = 1; i < MLCC_PCC_JOBS; i++)
		if (nic.job[i].flows)
			fprintf(stderr, "job %u: %u of %llu, %u\n", i, nic.job[i].flows,
				(unsigned long long)nic.job[i].job.d_hint, nic.job[i].profile);
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_mailbox_get_request_buffer(struct doca_pcc *pcc, void **buffer)
{
	*buffer = pcc->request;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_mailbox_get_response_buffer(struct doca_pcc *pcc, void **buffer)
{
	*buffer = pcc->response;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_mailbox_send(struct doca_pcc *pcc, uint32_t request_size,
				   uint32_t *response_size, uint32_t *returned)
{
	if (!pcc->started || request_size > pcc->request_size)
		return DOCA_ERROR_INVALID_VALUE;
	fprintf(stderr, "message\n");
	*returned = doca_pcc_dev_user_mailbox_handle(pcc->request, request_size,
						     pcc->response_size, pcc->response,
						     response_size);
	return DOCA_SUCCESS;
}
