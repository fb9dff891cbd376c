// SPDX-License-Identifier: GPL-2.0
/*
 * The reaction point of rdma/dcqcn/ against dcqcn_model.h, and what must hold whatever happens.
 */
#include <stddef.h>
#include <string.h>

#include "../../include/mlcc/profiles.h"
#include "../../rdma/dcqcn/job.h"
#include "../dcqcn/variants.h"
#include "dcqcn_model.h"
#include "random.h"
#include "tap.h"

#define MBPS	1000U			/* rates in kb/s */
#define LINE	(40000 * MBPS)
#define RUNS	400
#define EVENTS	600
#define US	1000U
#define MS	1000000U

static const struct mlcc_profile profiles[] = MLCC_PROFILE_TABLE;
static const struct mlcc_profile *const ours = &profiles[MLCC_PROFILE_INTERLEAVE];
static const struct dcqcn_gain plain = {
	.ai = MLCC_ONE, .decrease = MLCC_ONE, .most = MLCC_ONE,
};

static u32 at_most(u64 *seed, u32 limit)
{
	return random_below(seed, (u64)limit + 1);
}

/* Any parameters, whether an implementation has them or not. */
static struct dcqcn_param any_param(u64 *seed)
{
	struct dcqcn_param c;

	dcqcn_param_init(&c, at_most(seed, DCQCN_VARIANTS - 1), LINE, MBPS);
	c.time_ns = 20 * US + at_most(seed, MS);
	c.alpha_ns = US + at_most(seed, MS);
	c.bytes = at_most(seed, 1) ? 1000000 + at_most(seed, 20000000) : 0;
	c.decrease_ns = at_most(seed, 1) ? at_most(seed, 200 * US) : 0;
	c.decrease_max = MLCC_ONE / 50 + at_most(seed, MLCC_ONE / 2);
	c.first_rate = at_most(seed, 3) ? 0 : c.min_rate + at_most(seed, LINE / 2);
	c.alpha_init = at_most(seed, MLCC_ONE);
	c.g = 1 + at_most(seed, MLCC_ONE / 8);
	c.threshold = at_most(seed, 8);
	c.stages = at_most(seed, DCQCN_STAGES_COUNT - 1);
	c.flags = at_most(seed, DCQCN_FLAGS);
	return c;
}

static bool close_to(double is, double wanted, double within, double units)
{
	return fabs(is - wanted) <= wanted * within + units;
}

/*
 * Gaps are short of what is made good at once here, for that may be a little off.
 * Returns false if the comparison ends: rounding has one flow at line rate a step before the other.
 */
static bool step_both(struct dcqcn *rp, struct model *m, const struct dcqcn_gain *gain,
		      u64 *now, u64 *seed)
{
	u32 what = at_most(seed, 9), bytes = at_most(seed, 300000);

	*now += at_most(seed, what ? 60 * US : (DCQCN_FEW - 1) * m->c->time_ns);
	if (what == 1) {
		bool decreased;

		dcqcn_advance(rp, m->c, gain, *now);
		model_advance(m, *now);
		if (dcqcn_free(rp, dcqcn_line(m->c, gain)) != model_free(m))
			return false;
		decreased = dcqcn_cnp(rp, m->c, gain, *now);
		CHECK(decreased == model_cnp(m, *now), "one has decreased, the other not");
	} else {
		dcqcn_sent(rp, m->c, gain, *now, bytes);
		model_sent(m, *now, bytes);
	}
	return true;
}

