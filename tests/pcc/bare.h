/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program needs of its system: to write and to end.  On the host from the C library; on rv64
 * it is freestanding, as firmware is, and asks Linux itself, which QEMU's user mode stands for.
 */
#ifndef MLCC_PCC_BARE_H
#define MLCC_PCC_BARE_H

#include "../../include/mlcc/types.h"

#ifdef __riscv

#define SYS_WRITE	64
#define SYS_EXIT	93

static inline long bare_call(long number, long a, long b, long c)
{
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a7 __asm__("a7") = number;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
	return a0;
}

static inline bool bare_write(const char *text, u32 length)
{
	return bare_call(SYS_WRITE, 1, (long)text, length) == length;
}

/* A compiler may call these even where the source does not. */
void *memset(void *to, int value, unsigned long bytes);
void *memcpy(void *to, const void *from, unsigned long bytes);
void _start(void);
int main(void);

void *memset(void *to, int value, unsigned long bytes)
{
	volatile char *byte = to;

	while (bytes--)
		*byte++ = value;
	return to;
}

void *memcpy(void *to, const void *from, unsigned long bytes)
{
	const char *source = from;
	volatile char *byte = to;

	while (bytes--)
		*byte++ = *source++;
	return to;
}

void _start(void)
{
	bare_call(SYS_EXIT, main(), 0, 0);
}

#else
#include <unistd.h>

static inline bool bare_write(const char *text, u32 length)
{
	return write(STDOUT_FILENO, text, length) == (ssize_t)length;
}

#endif

#endif /* MLCC_PCC_BARE_H */
