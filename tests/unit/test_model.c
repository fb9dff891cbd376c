// SPDX-License-Identifier: GPL-2.0
/* D_phase from a model: against what papers have measured on the wire, and at the limits. */
#include <string.h>

#include "../../userspace/mlcc-ctl/model.c"
#include "tap.h"

static uint64_t phase(const char *name, unsigned int bytes, uint64_t workers, bool elsewhere)
{
	const struct model *m = model_find(name);
	uint64_t n = 0;

	CHECK(m, "%s is missing", name);
	if (m)
		CHECK(!model_phase_bytes(m->parameters, bytes, workers, elsewhere, &n), "%s", name);
	return n;
}

/* Salamy, "Network Requirements for Distributed ML Training in the Cloud": rings of 4, in MB */
TEST(rings_are_as_measured)
{
	static const struct {
		const char *name;
		double mb;
	} measured[] = {
		{ "bert-large", 2011 }, { "vgg16", 830 }, { "densenet161", 172 },
		{ "resnet50", 153 },
	};

	for (unsigned int i = 0; i < sizeof(measured) / sizeof(*measured); i++) {
		double is = phase(measured[i].name, 4, 4, false) / 1e6;

		CHECK(is > measured[i].mb - 1 && is < measured[i].mb + 1, "%s: %g, measured %g",
		      measured[i].name, is, measured[i].mb);
	}
}

/* TMDML, and Jain et al.: gradients in MiB; a worker pushes them once to servers elsewhere */
TEST(sizes_are_as_published)
{
	double resnet = phase("resnet50", 4, 2, true) / 1048576.0;
	double vgg = phase("vgg16", 4, 2, true) / 1048576.0;

	CHECK(resnet > 97.4 && resnet < 97.8, "%g", resnet);
	CHECK(vgg > 527.7 && vgg < 527.9, "%g", vgg);
}

/* Halves are rounded up. */
TEST(algorithms_differ_as_they_should)
{
	static const struct {
		uint64_t parameters, workers;
		unsigned int bytes;
		bool elsewhere;
		uint64_t want;
	} cases[] = {
		{ 1000, 2, 4, false, 4000 }, { 1000, 4, 2, false, 3000 },
		{ 1000, 4, 4, false, 6000 }, { 1000, 4, 4, true, 4000 },
		{ 1000, 5, 4, false, 6400 }, { 1, 3, 1, false, 2 }, { 1, 7, 2, false, 4 },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t n = 0;

		CHECK(!model_phase_bytes(cases[i].parameters, cases[i].bytes, cases[i].workers,
					 cases[i].elsewhere, &n) && n == cases[i].want,
		      "case %u: %ju", i, n);
	}
}

TEST(what_makes_no_sense_is_refused)
{
	uint64_t n = 5;

	CHECK(model_phase_bytes(0, 4, 4, false, &n), "no parameters");
	CHECK(model_phase_bytes(1000, 0, 4, false, &n), "no bytes");
	CHECK(model_phase_bytes(1000, 4, 0, false, &n), "no workers");
	CHECK(model_phase_bytes(1000, 4, 1, false, &n), "one worker");
	CHECK(model_phase_bytes(UINT64_MAX, 4, 4, false, &n), "2^64");
	CHECK(model_phase_bytes(1ULL << 46, 4, 2, true, &n), "2^48 bytes");
	CHECK(model_phase_bytes((1ULL << 46) - 1, 4, 3, false, &n), "2^48 bytes in a ring");
	CHECK(n == 5, "it was written to");
	CHECK(!model_phase_bytes((1ULL << 46) - 1, 4, 2, true, &n), "just below");
}

TAP_MAIN