/* Returns how many events were compared. */
static u32 compare_runs(const struct dcqcn_param *c, u64 seed)
{
	u64 now = random_u64(&seed) >> 20;
	struct dcqcn_gain gain = plain;
	struct dcqcn rp;
	struct model m;

	gain.ai = MLCC_ONE / 4 + at_most(&seed, 8 * MLCC_ONE);
	gain.decrease = MLCC_ONE / 16 + at_most(&seed, MLCC_ONE * 127 / 16);
	if (at_most(&seed, 1)) {
		gain.step = 1 + at_most(&seed, MLCC_ONE / 8);
		gain.least = 1 + at_most(&seed, MLCC_ONE >> DCQCN_FLOOR_SHIFT);
		gain.most = MLCC_ONE / 8 + at_most(&seed, MLCC_ONE * 7 / 8);
	}
	dcqcn_init(&rp, c, now);
	model_init(&m, c, now);
	m.grow = gain.ai / 65536.0;
	m.yield = gain.decrease / 65536.0;
	m.step = gain.step / 65536.0 * c->line;
	m.least = gain.least / 65536.0 * c->line;
	m.line = gain.most / 65536.0 * c->line;
	for (u32 i = 0; i < EVENTS; i++) {
		if (!step_both(&rp, &m, &gain, &now, &seed))
			return i;
		CHECK(close_to(rp.rc, m.rc, 1e-3, 100), "event %u: R_C %u, not %.0f", i, rp.rc,
		      m.rc);
		CHECK(close_to(rp.rt, m.rt, 1e-3, 100), "event %u: R_T %u, not %.0f", i, rp.rt,
		      m.rt);
		CHECK(close_to(dcqcn_alpha(&rp, c), m.alpha * DCQCN_ALPHA_ONE, 1e-3, 65536),
		      "event %u: alpha %u, not %.0f", i, dcqcn_alpha(&rp, c), m.alpha * DCQCN_ALPHA_ONE);
		if (tap_failed_checks)
			return i;
	}
	return EVENTS;
}

TEST(any_parameters_follow_the_model)
{
	u64 seed = 1;
	u32 events = 0;

	for (u32 run = 0; run < RUNS; run++) {
		struct dcqcn_param c = any_param(&seed);

		CHECK(dcqcn_param_valid(&c), "run %u: the parameters are not valid", run);
		events += compare_runs(&c, run);
		if (tap_failed_checks) {
			printf("# run %u: stages %u flags %u F %u B %u T %u\n", run, c.stages,
			       c.flags, c.threshold, c.bytes, c.time_ns);
			return;
		}
	}
	CHECK(events > RUNS * EVENTS / 2, "only %u events were compared", events);
}

/* The rule alone decides on the gain, and neutral is plain DCQCN. */
TEST(gain_is_the_rule)
{
	const struct mlcc_profile *paper = &profiles[MLCC_PROFILE_HOTNETS22];
	struct dcqcn_gain gain = dcqcn_gain(NULL, MLCC_NEUTRAL, DCQCN_OWN_LINE);

	CHECK(!memcmp(&gain, &plain, sizeof(gain)), "neutral is not plain");
	for (u32 p = 0; p <= MLCC_ONE; p += 64) {
		gain = dcqcn_gain(paper, p, DCQCN_OWN_LINE);
		CHECK(gain.ai == MLCC_ONE + p, "hotnets22 at %u: R_AI times %u", p, gain.ai);
		gain.ai = MLCC_ONE;
		CHECK(!memcmp(&gain, &plain, sizeof(gain)), "hotnets22 scales more than R_AI");
	}
}

/* Who is further decreases less. */
TEST(who_is_further_holds_on)
{
	double least = mlcc_yield(ours, MLCC_ONE) / 2;

	for (u32 p = 0; p <= MLCC_ONE; p += 64) {
		struct dcqcn_gain gain = dcqcn_gain(ours, p, DCQCN_OWN_LINE);
		double want = fmax(8 * MLCC_ONE * pow(1 - p / 65536.0, 6), least);

		CHECK(fabs(gain.decrease - want) <= 64, "p %u: %u, not %f", p, gain.decrease, want);
	}
}

/* A phase begins once, and a flow goes into it at the rate that it has. */
TEST(phases_are_entered_once)
{
	struct dcqcn_param c;
	struct dcqcn rp, before;

	dcqcn_param_init(&c, DCQCN_PAPER, LINE, MBPS);
	dcqcn_init(&rp, &c, 0);
	dcqcn_cnp(&rp, &c, &plain, MS);
	before = rp;
	before.seq = 3;
	CHECK(dcqcn_enter(&rp, 0x10003), "no phase has begun");
	CHECK(!dcqcn_enter(&rp, 0x10003), "the phase has begun twice");
	CHECK(!memcmp(&rp, &before, sizeof(rp)), "a phase has changed a flow's rate");
}

