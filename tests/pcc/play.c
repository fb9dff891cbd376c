// SPDX-License-Identifier: GPL-2.0
/*
 * Plays vectors.h and prints what came out; on rv64 and on the host that must be the same to the
 * last bit.
 *
 *	index rate digest			every EVERY events, hexadecimal
 *	decreases ... progress ...		at the end
 */
#include "bare.h"
#include "vectors.h"

#define EVENTS	200000
#define EVERY	1000

static u32 put_word(char *line, u32 at, const char *word)
{
	while (*word)
		line[at++] = *word++;
	return at;
}

static u32 put_hex(char *line, u32 at, u64 value, u32 digits)
{
	line[at++] = ' ';
	while (digits--)
		line[at++] = "0123456789abcdef"[value >> 4 * digits & 15];
	return at;
}

static bool put_event(const struct vectors *v, u32 rate)
{
	char line[80];
	u32 at = put_word(line, 0, "event");

	at = put_hex(line, at, v->index, 8);
	at = put_hex(line, at, rate, 8);
	at = put_hex(line, at, v->digest, 16);
	line[at++] = '\n';
	return bare_write(line, at);
}

static bool put_sums(const struct vectors *v)
{
	char line[80];
	u32 at = put_word(line, 0, "sums");

	at = put_hex(line, at, v->decreases, 8);
	at = put_hex(line, at, v->progress, 8);
	at = put_hex(line, at, v->taken, 8);
	at = put_hex(line, at, v->refused, 8);
	line[at++] = '\n';
	return bare_write(line, at);
}

static struct vectors vectors;

int main(void)
{
	vectors_init(&vectors);
	for (u32 i = 1; i <= EVENTS; i++) {
		u32 rate = vectors_next(&vectors);

		if (i % EVERY == 0 && !put_event(&vectors, rate))
			return 1;
	}
	return !put_sums(&vectors);
}
