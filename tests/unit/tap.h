/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Just enough of the Test Anything Protocol for the unit tests.
 *
 *	static void adds_up(void)
 *	{
 *		CHECK(1 + 1 == 2, "1 + 1 is %d", 1 + 1);
 *	}
 *
 *	int main(void)
 *	{
 *		static const struct tap_test tests[] = { TAP_TEST(adds_up) };
 *
 *		return TAP_RUN(tests);
 *	}
 */
#ifndef MLCC_TAP_H
#define MLCC_TAP_H

#include <stdio.h>

#define TAP_SHOWN	5	/* failed checks of one test that are printed */

struct tap_test {
	const char *name;
	void (*run)(void);
};

static unsigned long tap_failed_checks;
static char tap_skip_reason[256];

#define TAP_TEST(f)	{ #f, f }
#define TAP_RUN(tests)	tap_run(tests, sizeof(tests) / sizeof(*(tests)))

/* A test goes on after a failed check, so the arguments say which case it was. */
#define CHECK(cond, ...)							\
	do {									\
		if (!(cond) && ++tap_failed_checks <= TAP_SHOWN) {		\
			printf("# %s:%d: %s: ", __FILE__, __LINE__, #cond);	\
			printf(__VA_ARGS__);					\
			putchar('\n');						\
		}								\
	} while (0)

/* The test in which this is called cannot run here; it returns right after. */
#define TAP_SKIP(...) snprintf(tap_skip_reason, sizeof(tap_skip_reason), __VA_ARGS__)

static inline void tap_name(const char *name)
{
	for (; *name; name++)
		putchar(*name == '_' ? ' ' : *name);
}

/* Returns the exit status: 0, 1 after a failure, 4 if all were skipped (as kselftest has it). */
static inline int tap_run(const struct tap_test *tests, unsigned int count)
{
	unsigned int failed = 0, skipped = 0;

	printf("TAP version 13\n1..%u\n", count);
	for (unsigned int i = 0; i < count; i++) {
		tap_failed_checks = 0;
		tap_skip_reason[0] = '\0';
		tests[i].run();
		if (tap_failed_checks)
			printf("# %lu checks failed\n", tap_failed_checks);
		printf("%s %u ", tap_failed_checks ? "not ok" : "ok", i + 1);
		tap_name(tests[i].name);
		if (!tap_failed_checks && tap_skip_reason[0])
			printf(" # SKIP %s", tap_skip_reason);
		putchar('\n');
		fflush(stdout);
		failed += !!tap_failed_checks;
		skipped += !tap_failed_checks && tap_skip_reason[0];
	}
	return failed ? 1 : count && skipped == count ? 4 : 0;
}

#endif /* MLCC_TAP_H */
