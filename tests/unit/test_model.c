// SPDX-License-Identifier: GPL-2.0
/* D_phase from a model: against what papers have measured on the wire, and at the limits. */
#include <math.h>
#include <string.h>

#include "../../userspace/mlcc-ctl/model.c"
#include "tap.h"

/*
 * Rings of 4, measured: Salamy, "Network Requirements for Distributed ML Training in the Cloud".
 * Gradients that a worker pushes once to servers elsewhere: TMDML, and Jain et al.
 */
TEST(phases_are_as_published)
{
	static const struct {
		const char *name;
		unsigned int workers;
		enum model_algorithm a;
		double unit, is, off;
	} published[] = {
		{ "bert-large", 4, MODEL_RING, 1e6, 2011, 1 },
		{ "vgg16", 4, MODEL_RING, 1e6, 830, 1 },
		{ "densenet161", 4, MODEL_RING, 1e6, 172, 1 },
		{ "resnet50", 4, MODEL_RING, 1e6, 153, 1 },
		{ "resnet50", 2, MODEL_PS, 1 << 20, 97.6, .2 },
		{ "vgg16", 2, MODEL_PS, 1 << 20, 527.8, .1 },
	};

	for (unsigned int i = 0; i < sizeof(published) / sizeof(*published); i++) {
		const struct model *m = model_find(published[i].name);
		uint64_t n = 0;
		double is;

		CHECK(m && !model_phase_bytes(m->parameters, 4, published[i].workers,
					      published[i].a, &n), "%s", published[i].name);
		is = n / published[i].unit;
		CHECK(fabs(is - published[i].is) < published[i].off, "%s: %g, published %g",
		      published[i].name, is, published[i].is);
	}
}

/* Halves are rounded up; what makes no sense is refused (0), and writes nothing. */
TEST(algorithms_differ_as_they_should)
{
	static const struct {
		uint64_t parameters, workers;
		unsigned int bytes;
		enum model_algorithm a;
		uint64_t want;
	} cases[] = {
		{ 1000, 2, 4, MODEL_RING, 4000 }, { 1000, 4, 2, MODEL_RING, 3000 },
		{ 1000, 4, 4, MODEL_TREE, 6000 }, { 1000, 4, 4, MODEL_ALL_TO_ALL, 6000 },
		{ 1000, 4, 4, MODEL_PS, 4000 }, { 1000, 5, 4, MODEL_PS_SHARED, 6400 },
		{ 1, 3, 1, MODEL_RING, 2 }, { 1, 7, 2, MODEL_RING, 4 },
		{ 0, 4, 4, MODEL_RING, 0 }, { 1000, 4, 0, MODEL_RING, 0 },
		{ 1000, 0, 4, MODEL_RING, 0 }, { 1000, 1, 4, MODEL_RING, 0 },
		{ UINT64_MAX, 4, 4, MODEL_RING, 0 },
		/* 2^48 bytes, and just below */
		{ 1ULL << 46, 2, 4, MODEL_PS, 0 }, { (1ULL << 46) - 1, 3, 4, MODEL_RING, 0 },
		{ (1ULL << 46) - 1, 2, 4, MODEL_PS, (1ULL << 48) - 4 },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t n = 0;
		int err = model_phase_bytes(cases[i].parameters, cases[i].bytes, cases[i].workers,
					    cases[i].a, &n);

		CHECK(!err == !!cases[i].want && n == cases[i].want, "case %u: %d, %ju", i, err, n);
	}
}

TAP_MAIN
