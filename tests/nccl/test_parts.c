// SPDX-License-Identifier: GPL-2.0
/* The plugin's parts that can be looked at by themselves. */
#include <stdlib.h>
#include <string.h>

#include "../../userspace/nccl/history.h"
#include "../../userspace/libmlcc-hint/mlcc_hint.h"
#include "../../userspace/libmlcc-hint/reply.h"
#include "../unit/tap.h"

static struct history *h;

/* A phase called @name that began as @first does, of @bytes. */
static void add(char first, char name, uint64_t bytes)
{
	static uint64_t now;
	struct past_phase p = { first, name, 1, bytes, now += 10 };

	history_add(h, &p);
}

static uint64_t bytes_of(char first)
{
	const struct past_phase *p = history_find(h, first);

	return p ? p->bytes : 0;
}

static void new_history(void)
{
	free(h);
	h = calloc(1, sizeof(*h));
}

/* All layers begin alike; where the run of the one ends, only the iteration says. */
TEST(runs_of_equal_phases_do_not_hide_their_end)
{
	new_history();
	for (int iteration = 0; iteration < 5; iteration++) {
		for (int layer = 0; layer < 48; layer++) {
			char name = layer < 24 ? 'F' : 'B';

			/* after two iterations, the first turn shows that they were two */
			CHECK(iteration * 48 + layer < 97 || bytes_of('x') == (uint64_t)name,
			      "iteration %d, layer %d: %c", iteration, layer, (char)bytes_of('x'));
			add('x', name, name);
		}
	}
}

TEST(a_change_is_followed)
{
	new_history();
	for (int i = 0; i < 4; i++)
		add('x', "AB"[i % 2], "AB"[i % 2]);
	CHECK(h->lag == 2, "lag %u", h->lag);
	for (int i = 0; i < 36; i++) {
		char name = "CDE"[i % 3];

		CHECK(i < 6 || (h->lag == 3 && bytes_of('x') == (uint64_t)name),
		      "phase %d: lag %u, %c", i, h->lag, (char)bytes_of('x'));
		add('x', name, name);
	}
	CHECK(history_period(h, h->phases[(h->count - 3) % HISTORY_PHASES].start_ns + 77) == 77,
	      "the period");
}

TEST(what_never_repeats_is_no_iteration)
{
	new_history();
	for (int i = 0; i < 2000; i++) {
		struct past_phase p = { 1, i, 1, i, i };

		history_add(h, &p);
		CHECK(!h->lag, "lag %u after %d", h->lag, i);
		CHECK(bytes_of(1) == (uint64_t)i, "phase %d", i);
	}
	CHECK(!history_find(h, 2), "one that never was");
}

TEST(no_handle_says_and_waits_for_nothing)
{
	CHECK(mlcc_hint_attach(NULL, 1000) < 0, "attached");
	mlcc_hint_wait(NULL);
	mlcc_hint_start(NULL, 5000);
	mlcc_hint_end(NULL);
	mlcc_hint_sent(NULL, 10);
	CHECK(!mlcc_hint_linked(NULL) && !mlcc_hint_sent_bytes(NULL), "it says something");
	mlcc_hint_free(NULL);
}

/* Every reply, cut off anywhere, or with any byte changed, ends within its memory. */
TEST(replies_may_be_anything)
{
	static const char good[] = "{\"ok\":true,\"error\":\"a\\\"b\",\"jobs\":[{\"id\":12,\"n\":\"\\\\\"}]}";
	char why[8];

	for (size_t cut = 0; cut < sizeof(good); cut++) {
		for (int byte = 0; byte < 256; byte++) {
			char *text = malloc(cut + 1);

			memcpy(text, good, cut);
			text[cut] = '\0';
			if (cut)
				text[cut / 2] = byte;
			reply_ok(text);
			CHECK(reply_id(text) <= 65535, "an id out of range");
			reply_why(text, why, sizeof(why));
			CHECK(strlen(why) < sizeof(why), "too long");
			free(text);
		}
	}
}

TAP_MAIN
