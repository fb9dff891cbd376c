// SPDX-License-Identifier: GPL-2.0
/* Somebody else's sockops program, which chooses mlcc for whatever connects. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

#define IPPROTO_TCP	6
#define TCP_CONGESTION	13

SEC("sockops")
int choose_sockops(struct bpf_sock_ops *ops)
{
	char cc[] = "mlcc";

	if (ops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
	    ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		bpf_setsockopt(ops, IPPROTO_TCP, TCP_CONGESTION, cc, sizeof(cc));
	return 1;
}
