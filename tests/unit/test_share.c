// SPDX-License-Identifier: GPL-2.0
/*
 * Flows that share their job's window, as sockets: who has which share, what all of them together
 * write into the job's memory, and that nobody is counted who has left.
 */
#include "../../include/mlcc/types.h"

static unsigned long atomic_adds, atomic_locks;

#undef MLCC_FETCH_ADD64
#undef MLCC_FETCH_ADD32
#undef MLCC_CAS32
#define MLCC_FETCH_ADD64(p, v)	(atomic_adds++, __sync_fetch_and_add(p, v))
#define MLCC_FETCH_ADD32(p, v)	(atomic_adds++, __sync_fetch_and_add(p, v))
#define MLCC_CAS32(p, o, n)	(atomic_locks++, __sync_val_compare_and_swap(p, o, n))

#include "tcp_model.h"
#include "random.h"

#define FLOWS	8U
#define D	10000000U
#define RTT_US	100U
#define GAP_US	100000U
#define EVENTS	400000U

struct world {
	struct mlcc_slot s[2];
	struct sock sk[FLOWS];
	u64 now, seed;
	u32 peers;
};

static void open_flow(struct world *w, u32 i, bool ecn)
{
	tcp_open(&w->sk[i], &w->s[0], ecn);
	w->sk[i].tp.tcp_mstamp = w->now;
	w->sk[i].peer = 1 + (w->peers > 1 ? random_below(&w->seed, w->peers) : 0);
}

static void open_all(struct world *w, u32 peers)
{
	memset(w, 0, sizeof(*w));
	w->now = 1000000;
	w->peers = peers;
	for (u32 i = 0; i < 2; i++)
		tcp_job(&w->s[i], i, D);
	for (u32 i = 0; i < FLOWS; i++)
		open_flow(w, i, i & 1);
}

static struct mlcc_path *path_of(struct world *w)
{
	return tcp_path(&w->sk[0]);
}

/* All flows send, and go on. */
static void all_send(struct world *w)
{
	w->now += GAP_US;
	for (u32 i = 0; i < FLOWS; i++) {
		w->sk[i].tp.tcp_mstamp = w->now;
		tcp_send(&w->sk[i], D / FLOWS, 0);
		tcp_fill(&w->sk[i]);
	}
}

/* A round trip of all of them, @acks ACKs each. */
static void round_trip(struct world *w, u32 rtt, u32 acks)
{
	for (u32 k = 0; k < acks; k++) {
		w->now += rtt / acks;
		for (u32 i = 0; i < FLOWS; i++) {
			w->sk[i].tp.tcp_mstamp = w->now;
			tcp_ack(&w->sk[i], w->sk[i].tp.snd_cwnd / acks + 1, rtt);
		}
	}
}

/* The same, with more to send than that. */
static void busy_round_trip(struct world *w)
{
	for (u32 i = 0; i < FLOWS; i++)
		w->sk[i].tp.write_seq = w->sk[i].tp.snd_nxt + D;
	round_trip(w, RTT_US, 50);
}

/* All that the flow has sent is acknowledged, and it has no more to send. */
static void drain(struct world *w, struct sock *sk)
{
	sk->tp.write_seq = sk->tp.snd_nxt;
	while (sk->tp.packets_out) {
		sk->tp.tcp_mstamp = w->now += RTT_US;
		tcp_ack(sk, sk->tp.packets_out, RTT_US);
	}
}

/* In the second phase, with the link. */
static void in_phase(struct world *w)
{
	open_all(w, 1);
	all_send(w);
	for (u32 i = 0; i < 10; i++)
		round_trip(w, RTT_US, 4);
	for (u32 i = 0; i < FLOWS; i++)
		drain(w, &w->sk[i]);
	all_send(w);
	round_trip(w, RTT_US, 4);
}

/*** Shares ***/

/* The flow is paced, or not: all that it had in flight is acknowledged. */
static u32 flows_after(u32 pace, u32 more)
{
	struct world w;
	struct sock *sk = &w.sk[0];

	in_phase(&w);
	tcp_fill(sk);
	sk->ca.flow.pace = pace;
	sk->tp.snd_nxt -= sk->tp.packets_out * MSS;
	sk->tp.packets_out = 0;
	sk->tp.write_seq = sk->tp.snd_nxt + more;
	mlcc_rest(sk, path_of(&w));
	CHECK(more || !sk->ca.flow.pace, "at rest, paced");
	return path_of(&w)->flows;
}

/* It has more to send, and nothing in flight most of the time. */
TEST(who_is_paced_keeps_its_share)
{
	CHECK(flows_after(1000, D) == FLOWS, "of %u flows %u are left", FLOWS, flows_after(1000, D));
	CHECK(flows_after(1000, 0) == FLOWS - 1, "it has sent all: %u", flows_after(1000, 0));
	CHECK(flows_after(0, D) == FLOWS - 1, "not paced: %u", flows_after(0, D));
}

