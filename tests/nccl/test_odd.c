// SPDX-License-Identifier: GPL-2.0
/* What NCCL, or a defect of it, may do to a plugin at any time, and from several threads. */
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "case.h"

static struct comm begin(void)
{
	fake_start(NULL, false);
	return nccl_init(77, 2, 2);
}

CASE(odd_handles_and_states_do_nothing, 3, 7)
{
	static const uintptr_t handles[] = {
		0, 1, 2, 3, 4, 5, 0x1000, 0xffff1, 0xffff4, UINTPTR_MAX, UINTPTR_MAX - 11, 0x7fff12345671,
		0x7fff12345674, 0x100001, 0x100004, 0xdead0000dead0002,
	};
	struct comm c = begin();

	for (size_t i = 0; i < sizeof(handles) / sizeof(*handles); i++) {
		void *h = (void *)handles[i];

		for (int state = -1; state < 30; state++)
			nccl_state(h, state, 1000);
		nccl_state(h, 0x7fffffff, 1000);
		nccl_stop(h);
		nccl_stop(h);
		/* but not collectives and sends, whose names NCCL always has */
		for (int bit = 0; bit < 16; bit++)
			if (bit != 1 && bit != 2)
				nccl_stop(nccl_event(&c, 1ULL << bit, h));
	}
	EXPECT_NOTHING();
	still_works(&c);
}

CASE(a_handle_of_long_ago_is_nobodys, 3, 7)
{
	enum { MANY = 5000 };
	struct comm c = begin();
	struct op old = nccl_op(&c, NULL, 0, true);
	static struct op ops[MANY];

	nccl_stop(old.handle);
	/* all places are taken now, the old one's too */
	for (int i = 0; i < MANY; i++)
		ops[i] = nccl_op(&c, NULL, 0, true);
	nccl_send(&c, &old, 1000);
	nccl_stop(old.handle);
	EXPECT_NOTHING();
	for (int i = 0; i < MANY; i++)
		nccl_send(&c, &ops[i], 1);
	EXPECT_START(0);
	clock_forward_ms(100);
	nccl_stop(old.handle);
	for (int i = 0; i < MANY; i++)
		nccl_stop(ops[i].handle);
	clock_forward_ms(100);
	old = nccl_op(&c, NULL, 0, true);
	nccl_send(&c, &old, 1);
	EXPECT_END();
	/* one for each place of the pool */
	EXPECT_START(4096);
}

CASE(nonsense_counts_for_nothing, 3, 7)
{
	struct comm c = begin();
	struct op op = nccl_op(&c, NULL, 0, true);

	nccl_send(&c, &op, 100);
	if (nccl_version == 3) {
		nccl_state(op.handle, 2, SIZE_MAX);
		nccl_state(op.handle, 2, 50);
		nccl_state(op.handle, 3, 100);
	} else {
		void *step = nccl_event(&c, 16, op.handle);

		nccl_state(step, 9, SIZE_MAX);
		for (int i = 0; i < 100000; i++)
			nccl_state(step, 20, 1000);
	}
	nccl_stop(op.handle);
	clock_forward_ms(100);
	op = nccl_op(&c, NULL, 0, true);
	nccl_send(&c, &op, 1);
	EXPECT_START(0);
	EXPECT_END();
	EXPECT_START(100);
}

CASE(odd_contexts_have_no_events, 3, 7)
{
	struct comm c = begin(), odd = c;
	static char other;
	void *contexts[] = { NULL, &other, (char *)c.ctx + 1, (char *)c.ctx - 64000, (char *)c.ctx + 64 };

	for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++) {
		struct op op;

		odd.ctx = contexts[i];
		op = nccl_op(&odd, nccl_coll(&odd, &allreduce), 0, true);
		CHECK(!op.handle, "context %zu has an operation", i);
		nccl_finalize(&odd);
	}
	still_works(&c);
}

CASE(finalize_comes_with_events_open, 3, 7)
{
	struct comm a = begin(), b = nccl_init(78, 2, 2);
	struct op x = nccl_op(&a, NULL, 0, true), y = nccl_op(&b, NULL, 0, true), z;

	nccl_send(&a, &x, 1000);
	nccl_send(&b, &y, 1000);
	EXPECT_START(0);
	z = nccl_op_pxn();
	nccl_send(&a, &z, 1000);
	nccl_finalize(&a);
	EXPECT_NOTHING();
	nccl_send(&a, &x, 5000);
	nccl_finalize(&b);
	EXPECT_END();
	nccl_finalize(&b);
	EXPECT_NOTHING();
	/* NCCL unloads it now, and may come back */
	nccl_unload();
	nccl_load(nccl_version);
	a = nccl_init(77, 2, 2);
	still_works(&a);
	nccl_stop(x.handle);
	nccl_stop(y.handle);
	nccl_stop(z.handle);
	still_works(&a);
}

