// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "../libmlcc/libmlcc.h"
#include "model.h"

/*
 * Trainable parameters, of the models that the papers in this field measure.  Figures in brackets
 * are what was measured on the wire, or the size in memory, and agree (tests/unit/test_model.c).
 */
const struct model models[] = {
	{ "alexnet", 61100840, "torchvision alexnet" },
	{ "resnet50", 25557032, "torchvision resnet50 (97.5 MiB; 153 MB a ring of 4)" },
	{ "vgg16", 138357544, "torchvision vgg16 (527.8 MiB; 830 MB a ring of 4)" },
	{ "vgg19", 143667240, "torchvision vgg19" },
	{ "wideresnet50-2", 68883240, "torchvision wide_resnet50_2" },
	{ "wideresnet101-2", 126886696, "torchvision wide_resnet101_2" },
	{ "densenet161", 28681000, "torchvision densenet161 (172 MB a ring of 4)" },
	{ "bert-base", 109482240, "bert-base-uncased without heads" },
	{ "bert-large", 335141888, "bert-large-uncased without heads (2011 MB a ring of 4)" },
	{ "dlrm", 2368897, "MLPerf DLRM, dense layers only; embeddings are exchanged otherwise" },
};

const size_t model_count = sizeof(models) / sizeof(*models);

const struct model *model_find(const char *name)
{
	for (size_t i = 0; i < model_count; i++)
		if (!strcmp(models[i].name, name))
			return &models[i];
	return NULL;
}

int model_phase_bytes(uint64_t parameters, unsigned int bytes, uint64_t workers, bool elsewhere,
		      uint64_t *phase)
{
	unsigned __int128 n = (unsigned __int128)parameters * bytes;

	if (!parameters || !bytes || workers < 2)
		return -ERANGE;
	if (n > MLCC_PHASE_BYTES_LIMIT || workers > UINT32_MAX)
		return -ERANGE;
	if (!elsewhere)
		n = (n * 2 * (workers - 1) + workers - 1) / workers;
	if (n > MLCC_PHASE_BYTES_LIMIT)
		return -ERANGE;
	*phase = n;
	return 0;
}
