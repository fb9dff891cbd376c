// SPDX-License-Identifier: GPL-2.0
/*
 * What a switch does that this kernel's qdiscs may not: CE marks above a threshold, random loss,
 * and a policer.  For the lab, where the kernel has no RED or no netem; it may have no act_police
 * either, and one policer for all kernels is enough.
 *
 * mark	at the egress of the bottleneck, before its token bucket.  A clock runs along with the
 *	bucket: "busy" is when it will have sent what it holds.  How far that lies ahead is the queue
 *	that the packet finds, at this instant, as a switch for DCTCP measures it (RED averages).
 * lose	behind the bottleneck, so that the queue holds what is lost later.
 * police	at the egress, in the place of a queue: a bucket of burst_ns that fills with time, and
 *	what finds too little in it is lost.
 *
 * moderate	where the bottleneck ends: nothing.  A device with a generic XDP program joins no frames
 *	(GRO), even where it takes them in by NAPI for that.
 *
 * One CPU carries the bottleneck (topology.py), so plain loads and stores do.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

/* must look the same as mlcclab/wire.py packs it */
struct wire {
	__u64 ns_per_kib;	/* time that the link takes for 1024 bytes */
	__u64 burst_ns;		/* what the token bucket may save */
	__u64 limit_ns;		/* what the queue holds */
	__u64 mark_ns;		/* the queue above which all are marked, 0: none */
	__u64 loss;		/* of 2^32 */
	__u64 busy;		/* ns */
	__u64 marked;		/* packets */
	__u64 lost;		/* packets */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire);
} wires SEC(".maps");

static __always_inline struct wire *the_wire(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&wires, &zero);
}

SEC("tc/mark")
int mark(struct __sk_buff *skb)
{
	struct wire *w = the_wire();
	__u64 now = bpf_ktime_get_ns();

	if (!w || !w->mark_ns)
		return TC_ACT_OK;
	if (w->busy + w->burst_ns < now)
		w->busy = now - w->burst_ns;
	/* the queue will not take it */
	if (w->busy > now + w->limit_ns)
		return TC_ACT_OK;
	if (w->busy > now + w->mark_ns && bpf_skb_ecn_set_ce(skb))
		w->marked++;
	w->busy += skb->wire_len * w->ns_per_kib >> 10;
	return TC_ACT_OK;
}

SEC("tc/lose")
int lose(struct __sk_buff *skb)
{
	struct wire *w = the_wire();

	if (!w || bpf_get_prandom_u32() >= w->loss)
		return TC_ACT_OK;
	w->lost++;
	return TC_ACT_SHOT;
}

SEC("xdp.frags/moderate")
int moderate(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("tc/police")
int police(struct __sk_buff *skb)
{
	struct wire *w = the_wire();
	__u64 now = bpf_ktime_get_ns(), takes;

	if (!w)
		return TC_ACT_OK;
	takes = skb->wire_len * w->ns_per_kib >> 10;
	if (w->busy < now)
		w->busy = now;
	if (w->busy + takes > now + w->burst_ns) {
		w->lost += skb->gso_segs ? skb->gso_segs : 1;
		return TC_ACT_SHOT;
	}
	w->busy += takes;
	return TC_ACT_OK;
}
