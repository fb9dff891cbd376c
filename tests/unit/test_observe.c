// SPDX-License-Identifier: GPL-2.0
/* What mlcc-ctl observe makes of counters: each job's counters tell one story. */
#include <string.h>

#include "../../userspace/mlcc-ctl/observe_split.c"
#include "random.h"
#include "tap.h"

#define MS	1000ULL
#define LOOK	(10 * MS)
#define FLOWS	4
#define PHASES	24

static struct observe_job j;
static struct observe_flow flow[FLOWS];
static u64 now;
static unsigned int at;	/* which look of the phase */
static u64 apart = LOOK;

static void begin(void)
{
	j = (struct observe_job){ };
	memset(flow, 0, sizeof(flow));
	now = 1000 * MS;
	for (int i = 0; i < FLOWS; i++) {
		flow[i].now.tcpi_min_rtt = 50;
		flow[i].next = j.flows;
		j.flows = &flow[i];
	}
}

static void look(void)
{
	now += apart;
	for (int i = 0; i < FLOWS; i++)
		flow[i].fresh = true;
	observe_look(&j, now);
}

/* In the next look @bytes are acknowledged, and the window is full: without a queue. */
static struct tcp_info *sends(int i, u64 bytes)
{
	struct tcp_info *s = &flow[i].now;

	s->tcpi_bytes_acked += bytes;
	s->tcpi_busy_time += apart;
	s->tcpi_rtt = s->tcpi_min_rtt;
	s->tcpi_snd_cwnd = 100;
	s->tcpi_unacked = 100;
	s->tcpi_notsent_bytes = 1000;
	return s;
}

static void queued(int i, u64 bytes)
{
	sends(i, bytes)->tcpi_rtt = 5000;
}

static void done(int i)
{
	flow[i].now.tcpi_unacked = 0;
	flow[i].now.tcpi_notsent_bytes = 0;
}

static void silence(unsigned int looks)
{
	for (int i = 0; i < FLOWS; i++)
		done(i);
	while (looks--)
		look();
}

static u64 percent(enum observe_cause cause)
{
	u64 all;

	observe_first(&j, &all);
	return all ? 100 * j.total_us[cause] / all : 0;
}

static void check_first(enum observe_cause wanted)
{
	u64 all;
	enum observe_cause first = observe_first(&j, &all);

	CHECK(first == wanted, "%d, not %d: %d, not %d %%", first, wanted, (int)percent(first),
	      (int)percent(wanted));
}

/* Phases of @looks looks, in each of which flows do @f, and 200 ms without. */
static void phases(void (*f)(void), unsigned int looks)
{
	begin();
	for (unsigned int k = 0; k < PHASES; k++) {
		silence(20);
		for (at = 0; at < looks; at++) {
			f();
			look();
		}
	}
	silence(20);
	queued(0, 1000);
	look();
}