TEST(the_last_one_has_all)
{
	struct world w;

	in_phase(&w);
	for (u32 i = FLOWS - 1; i; i--) {
		drain(&w, &w.sk[i]);
		CHECK(path_of(&w)->flows == i, "%u flows, not %u", path_of(&w)->flows, i);
	}
	w.sk[0].tp.tcp_mstamp = w.now += RTT_US;
	tcp_ack(&w.sk[0], 1, 2 * RTT_US);
	CHECK(w.sk[0].tp.snd_cwnd == path_of(&w)->window / MSS, "%u segments of %u",
	      w.sk[0].tp.snd_cwnd, path_of(&w)->window / MSS);
}

/* What both ends have agreed on says nothing of the queue between them. */
TEST(only_where_the_queue_has_marked_a_window_comes_back_sooner)
{
	u32 grown[2];

	for (u32 marked = 0; marked < 2; marked++) {
		struct world w;

		in_phase(&w);
		for (u32 i = 0; i < FLOWS; i++) {
			w.sk[i].ca.ecn = 1;
			w.sk[i].tp.delivered_ce = marked;
		}
		path_of(&w)->target = 1 << 20;
		path_of(&w)->ssthresh = path_of(&w)->window = 100000;
		for (u32 i = 0; i < 4; i++)
			busy_round_trip(&w);
		grown[marked] = path_of(&w)->window - 100000;
	}
	CHECK(grown[0] && grown[1] > 2 * grown[0], "%u, marked: %u", grown[0], grown[1]);
}

/* Where nothing is marked, a loss is what it is to the base; where marks are, more than a mark (RFC 8257). */
TEST(a_loss_without_marks_takes_what_the_base_takes)
{
	for (u32 marked = 0; marked < 2; marked++) {
		u32 beta = marked ? MLCC_ONE / 2 : MLCC_CUBIC_BETA, window;
		struct world w;

		in_phase(&w);
		w.s[0].profile.base = MLCC_BASE_CUBIC;
		round_trip(&w, RTT_US, 4);
		window = path_of(&w)->window;
		for (u32 i = 0; i < FLOWS; i++) {
			w.sk[i].ca.ecn = 1;
			w.sk[i].ca.dctcp.alpha = MLCC_ONE;
			w.sk[i].tp.delivered_ce = marked;
			tcp_lose(&w.sk[i]);
		}
		CHECK(path_of(&w)->window == window - (u32)(((u64)window * beta) >> MLCC_SHIFT),
		      "marked %u: %u -> %u", marked, window, path_of(&w)->window);
	}
}

/* A job is set, or its class, in the middle of a long transmission. */
TEST(who_comes_in_the_middle_has_a_share)
{
	struct world w;

	in_phase(&w);
	w.s[0].class = MLCC_CLASS_LATENCY;
	busy_round_trip(&w);
	CHECK(!path_of(&w)->flows, "latency: %u flows", path_of(&w)->flows);
	w.s[0].class = MLCC_CLASS_TRAINING;
	busy_round_trip(&w);
	CHECK(path_of(&w)->flows == FLOWS, "training: %u flows", path_of(&w)->flows);
	w.s[0].gone = true;
	busy_round_trip(&w);
	CHECK(!path_of(&w)->flows, "deleted: %u flows", path_of(&w)->flows);
	w.s[0].gone = false;
	busy_round_trip(&w);
	CHECK(path_of(&w)->flows == FLOWS, "set again: %u flows", path_of(&w)->flows);
}

/* A flow is stuck for long, its place is another peer's, and then its own again. */
TEST(who_left_with_its_place_does_not_leave_twice)
{
	struct world w;
	struct mlcc_path *path;

	in_phase(&w);
	path = path_of(&w);
	CHECK(mlcc_path_fits(path, 2, 10, false) && mlcc_path_fits(path, 1, 20, false), "not taken");
	for (u32 i = 0; i < FLOWS; i++) {
		mlcc_leave(&w.sk[i], &w.s[0]);
		CHECK(!path->flows, "flow %u: %u flows", i, path->flows);
	}
}

/*** What ACKs write ***/

TEST(flows_write_once_a_round_trip)
{
	unsigned long adds, locks;
	struct world w;

	in_phase(&w);
	adds = atomic_adds;
	locks = atomic_locks;
	for (u32 i = 0; i < 100; i++)
		busy_round_trip(&w);
	/* the path's bytes and the job's; and the one that ends the round trip */
	CHECK(atomic_adds - adds <= 101 * 2 * FLOWS, "%lu additions", atomic_adds - adds);
	CHECK(atomic_locks - locks <= 101 * 2, "%lu locks", atomic_locks - locks);
	CHECK(w.s[0].job.acked > 100 * FLOWS * MSS, "next to nothing was sent");
}

/*** Whatever comes ***/