/* A flow of so few packets has no rate to come down to. */
TEST(flows_of_less_than_a_mebibyte_are_plain)
{
	struct dcqcn_gain gain;

	for (u32 share = 1; share <= 1024; share <<= 1) {
		gain = dcqcn_gain(ours, 0, dcqcn_own(LINE / share, LINE, (1 << 20) - 1));
		CHECK(!memcmp(&gain, &plain, sizeof(gain)), "1 / %u, a byte less", share);
		gain = dcqcn_gain(ours, 0, dcqcn_own(LINE / share, LINE, 1 << 20));
		CHECK(gain.decrease > MLCC_ONE && gain.step, "1 / %u, 1 MiB", share);
	}
	gain = dcqcn_gain(&profiles[MLCC_PROFILE_HOTNETS22], MLCC_ONE,
			  dcqcn_own(LINE, LINE, 0));
	CHECK(gain.ai == 2 * MLCC_ONE, "the paper's rule asks for nothing");
}

/* A flow's part is of what its job gets, and its rate stays above a part of that. */
TEST(parts_are_a_jobs)
{
	struct dcqcn_own own = dcqcn_own(LINE / 4, LINE, 100000000);
	struct dcqcn_gain gain = dcqcn_gain(ours, 0, own);
	struct dcqcn_param c;
	struct dcqcn rp;

	CHECK(own.part == MLCC_ONE / 4 && own.least == own.part >> 10, "a quarter: %u, %u",
	      own.part, own.least);
	CHECK(gain.step == own.part / 8, "without CNPs an eighth of it becomes free: %u", gain.step);
	own = dcqcn_own(2 * LINE, LINE, 0);
	CHECK(own.part == MLCC_ONE && own.least == MLCC_ONE, "more than the line: %u", own.part);
	own = dcqcn_own(0, LINE, 1 << 20);
	CHECK(own.part == MLCC_ONE && own.least == MLCC_ONE / 16, "256 packets: %u", own.least);
	own = dcqcn_own(1, LINE, ~0ULL);
	CHECK(own.part == 1 && own.least == 1, "never nothing: %u, %u", own.part, own.least);
	dcqcn_param_init(&c, DCQCN_MLX5, LINE, MBPS);
	dcqcn_init(&rp, &c, 0);
	for (u32 i = 1; i < 100; i++)
		dcqcn_cnp(&rp, &c, &gain, i * 10 * US);
	CHECK(rp.rc == LINE / 4 >> DCQCN_FLOOR_SHIFT, "R_C %u", rp.rc);
}

/* Who has sent all within some T is left alone. */
TEST(short_phases_are_plain)
{
	struct dcqcn_param c;

	dcqcn_param_init(&c, DCQCN_MLX5, LINE, MBPS);
	CHECK(dcqcn_progress(&c, 7, 2399) == MLCC_NEUTRAL, "a phase of less than 8 x 300 us");
	CHECK(dcqcn_progress(&c, 7, 2400) == 7, "a phase of 8 x 300 us");
	CHECK(dcqcn_progress(&c, 7, 0) == 7, "one that is not known");
}

/* Extremes of everything, with stamps that jump. */
static struct dcqcn_param extreme_param(u64 *seed)
{
	struct dcqcn_param c = any_param(seed);

	if (at_most(seed, 1))
		c.line = at_most(seed, 1) ? DCQCN_LINE_MAX : DCQCN_LINE_MIN;
	c.min_rate = DCQCN_RATE_MIN + at_most(seed, c.line / 16);
	c.ai = 1 + at_most(seed, c.line - 1);
	c.hai = at_most(seed, c.line);
	c.first_rate = at_most(seed, 1) ? c.min_rate : 0;
	c.time_ns = at_most(seed, 1) ? DCQCN_NS_MIN : DCQCN_NS_MAX;
	c.alpha_ns = at_most(seed, 1) ? DCQCN_NS_MIN : DCQCN_NS_MAX;
	c.bytes = at_most(seed, 1) ? DCQCN_BYTES_MIN : 0;
	c.g = at_most(seed, 1) ? MLCC_ONE : 1;
	c.decrease_max = at_most(seed, MLCC_ONE);
	c.threshold = at_most(seed, DCQCN_THRESHOLD_MAX);
	return c;
}

