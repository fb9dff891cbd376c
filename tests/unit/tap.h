/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Just enough of the Test Anything Protocol for the unit tests.
 *
 *	TEST(adds_up)
 *	{
 *		CHECK(1 + 1 == 2, "1 + 1 is %d", 1 + 1);
 *	}
 *
 *	TAP_MAIN
 */
#ifndef MLCC_TAP_H
#define MLCC_TAP_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAP_CHILD_S	120
#define TAP_SHOWN	5	/* failed checks of one test that are printed */

struct tap_test {
	const char *name;
	void (*run)(void);
	int line;
	struct tap_test *next;
};

/* one of a whole program, whichever of its files include this */
__attribute__((weak)) struct tap_test *tap_tests;
__attribute__((weak)) unsigned long tap_failed_checks;
__attribute__((weak)) char tap_skip_reason[256];

/* In the order in which they are written, whatever that of constructors is. */
static inline void tap_add(struct tap_test *test)
{
	struct tap_test **at = &tap_tests;

	while (*at && (*at)->line < test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

#define TEST(f)									\
	static void f(void);							\
	static void __attribute__((constructor)) tap_add_##f(void)		\
	{									\
		static struct tap_test test = { #f, f, __LINE__, NULL };	\
										\
		tap_add(&test);							\
	}									\
	static void f(void)

#define TAP_MAIN int main(void) { return tap_run(); }

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

/*
 *	if (tap_child(&child))
 *		tap_exit(body());
 *	tap_join(child, "what it does");
 *
 * What a child checks counts here.  It ends without destructors: threads may still run.
 */
static inline bool tap_child(pid_t *child)
{
	fflush(stdout);
	*child = fork();
	if (*child)
		return false;
	alarm(TAP_CHILD_S);
	tap_failed_checks = 0;
	return true;
}

#define tap_exit(...)				\
	do {					\
		__VA_ARGS__;			\
		fflush(stdout);			\
		_exit(!!tap_failed_checks);	\
	} while (0)

static inline bool tap_ended_well(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

#define tap_join(child, ...)	CHECK(tap_ended_well(child), __VA_ARGS__)

/* A test that runs in a child. */
#define TEST_ALONE(name)				\
	static void name##_body(void);			\
	TEST(name)					\
	{						\
		pid_t child;				\
							\
		if (tap_child(&child))			\
			tap_exit(name##_body());	\
		tap_join(child, "in its process");	\
	}						\
	static void name##_body(void)

static inline void tap_name(const char *name)
{
	for (; *name; name++)
		putchar(*name == '_' ? ' ' : *name);
}

/* Returns the exit status: 0, 1 after a failure, 4 if all were skipped (as kselftest has it). */
static inline int tap_run(void)
{
	unsigned int count = 0, failed = 0, skipped = 0;

	printf("TAP version 13\n");
	for (struct tap_test *test = tap_tests; test; test = test->next) {
		tap_failed_checks = 0;
		tap_skip_reason[0] = '\0';
		test->run();
		if (tap_failed_checks)
			printf("# %lu checks failed\n", tap_failed_checks);
		printf("%s %u ", tap_failed_checks ? "not ok" : "ok", ++count);
		tap_name(test->name);
		if (!tap_failed_checks && tap_skip_reason[0])
			printf(" # SKIP %s", tap_skip_reason);
		putchar('\n');
		fflush(stdout);
		failed += !!tap_failed_checks;
		skipped += !tap_failed_checks && tap_skip_reason[0];
	}
	printf("1..%u\n", count);
	return failed ? 1 : count && skipped == count ? 4 : 0;
}

#endif /* MLCC_TAP_H */
