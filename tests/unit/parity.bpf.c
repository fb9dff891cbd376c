// SPDX-License-Identifier: GPL-2.0
/* The parity test's BPF build: one call a run, see parity.h. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "parity.h"

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct parity_state);
} state SEC(".maps");

SEC("syscall")
int parity_run(struct parity_call *c)
{
	struct parity_call call = *c;
	struct parity_state *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&state, &zero);
	if (!s)
		return 1;
	c->result = parity_step(s, &call);
	return 0;
}