static struct dcqcn_gain extreme_gain(u64 *seed)
{
	u32 most = 2 * MLCC_GROW_MAX;

	return (struct dcqcn_gain) {
		.ai = at_most(seed, most), .decrease = at_most(seed, 8 * MLCC_ONE),
		.step = at_most(seed, MLCC_ONE), .least = at_most(seed, MLCC_ONE / 4),
		.most = MLCC_ONE / 4 + at_most(seed, MLCC_ONE * 3 / 4),
	};
}

static void any_event(struct dcqcn *rp, const struct dcqcn_param *c, u32 now, u64 *seed)
{
	struct dcqcn_gain gain = extreme_gain(seed);

	switch (at_most(seed, 9)) {
	case 0:
		dcqcn_cnp(rp, c, &gain, now);
		break;
	case 1:
		dcqcn_enter(rp, at_most(seed, 3));
		break;
	case 2:
	case 3:
	case 4:
		dcqcn_sent(rp, c, &gain, now, random_magnitude(seed));
		break;
	default:
		dcqcn_advance(rp, c, &gain, now);
	}
}

/* In every other run somebody turns the knobs while the flow runs: the least rate may be what it was. */
TEST(rates_stay_in_their_bounds)
{
	u64 seed = 2;

	for (u32 run = 0; run < 2 * RUNS; run++) {
		struct dcqcn_param c = extreme_param(&seed);
		u32 now = random_u64(&seed);
		struct dcqcn rp;

		CHECK(dcqcn_param_valid(&c), "run %u: the parameters are not valid", run);
		dcqcn_init(&rp, &c, now);
		for (u32 i = 0; i < EVENTS; i++) {
			if (run & 1 && i % 16 == 0)
				c = extreme_param(&seed);
			now += run & 1 ? at_most(&seed, MS) : (u32)random_magnitude(&seed);
			any_event(&rp, &c, now, &seed);
			if (run & 1)
				dcqcn_advance(&rp, &c, &plain, now);
			CHECK(rp.rc >= (run & 1 ? 1 : c.min_rate) && rp.rc <= rp.rt &&
			      rp.rt <= c.line && rp.alpha <= DCQCN_ALPHA_ONE,
			      "run %u, event %u: R_C %u R_T %u alpha %u of %u", run, i, rp.rc,
			      rp.rt, rp.alpha, c.line);
		}
	}
}

/* A flow does the same wherever the stamp wraps. */
TEST(stamps_wrap)
{
	u64 seed = 3;

	for (u32 run = 0; run < RUNS; run++) {
		struct dcqcn_param c = any_param(&seed);
		u64 sa = run, sb = run;
		struct dcqcn a, b;
		u32 now = 0;

		dcqcn_init(&a, &c, 0);
		dcqcn_init(&b, &c, -5 * MS);
		for (u32 i = 0; i < 100; i++) {
			now += at_most(&seed, 500 * US);
			any_event(&a, &c, now, &sa);
			any_event(&b, &c, now - 5 * MS, &sb);
		}
		b.stamp += 5 * MS;
		CHECK(!memcmp(&a, &b, sizeof(a)), "run %u: R_C %u and %u", run, a.rc, b.rc);
	}
}

/* What several CPUs bring out of order is taken for simultaneous. */
TEST(stamps_step_back)
{
	struct dcqcn_param c;
	struct dcqcn rp, before;

	dcqcn_param_init(&c, DCQCN_PAPER, LINE, MBPS);
	dcqcn_init(&rp, &c, 10 * MS);
	dcqcn_cnp(&rp, &c, &plain, 10 * MS);
	before = rp;
	dcqcn_advance(&rp, &c, &plain, 10 * MS - 1);
	dcqcn_advance(&rp, &c, &plain, 10 * MS - DCQCN_BACK_NS);
	CHECK(!memcmp(&rp, &before, sizeof(rp)), "a stamp from before has changed the flow");
	dcqcn_advance(&rp, &c, &plain, 10 * MS + c.time_ns);
	CHECK(rp.rc > before.rc, "time has not gone on");
}

