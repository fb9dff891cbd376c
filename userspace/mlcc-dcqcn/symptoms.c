// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stddef.h>

#include "symptoms.h"

/* @us more of it.  Whether that is a minute, once. */
static bool lasts(struct lasting *l, uint64_t us)
{
	l->us = us > SYMPTOMS_AFTER_US - l->us ? SYMPTOMS_AFTER_US : l->us + us;
	if (l->us < SYMPTOMS_AFTER_US || l->told)
		return false;
	l->told = true;
	return true;
}

enum symptom symptoms_look(struct symptoms *s, const uint64_t *cnps, uint64_t now_us)
{
	uint64_t us = s->look_us ? now_us - s->look_us : 0;
	enum symptom found = SYMPTOM_NONE;

	if (s->sends)
		s->silent = (struct lasting){ };
	else if (lasts(&s->silent, us))
		found = SYMPTOM_NO_PROGRESS;
	if (cnps && *cnps != s->cnps)
		s->unmarked = (struct lasting){ };
	else if (cnps && s->sends && lasts(&s->unmarked, us))
		found = SYMPTOM_NO_CNP;
	s->cnps = cnps ? *cnps : s->cnps;
	s->look_us = now_us;
	s->sends = false;
	return found;
}