/* SEEN(NAME, EACH, LOOKS, CAUSE) { what flows do in look "at" of a phase }, a look each EACH us */
#define SEEN(name, each, looks, cause)			\
	static void name##_look(void);			\
	TEST(name)					\
	{						\
		apart = each;				\
		phases(name##_look, looks);		\
		check_first(cause);			\
		apart = LOOK;				\
	}						\
	static void name##_look(void)

#define JOB(name, looks, cause)		SEEN(name, LOOK, looks, cause)
#define COARSE(name, looks, cause)	SEEN(name, 5 * LOOK, looks, cause)

JOB(a_queue_is_the_network, 8, OBSERVE_NETWORK)
{
	queued(0, 100000);
}

JOB(marks_are_the_network, 8, OBSERVE_NETWORK)
{
	sends(0, 100000)->tcpi_delivered_ce++;
}

JOB(what_has_no_evidence_is_unknown, 8, OBSERVE_UNKNOWN)
{
	sends(0, 100000);
}

JOB(few_segments_are_no_queue, 8, OBSERVE_UNKNOWN)
{
	queued(0, 100000);
	flow[0].now.tcpi_unacked = 10;
}

JOB(short_phases_wait_for_nothing, 1, OBSERVE_COMPUTE)
{
	queued(0, 100000);
}

JOB(a_full_send_buffer_is_the_sender, 8, OBSERVE_SENDER)
{
	sends(0, 20000)->tcpi_sndbuf_limited += LOOK - MS;
}

JOB(without_a_retransmission_it_is_unknown, 9, OBSERVE_UNKNOWN)
{
	sends(0, at < 2 || at > 6 ? 100000 : 0);
}

static void bursts(void)
{
	sends(0, at ? 50000 : 300000)->tcpi_total_retrans += at > 0;
}

JOB(a_burst_then_losses_at_a_rate_is_a_policer, 10, OBSERVE_POLICER)
{
	bursts();
}

JOB(but_not_while_others_send, 10, OBSERVE_NETWORK)
{
	bursts();
	j.phase.shared_us += LOOK / 2;
}

JOB(losses_at_no_rate_are_losses, 12, OBSERVE_LOSS)
{
	static unsigned int n;
	bool fast = (n += !at) & 1;

	if (fast && at > 5)
		done(0);
	else
		sends(0, fast ? 200000 : 100000)->tcpi_total_retrans += !at;
}

/* From the 13th of the phases on they take twice as long, 80 ms more. */
static void crowded_look(void)
{
	static unsigned int n;
	bool fast = (n += !at) % PHASES <= PHASES / 2 && n % PHASES;

	if (fast && at > 7)
		done(0);
	else
		queued(0, fast ? 100000 : 50000);
}

static void unlike_look(void)
{
	crowded_look();
	flow[0].now.tcpi_rtt = flow[0].now.tcpi_min_rtt;
}

static void even_look(void)
{
	queued(0, 50000);
}

TEST(iterations_are_kept)
{
	const struct observe_iteration *i = j.iterations;

	phases(even_look, 8);
	CHECK(j.iteration_count > PHASES / 2, "%d", (int)j.iteration_count);
	CHECK(i[1].start_us - i->start_us == 28 * LOOK && i->comm_us == 8 * LOOK && i->bytes == 400000,
	      "%d bytes in %d us", (int)i->bytes, (int)i->comm_us);
}

TEST(what_a_queue_adds_to_the_shortest_phase_is_lost)
{
	phases(crowded_look, 16);
	CHECK(j.lost_us > 880 * MS && j.lost_us <= 970 * MS, "%d us", (int)j.lost_us);
	phases(unlike_look, 16);
	CHECK(!j.lost_us, "without a queue: %d us", (int)j.lost_us);
	phases(a_queue_is_the_network_look, 8);
	CHECK(!j.lost_us, "of equal phases: %d us", (int)j.lost_us);
}

static void exceeding_look(void)
{
	a_queue_is_the_network_look();
	for (int i = 0; i < FLOWS; i++)
		flow[i].exceeds = true;
}

TEST(beyond_its_allowance_an_instance_is_policed)
{
	phases(exceeding_look, 8);
	check_first(OBSERVE_POLICER);
	CHECK(!percent(OBSERVE_NETWORK), "%d %% network", (int)percent(OBSERVE_NETWORK));
}

COARSE(far_apart_looks_do_not_tell_a_policer, 10, OBSERVE_UNKNOWN)
{
	bursts();
}

COARSE(nor_whose_few_queues_they_see, 3, OBSERVE_UNKNOWN)
{
	queued(0, 100000);
}

COARSE(but_a_queue_that_stays, 8, OBSERVE_NETWORK)
{
	queued(0, 100000);
}

COARSE(and_what_the_kernel_counts, 3, OBSERVE_RECEIVER)
{
	sends(0, 20000)->tcpi_rwnd_limited += apart - MS;
}

/* Flow 0 is done after three looks; others send @slow in each until then, and @tail after it. */
static void two_paths(u64 slow, u64 tail)
{
	done(0);
	if (at < 3)
		queued(0, 120000);
	for (int i = 1; i < FLOWS; i++)
		queued(i, at < 3 ? slow : tail);
}

JOB(those_that_take_over_are_no_path, 8, OBSERVE_NETWORK)
{
	two_paths(20000, 60000);
}

/* Storage moves for 140 ms of the silence, and, if @beside, in the phase. */
static void storage_phases(bool beside)
{
	begin();
	flow[3].storage = true;
	for (unsigned int k = 0; k < PHASES; k++) {
		for (at = 0; at < 28; at++) {
			flow[3].now.tcpi_bytes_received += at < 14 || beside ? 1000 : 0;
			if (at >= 20)
				queued(0, 100000);
			look();
		}
		silence(0);
	}
}

TEST(storage_beside_phases_too_is_not)
{
	storage_phases(true);
	check_first(OBSERVE_NETWORK);
}

TEST(without_phases_silences_are_unknown)
{
	u64 seed = 7;

	begin();
	for (int k = 0; k < 40; k++) {
		silence(1 + random_below(&seed, 60));
		for (u64 n = 1 + random_below(&seed, 20); n; n--) {
			sends(0, 100000);
			look();
		}
	}
	check_first(OBSERVE_UNKNOWN);
	CHECK(percent(OBSERVE_COMPUTE) < 50, "%d %%", (int)percent(OBSERVE_COMPUTE));
}

/* Whatever counters do, each microsecond of phases that are over has one cause. */
TEST(causes_add_up)
{
	u64 seed = 42;

	for (int n = 0; n < 200; n++) {
		u64 all, first = 0;

		begin();
		for (int k = 0; k < 300; k++) {
			for (int i = 0; i < FLOWS; i++) {
				u64 r = random_u64(&seed);

				done(i);
				if (r & 3)
					continue;
				sends(i, r >> 40 & 0xfffff)->tcpi_rtt += r >> 4 & 0xfff;
				flow[i].now.tcpi_total_retrans += r >> 17 & 1;
				flow[i].now.tcpi_rwnd_limited += r >> 18 & 0xfff;
				flow[i].now.tcpi_backoff = !(r >> 30 & 15);
			}
			look();
			first = !first && j.tracker.seq ? j.from_us : first;
		}
		silence(30);
		queued(0, 1000);
		look();
		phase_close(&j);
		observe_first(&j, &all);
		CHECK(j.learnt || !j.lost_us, "%d us lost of no phases", (int)j.lost_us);
		CHECK(j.learnt || all == j.to_us - first, "%ju us of %ju", all, j.to_us - first);
	}
}

TAP_MAIN