/*
 * What is made good at once after a silence is what is made good step by step during it, give or
 * take a step.
 */
TEST(silences_are_made_good)
{
	u64 seed = 4;

	for (u32 run = 0; run < RUNS; run++) {
		struct dcqcn_param c = any_param(&seed);
		u32 step = at_most(&seed, 1) ? 1 + at_most(&seed, MLCC_ONE / 8) : 0;
		u32 periods = 1 + at_most(&seed, 3000);
		struct dcqcn_gain gain = plain;
		struct dcqcn once, often;

		c.bytes = 0;
		c.stages = DCQCN_STAGES_PAPER;
		c.flags &= ~DCQCN_SHRINK;
		c.ai = MBPS + at_most(&seed, 20 * MBPS);
		c.hai = c.ai / 20;
		gain.step = step;
		dcqcn_init(&once, &c, 0);
		for (u32 i = 0; i < 20; i++)
			dcqcn_cnp(&once, &c, &gain, i * MS);
		often = once;
		for (u32 i = 1; i <= periods; i++)
			dcqcn_advance(&often, &c, &gain, 19 * MS + i * c.time_ns);
		dcqcn_advance(&once, &c, &gain, 19 * MS + periods * c.time_ns);
		CHECK(close_to(once.rc, often.rc, 0, step ? dcqcn_of_line(&c, step) : c.ai),
		      "run %u, %u periods: R_C %u, not %u", run, periods, once.rc, often.rc);
		CHECK(dcqcn_alpha(&once, &c) == dcqcn_alpha(&often, &c),
		      "run %u, %u periods: alpha %u, not %u", run, periods,
		      dcqcn_alpha(&once, &c), dcqcn_alpha(&often, &c));
		CHECK(once.time_run == often.time_run, "run %u: the periods are not over alike",
		      run);
	}
}

/* Every parameter has its limits, and is refused beyond them. */
TEST(parameters_have_limits)
{
	static const struct { size_t at; u32 bad; } wrong[] = {
		{ offsetof(struct dcqcn_param, line), DCQCN_LINE_MAX + 1 },
		{ offsetof(struct dcqcn_param, line), 0 },
		{ offsetof(struct dcqcn_param, min_rate), DCQCN_RATE_MIN - 1 },
		{ offsetof(struct dcqcn_param, min_rate), LINE + 1 },
		{ offsetof(struct dcqcn_param, ai), 0 },
		{ offsetof(struct dcqcn_param, ai), LINE + 1 },
		{ offsetof(struct dcqcn_param, hai), LINE + 1 },
		{ offsetof(struct dcqcn_param, first_rate), 1 },
		{ offsetof(struct dcqcn_param, time_ns), DCQCN_NS_MIN - 1 },
		{ offsetof(struct dcqcn_param, time_ns), DCQCN_NS_MAX + 1 },
		{ offsetof(struct dcqcn_param, bytes), DCQCN_BYTES_MIN - 1 },
		{ offsetof(struct dcqcn_param, bytes), DCQCN_BYTES_MAX + 1 },
		{ offsetof(struct dcqcn_param, alpha_ns), DCQCN_NS_MIN - 1 },
		{ offsetof(struct dcqcn_param, alpha_ns), DCQCN_NS_MAX + 1 },
		{ offsetof(struct dcqcn_param, decrease_ns), DCQCN_NS_MAX + 1 },
		{ offsetof(struct dcqcn_param, g), 0 },
		{ offsetof(struct dcqcn_param, g), MLCC_ONE + 1 },
		{ offsetof(struct dcqcn_param, alpha_init), MLCC_ONE + 1 },
		{ offsetof(struct dcqcn_param, decrease_max), MLCC_ONE + 1 },
		/* F, stages and flags lie in one word */
		{ offsetof(struct dcqcn_param, threshold), ~0U },
	};
	struct dcqcn_param c;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		dcqcn_param_init(&c, DCQCN_PAPER, LINE, MBPS);
		memcpy((char *)&c + wrong[i].at, &wrong[i].bad, sizeof(wrong[i].bad));
		CHECK(!dcqcn_param_valid(&c), "%u at %zu is taken", wrong[i].bad, wrong[i].at);
	}
}

TAP_MAIN
