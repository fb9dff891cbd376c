// SPDX-License-Identifier: GPL-2.0
/*
 * rdma/dcqcn/: the reaction point against dcqcn_model.h, and what must hold whatever happens.
 */
#include <string.h>

#include "../../include/mlcc/profiles.h"
#include "../../rdma/dcqcn/np.h"
#include "../../rdma/dcqcn/rp.h"
#include "dcqcn_model.h"
#include "random.h"
#include "tap.h"

#define MBPS	1000U			/* rates in kb/s */
#define LINE	(40000 * MBPS)
#define RUNS	400
#define EVENTS	600
#define US	1000U
#define MS	1000000U

static const char *const variant_names[] = MLCC_RP_VARIANT_NAMES;
static const struct mlcc_rp_gain plain = { MLCC_ONE, MLCC_ONE, MLCC_ONE, MLCC_ONE };

static u32 at_most(u64 *seed, u32 limit)
{
	return random_below(seed, (u64)limit + 1);
}

/* Any parameters, whether an implementation has them or not. */
static struct mlcc_rp_param any_param(u64 *seed)
{
	struct mlcc_rp_param c;

	mlcc_rp_param_init(&c, at_most(seed, MLCC_RP_VARIANTS - 1), LINE, MBPS);
	c.time_ns = 20 * US + at_most(seed, MS);
	c.alpha_ns = US + at_most(seed, MS);
	c.bytes = at_most(seed, 1) ? 1000000 + at_most(seed, 20000000) : 0;
	c.cut_ns = at_most(seed, 1) ? at_most(seed, 200 * US) : 0;
	c.cut_max = MLCC_ONE / 50 + at_most(seed, MLCC_ONE / 2);
	c.first_rate = at_most(seed, 3) ? 0 : c.min_rate + at_most(seed, LINE / 2);
	c.alpha_init = at_most(seed, MLCC_ONE);
	c.g = 1 + at_most(seed, MLCC_ONE / 8);
	c.threshold = at_most(seed, 8);
	c.stages = at_most(seed, MLCC_RP_STAGES_COUNT - 1);
	c.flags = at_most(seed, MLCC_RP_FLAGS) & ~MLCC_RP_SHRINK;
	return c;
}

static bool close_to(double is, double wanted, double within, double units)
{
	return fabs(is - wanted) <= wanted * within + units;
}

/*
 * A hyper increase that is made good in bulk may lag, so gaps are short of that here.
 * Returns false if the comparison ends: rounding has one flow at line rate a step before the other.
 */
static bool step_both(struct mlcc_rp *rp, struct model *m, const struct mlcc_rp_gain *gain,
		      u64 *now, u64 *seed)
{
	u32 what = at_most(seed, 9), bytes = at_most(seed, 300000);

	*now += at_most(seed, what ? 60 * US : MLCC_RP_STEPS * m->c->time_ns);
	if (what == 1) {
		bool cut;

		mlcc_rp_advance(rp, m->c, gain, *now);
		model_advance(m, *now);
		if (mlcc_rp_free(rp, m->c) != model_free(m))
			return false;
		cut = mlcc_rp_cnp(rp, m->c, gain, *now);
		CHECK(cut == model_cnp(m, *now), "one has cut, the other not");
	} else {
		mlcc_rp_sent(rp, m->c, gain, *now, bytes);
		model_sent(m, *now, bytes);
	}
	return true;
}

/* Returns how many events were compared. */
static u32 compare_runs(const struct mlcc_rp_param *c, u64 seed)
{
	u64 now = random_u64(&seed) >> 20;
	struct mlcc_rp_gain gain = plain;
	struct mlcc_rp rp;
	struct model m;

	gain.ai = MLCC_ONE / 4 + at_most(&seed, 8 * MLCC_ONE);
	gain.cut = MLCC_ONE / 8 + at_most(&seed, MLCC_ONE * 7 / 8);
	mlcc_rp_init(&rp, c, now);
	model_init(&m, c, now);
	m.grow_ai = gain.ai / 65536.0;
	m.yield = gain.cut / 65536.0;
	for (u32 i = 0; i < EVENTS; i++) {
		if (!step_both(&rp, &m, &gain, &now, &seed))
			return i;
		CHECK(close_to(rp.rc, m.rc, 1e-3, 100), "event %u: R_C %u, not %.0f", i, rp.rc, m.rc);
		CHECK(close_to(rp.rt, m.rt, 1e-3, 100), "event %u: R_T %u, not %.0f", i, rp.rt, m.rt);
		CHECK(close_to(rp.alpha, m.alpha * MLCC_RP_ALPHA_ONE, 1e-3, 65536),
		      "event %u: alpha %u, not %.0f", i, rp.alpha, m.alpha * MLCC_RP_ALPHA_ONE);
		if (tap_failed_checks)
			return i;
	}
	return EVENTS;
}

static void any_parameters_follow_the_model(void)
{
	u64 seed = 1;
	u32 events = 0;

	for (u32 run = 0; run < RUNS; run++) {
		struct mlcc_rp_param c = any_param(&seed);

		CHECK(mlcc_rp_param_valid(&c), "run %u: the parameters are not valid", run);
		events += compare_runs(&c, run);
		if (tap_failed_checks) {
			printf("# run %u: stages %u flags %u F %u B %u T %u\n", run, c.stages,
			       c.flags, c.threshold, c.bytes, c.time_ns);
			return;
		}
	}
	CHECK(events > RUNS * EVENTS / 2, "only %u events were compared", events);
}

static void each_variant_follows_the_model(void)
{
	struct mlcc_rp_param c;
	u32 events;

	for (u32 v = 0; v < MLCC_RP_VARIANTS; v++) {
		mlcc_rp_param_init(&c, v, LINE, MBPS);
		CHECK(mlcc_rp_param_valid(&c), "%s: not valid", variant_names[v]);
		events = 0;
		for (u32 run = 0; run < 20; run++)
			events += compare_runs(&c, run);
		CHECK(events > 10 * EVENTS, "%s: only %u events were compared", variant_names[v],
		      events);
		if (tap_failed_checks) {
			printf("# variant %s\n", variant_names[v]);
			return;
		}
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(each_variant_follows_the_model),
		TAP_TEST(any_parameters_follow_the_model),
	};

	return TAP_RUN(tests);
}