static u32 counted(const struct world *w, u32 slot, u32 place)
{
	u32 count = 0;

	for (u32 i = 0; i < FLOWS; i++)
		count += w->sk[i].slot == &w->s[slot] && w->sk[i].ca.flow.sends &&
			 w->sk[i].ca.flow.path == place;
	return count;
}

/* @exact: each peer keeps its place. */
static void check_paths(const struct world *w, bool exact)
{
	for (u32 k = 0; k < 2; k++)
		for (u32 i = 0; i < MLCC_PATHS; i++) {
			const struct mlcc_path *p = &w->s[k].paths[i];

			CHECK(p->flows <= FLOWS, "%u flows", p->flows);
			CHECK(!exact || p->flows == counted(w, k, i), "%u flows, not %u", p->flows,
			      counted(w, k, i));
			CHECK(!p->busy, "locked");
			CHECK(p->state == MLCC_WINDOW_NONE ||
			      (p->window >= MLCC_LEFT_MIN * MSS && p->window <= MLCC_WINDOW_MAX),
			      "state %u: window %u", p->state, p->window);
		}
}

/* The flow is of another job from here on. */
static void change_job(struct world *w, struct sock *sk)
{
	mlcc_leave(sk, sk->slot);
	mlcc_class_none(sk);
	sk->slot = &w->s[sk->slot == &w->s[0]];
	mlcc_flow_init(&sk->ca.flow, sk->tp.bytes_acked);
}

/* The flow is closed, and another one opened, to whom it may be. */
static void reopen(struct world *w, u32 i)
{
	mlcc_leave(&w->sk[i], w->sk[i].slot);
	open_flow(w, i, random_below(&w->seed, 2));
}

static void acked(struct world *w, struct sock *sk)
{
	u32 rtt = RTT_US + random_below(&w->seed, random_below(&w->seed, 3) ? 50 : 9000);
	bool open = sk->icsk.icsk_ca_state <= TCP_CA_Disorder;
	bool due = (u32)w->now - sk->ca.flow.looked >= MLCC_LOOK_MAX_US;

	tcp_ack(sk, 1 + random_below(&w->seed, 20), rtt);
	CHECK(!open || !due || !sk->ca.flow.coupled || sk->tp.snd_cwnd >= MLCC_LEFT_MIN, "cwnd %u",
	      sk->tp.snd_cwnd);
}

static void event(struct world *w)
{
	u32 i = random_below(&w->seed, FLOWS);
	struct sock *sk = &w->sk[i];

	sk->tp.tcp_mstamp = w->now += random_below(&w->seed, 100) ? random_below(&w->seed, 300) : GAP_US;
	switch (random_below(&w->seed, 64)) {
	case 0:
	case 1:
		tcp_lose(sk);
		break;
	case 2:
		if (sk->tp.packets_out)
			tcp_expire(sk);
		break;
	case 3:
		if (sk->ca.ecn)
			tcp_mark(sk, 1 + random_below(&w->seed, 20));
		break;
	case 4:
		sk->slot->class = random_below(&w->seed, 8) % MLCC_CLASS_COUNT;
		break;
	case 5:
		sk->slot->gone = !random_below(&w->seed, 8);
		break;
	case 6:
		change_job(w, sk);
		break;
	case 7:
		reopen(w, i);
		break;
	case 8:
		if (sk->icsk.icsk_ca_state >= TCP_CA_Recovery)
			tcp_undo(sk);
		break;
	case 9:
		sk->tp.write_seq = sk->tp.snd_nxt;	/* no more to send */
		break;
	default:
		if (!sk->tp.packets_out && sk->tp.write_seq - sk->tp.snd_nxt < MSS)
			tcp_send(sk, random_below(&w->seed, D / 4), 0);
		acked(w, sk);
	}
}

static void any_order_of_events(u32 peers)
{
	struct world w;
	u32 phases;

	open_all(&w, peers);
	w.seed = peers;
	for (u32 i = 0; i < EVENTS; i++) {
		event(&w);
		check_paths(&w, peers <= MLCC_PATHS);
	}
	phases = w.s[0].job.seq;
	CHECK(phases > 30, "%u phases", phases);
	for (u32 i = 0; i < FLOWS; i++) {
		if (i & 1)
			drain(&w, &w.sk[i]);
		else
			mlcc_leave(&w.sk[i], w.sk[i].slot);
	}
	for (u32 i = 0; i < 2 * MLCC_PATHS; i++)
		CHECK(!w.s[i & 1].paths[i >> 1].flows, "peers %u: %u flows are left", peers,
		      w.s[i & 1].paths[i >> 1].flows);
}

TEST(any_order_of_events_keeps_the_bounds)
{
	any_order_of_events(1);
	any_order_of_events(MLCC_PATHS);
	any_order_of_events(2 * MLCC_PATHS);
}

TAP_MAIN
