// SPDX-License-Identifier: GPL-2.0
/*
 * What an ACK costs: the callbacks that the stack makes for one, on a socket that is connected to
 * nothing, in a loop.  Built with MLCC_BENCH=1, never installed.
 *
 *	tests/selftests/module_netlink.py ask JOB_SET ID=1 PHASE_BYTES=100000000000000
 *	insmod tcp_mlcc_bench.ko && dmesg | grep tcp_mlcc_bench; rmmod tcp_mlcc_bench
 *
 * Where "mlcc" is the BPF carrier it measures that one, its job set with mlcc-bpf.  Under
 * `tests/vm/vm run --counted` a nanosecond is an instruction, and no two runs differ.
 *
 * Reported is the fastest of several rounds, in nanoseconds: Reno's cong_avoid; mlcc's callbacks
 * without a job; of a job in its phase, behind a queue (it grows by the rule) and without one (it
 * doubles).  A window of ACKs takes a round trip.  What mlcc adds is the difference.  One CPU has
 * the job to itself here: flows on other CPUs also contend for the job's counter.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/in.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

#define MLCC_BENCH_ACKS		200000U
#define MLCC_BENCH_ROUNDS	20
#define MLCC_BENCH_CWND		100U
#define MLCC_BENCH_RTT_US	100
#define MLCC_BENCH_QUEUE_US	1000

static unsigned int mark = 1;
module_param(mark, uint, 0444);
MODULE_PARM_DESC(mark, "socket mark of the job that is measured");

/* The BPF carrier goes over to other operations, whose init the stack calls if it is connected. */
static void bench_init(struct inet_connection_sock *icsk)
{
	const struct tcp_congestion_ops *ops = icsk->icsk_ca_ops;

	if (ops->init)
		ops->init((struct sock *)icsk);
	if (icsk->icsk_ca_ops != ops && icsk->icsk_ca_ops->init)
		icsk->icsk_ca_ops->init((struct sock *)icsk);
	icsk->icsk_ca_initialized = 1;
}

/* A socket with @cc in the state of an established one in congestion avoidance. */
static struct socket *bench_open(char *cc, u32 sk_mark)
{
	struct inet_connection_sock *icsk;
	struct socket *sock;
	struct tcp_sock *tp;
	int err;

	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return ERR_PTR(err);
	sock->sk->sk_mark = sk_mark;
	err = sock_common_setsockopt(sock, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR(cc),
				     strlen(cc));
	if (err) {
		sock_release(sock);
		return ERR_PTR(err);
	}
	tp = tcp_sk(sock->sk);
	icsk = inet_csk(sock->sk);
	tp->snd_ssthresh = 2;
	tp->is_cwnd_limited = 1;
	tp->srtt_us = MLCC_BENCH_RTT_US << 3;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, MLCC_BENCH_RTT_US);
	tp->tcp_mstamp = 1;
	bench_init(icsk);
	if (icsk->icsk_ca_ops->cwnd_event)
		icsk->icsk_ca_ops->cwnd_event(sock->sk, CA_EVENT_TX_START);
	return sock;
}

/* One ACK of one segment, as tcp_ack() makes its calls. */
static noinline void bench_ack(struct sock *sk, s32 rtt_us)
{
	const struct ack_sample sample = { .pkts_acked = 1, .rtt_us = rtt_us, .in_flight = 1448 };
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	struct tcp_sock *tp = tcp_sk(sk);

	tp->bytes_acked += 1448;
	tp->tcp_mstamp += rtt_us / MLCC_BENCH_CWND;
	tp->rack.rtt_us = rtt_us;
	if (ops->pkts_acked)
		ops->pkts_acked(sk, &sample);
	ops->cong_avoid(sk, tp->snd_una, 1);
}

/* Picoseconds for an ACK. */
static u32 bench_round(struct sock *sk, s32 rtt_us)
{
	u64 start;
	u32 i;

	tcp_snd_cwnd_set(tcp_sk(sk), MLCC_BENCH_CWND);
	local_bh_disable();
	start = ktime_get_ns();
	for (i = 0; i < MLCC_BENCH_ACKS; i++)
		bench_ack(sk, rtt_us);
	start = ktime_get_ns() - start;
	local_bh_enable();
	cond_resched();
	return div_u64(start * 1000, MLCC_BENCH_ACKS);
}

static int bench(const char *what, char *cc, u32 sk_mark, s32 rtt_us)
{
	struct socket *sock = bench_open(cc, sk_mark);
	u32 ps, best = U32_MAX;
	int i;

	if (IS_ERR(sock)) {
		pr_err("%s: no socket with '%s': %ld\n", what, cc, PTR_ERR(sock));
		return PTR_ERR(sock);
	}
	for (i = 0; i < MLCC_BENCH_ROUNDS; i++) {
		ps = bench_round(sock->sk, rtt_us);
		best = min(best, ps);
	}
	pr_info("%s: %u.%03u ns\n", what, best / 1000, best % 1000);
	sock_release(sock);
	return 0;
}

static int __init bench_run(void)
{
	int err;

	err = bench("reno", "reno", 0, MLCC_BENCH_RTT_US);
	if (!err)
		err = bench("mlcc, no job", "mlcc", 0, MLCC_BENCH_RTT_US);
	if (!err)
		err = bench("mlcc, job, queue", "mlcc", mark, MLCC_BENCH_QUEUE_US);
	if (!err)
		err = bench("mlcc, job, no queue", "mlcc", mark, MLCC_BENCH_RTT_US);
	return err;
}

static void __exit bench_done(void)
{
}

module_init(bench_run);
module_exit(bench_done);

MODULE_AUTHOR("mlcc maintainers");
MODULE_DESCRIPTION("Cost of an ACK under mlcc");
MODULE_LICENSE("GPL");