CASE(more_operations_than_places, 3, 7)
{
	enum { MANY = 6000 };
	static struct op ops[MANY];
	struct comm c = begin();

	for (int i = 0; i < MANY; i++) {
		ops[i] = nccl_op(&c, NULL, 0, true);
		nccl_send(&c, &ops[i], 10);
		CHECK(ops[i].handle, "operation %d goes unseen", i);
	}
	for (int i = 0; i < MANY; i++)
		nccl_stop(ops[i].handle);
	EXPECT_START(0);
	clock_forward_ms(100);
	ops[0] = nccl_op(&c, NULL, 0, true);
	nccl_send(&c, &ops[0], 10);
	nccl_stop(ops[0].handle);
	EXPECT_END();
	EXPECT_START(10 * MANY);
	still_works(&c);
}

CASE(many_communicators, 3, 7)
{
	enum { MANY = 5000 };
	static struct comm many[MANY];
	struct comm c = begin();
	int lost = 0;

	for (int i = 0; i < MANY; i++) {
		many[i] = nccl_init(i, 2, 2);
		lost += !many[i].ctx;
	}
	CHECK(lost == MANY + 1 - 4096, "%d went unseen", lost);
	CHECK(nccl_version == 3 || nccl_warnings == 1, "%d warnings", nccl_warnings);
	still_works(&many[MANY - lost - 1]);
	for (int i = 0; i < MANY; i++) {
		play_coll(&many[i], &allreduce, 10);
		nccl_finalize(&many[i]);
	}
	still_works(&c);
}

/* Threads as NCCL has them: each communicator's own for the proxy, one that launches. */
#define THREADS		4
#define ROUNDS		300

static struct comm threads_comm[THREADS];
static _Atomic uint64_t threads_sent;

static void *proxy(void *arg)
{
	struct comm *c = arg;

	for (int i = 0; i < ROUNDS; i++) {
		threads_sent += play_coll(c, &allreduce, 1000 + i);
		if (i % 16 == 0)
			clock_forward_ms(20);
	}
	return NULL;
}

static void *come_and_go(void *arg)
{
	for (int i = 0; i < 50; i++) {
		struct comm c = nccl_init(1000 + i, 2, 2);

		threads_sent += play_coll(&c, &allreduce, 1000);
		nccl_finalize(&c);
	}
	return NULL;
}

static void *read_ring(void *stop)
{
	while (!*(_Atomic int *)stop) {
		last_start();
		usleep(100);
	}
	return NULL;
}

CASE(threads_share_the_phase, 3, 7)
{
	struct comm c = begin();
	pthread_t proxies[THREADS], life, reader;
	static _Atomic int stop;

	for (int i = 0; i < THREADS; i++)
		threads_comm[i] = nccl_init(i, 2, 2);
	pthread_create(&reader, NULL, read_ring, &stop);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&proxies[i], NULL, proxy, &threads_comm[i]);
	pthread_create(&life, NULL, come_and_go, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(proxies[i], NULL);
	pthread_join(life, NULL);
	stop = 1;
	pthread_join(reader, NULL);
	/* nothing is left over: the next phases are exact */
	still_works(&c);
}

/* Strict mode: but read, write, exit and sigreturn, every system call ends the process. */
static void in_strict_mode(struct comm *c, struct op *op)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	for (int i = 0; i < 1000; i++) {
		nccl_send(c, op, 1000);
		play_coll(c, &allreduce, 1000);
	}
	syscall(SYS_exit, tap_failed_checks ? 1 : 0);
}

static void in_seccomp(void)
{
	struct comm c = begin();
	struct op op = nccl_op(&c, NULL, 0, true);
	pid_t child;

	nccl_send(&c, &op, 1000);
	play_coll(&c, &allreduce, 1000);
	/* a fork of one that has a daemon in a thread: it has no more of that */
	if (tap_child(&child))
		in_strict_mode(&c, &op);
	tap_join(child, "in strict mode");
}

TEST(events_within_a_phase_make_no_system_call)
{
	if (getenv("MLCC_SANITIZED"))
		TAP_SKIP("the sanitizer makes some of its own");
	else
		case_run(in_seccomp, 3, 7);
}

CASE(a_forked_child_is_silent, 3, 7)
{
	struct comm c = begin();
	pid_t child;

	play_coll(&c, &allreduce, 1000);
	EXPECT_START(0);
	if (tap_child(&child)) {
		nccl_init(78, 2, 2);
		tap_exit(CHECK(!nccl_mask, "its mask is %#x", nccl_mask));
	}
	tap_join(child, "the child");
	EXPECT_NOTHING();
	still_works(&c);
}

TAP_MAIN
