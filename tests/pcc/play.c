// SPDX-License-Identifier: GPL-2.0
/*
 * Plays vectors.h and prints a digest of all that came out, and how many decreases, events with a
 * progress, and parameters taken and refused there were: on rv64 and on the host the same.
 */
#include "bare.h"
#include "vectors.h"

#define EVENTS	200000

static struct vectors vectors;

static u32 put_hex(char *line, u32 at, u64 value)
{
	for (u32 digits = 16; digits--;)
		line[at++] = "0123456789abcdef"[value >> 4 * digits & 15];
	line[at++] = ' ';
	return at;
}

int main(void)
{
	char line[96];
	u32 at = 0;

	vectors_init(&vectors);
	for (u32 i = 0; i < EVENTS; i++)
		vectors_next(&vectors);
	at = put_hex(line, at, vectors.digest);
	at = put_hex(line, at, vectors.decreases);
	at = put_hex(line, at, vectors.progress);
	at = put_hex(line, at, vectors.taken);
	at = put_hex(line, at, vectors.refused);
	line[at - 1] = '\n';
	return !bare_write(line, at);
}
