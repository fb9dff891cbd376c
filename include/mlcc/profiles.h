/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The profiles that come with mlcc: one table for every carrier.
 *
 *	hotnets22	R_AI (1 + D_sent/D_phase), the paper's rule to the letter
 *	mltcp		0.25 + 1.75 p, slope and intercept of MLTCP (HotNets '24)
 *	interleave	the default: Documentation/how-it-works.md
 */
#ifndef MLCC_PROFILES_H
#define MLCC_PROFILES_H

#include "rule.h"

enum mlcc_profile_id {
	MLCC_PROFILE_INTERLEAVE,	/* 0, so that it is the default */
	MLCC_PROFILE_HOTNETS22,
	MLCC_PROFILE_MLTCP,
	MLCC_PROFILE_COUNT,
};

#define MLCC_PROFILE_NAMES { "interleave", "hotnets22", "mltcp" }

#define MLCC_Q16(whole, percent) ((whole) * MLCC_ONE + (percent) * MLCC_ONE / 100)

#define MLCC_PROFILE_TABLE {						\
	[MLCC_PROFILE_INTERLEAVE] = {					\
		.floor = MLCC_ONE, .slope = MLCC_Q16(8, 0),		\
		.hold = MLCC_ONE - MLCC_ONE / 8, .shape = 2,		\
		.base = MLCC_BASE_CUBIC, .restart = MLCC_RESTART_QUEUE,	\
	},								\
	[MLCC_PROFILE_HOTNETS22] = {					\
		.floor = MLCC_ONE, .slope = MLCC_ONE, .shape = 1,	\
		.base = MLCC_BASE_RENO, .restart = MLCC_RESTART_BASE,	\
	},								\
	[MLCC_PROFILE_MLTCP] = {					\
		.floor = MLCC_Q16(0, 25), .slope = MLCC_Q16(1, 75),	\
		.shape = 1,						\
		.base = MLCC_BASE_RENO, .restart = MLCC_RESTART_BASE,	\
	},								\
}

#endif /* MLCC_PROFILES_H */
