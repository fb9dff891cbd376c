// SPDX-License-Identifier: GPL-2.0
/*
 * The shared headers do the same to the last bit in every build; see parity.h.
 *
 * usage: test_parity [parity.bpf.o]
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "parity.h"
#include "tap.h"

#define CALLS	200000

static const char *bpf_path;
static char bpf_log[4096];

/* What libbpf says last is the reason: it is shown only if the program does not load. */
static int keep_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	size_t used = strlen(bpf_log);

	if (level == LIBBPF_WARN)
		vsnprintf(bpf_log + used, sizeof(bpf_log) - used, fmt, ap);
	return 0;
}

static int run_bpf(int prog, struct parity_call *c)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = c, .ctx_size_in = sizeof(*c));
	int err = bpf_prog_test_run_opts(prog, &opts);

	return err ? err : (int)opts.retval;
}

/* Static, so that even the padding has a defined value on both sides. */
static void compare(int prog, int map)
{
	static struct parity_state native, bpf;
	u64 seed = 1, clock = 1000000;
	u32 zero = 0, phases = 0, progress = 0, windows = 0;

	memset(&native, 0, sizeof(native));
	for (u32 i = 0; i < CALLS; i++) {
		struct parity_call c, d;
		int err;

		memset(&c, 0, sizeof(c));
		parity_next(&c, i, &seed, &clock);
		d = c;
		c.result = parity_step(&native, &c);
		err = run_bpf(prog, &d);
		CHECK(!err, "call %u: %s", i, strerror(-err));
		CHECK(c.result == d.result,
		      "call %u (kind %u: %#jx %#jx %#jx): native %#jx, BPF %#jx", i, c.kind,
		      c.a, c.b, c.c, c.result, d.result);
		phases += c.kind == PARITY_TX_START && c.result;
		progress += c.kind == PARITY_ACKED && c.result <= MLCC_ONE;
		windows += c.kind == PARITY_WINDOW_LOOK && native.paths[0].state == MLCC_WINDOW_FREE;
		if (err || tap_failed_checks > TAP_SHOWN)
			return;
	}
	CHECK(!bpf_map_lookup_elem(map, &zero, &bpf), "cannot read the state");
	CHECK(!memcmp(&native, &bpf, sizeof(native)), "the states differ at the end");
	/* agreement on a job that never got anywhere would be worth little */
	CHECK(phases > CALLS / 1000 && progress > CALLS / 100 && windows > CALLS / 1000,
	      "%u phases, %u ACKs with progress, %u with the link", phases, progress, windows);
}

static bool not_permitted(int err)
{
	return err == -EPERM || err == -EACCES || err == -ENOSYS;
}

TEST(bpf_and_native_agree)
{
	struct bpf_program *prog;
	struct bpf_object *obj;
	int err;

	if (!bpf_path) {
		TAP_SKIP("no BPF build: clang or libbpf is missing");
		return;
	}
	libbpf_set_print(keep_log);
	obj = bpf_object__open(bpf_path);
	if (!obj) {
		CHECK(obj, "%s: %s", bpf_path, strerror(errno));
		return;
	}
	err = bpf_object__load(obj);
	if (not_permitted(err)) {
		TAP_SKIP("the kernel does not permit BPF programs here: %s", strerror(-err));
	} else if (err) {
		CHECK(!err, "%s\n# %s", strerror(-err), bpf_log);
	} else {
		prog = bpf_object__find_program_by_name(obj, "parity_run");
		compare(bpf_program__fd(prog), bpf_object__find_map_fd_by_name(obj, "state"));
	}
	bpf_object__close(obj);
}

int main(int argc, char **argv)
{
	bpf_path = argc > 1 ? argv[1] : NULL;
	return tap_run();
}
