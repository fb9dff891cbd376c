// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stddef.h>

#include "symptoms.h"

static uint32_t symptoms_add(uint32_t sum, uint64_t us)
{
	return us > SYMPTOMS_AFTER_US - sum ? SYMPTOMS_AFTER_US : sum + us;
}

enum symptom symptoms_look(struct symptoms *s, const uint64_t *cnps, uint64_t now_us)
{
	uint64_t us = s->look_us ? now_us - s->look_us : 0;

	if (s->sends) {
		s->silent_us = 0;
		s->told_silent = false;
		s->sending_us = symptoms_add(s->sending_us, us);
	} else {
		s->silent_us = symptoms_add(s->silent_us, us);
	}
	if (cnps && *cnps != s->cnps) {
		s->cnps = *cnps;
		s->sending_us = 0;
		s->told_cnp = false;
	}
	s->look_us = now_us;
	s->sends = false;
	if (s->silent_us == SYMPTOMS_AFTER_US && !s->told_silent) {
		s->told_silent = true;
		return SYMPTOM_NO_PROGRESS;
	}
	if (cnps && s->sending_us == SYMPTOMS_AFTER_US && !s->told_cnp) {
		s->told_cnp = true;
		return SYMPTOM_NO_CNP;
	}
	return SYMPTOM_NONE;
}
