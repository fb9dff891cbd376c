// SPDX-License-Identifier: GPL-2.0
/* Somebody else's sockops program: counts connections, and wants its own callbacks. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} established SEC(".maps");

SEC("sockops")
int other_sockops(struct bpf_sock_ops *ops)
{
	__u32 zero = 0;
	__u64 *n;

	if (ops->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	    ops->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	n = bpf_map_lookup_elem(&established, &zero);
	if (n)
		__sync_fetch_and_add(n, 1);
	return 1;
}
