// SPDX-License-Identifier: GPL-2.0
/*
 * The firmware on a NIC that has BlueField-3's ways (nic.h): whose event is it, how many bytes, and
 * what may the host do to it.
 */
#include <string.h>

#include "../../include/mlcc/profiles.h"
#include "../unit/tap.h"
#include "nic.h"

#define US	1000U
#define MS	1000000U
#define BURST	(256U * 1024)
#define LINE	DOCA_PCC_DEV_MAX_RATE

static doca_pcc_dev_algo_ctxt_t contexts[2];
static const struct nic_qp one = { 300, 17, &contexts[0] }, two = { 300, 18, &contexts[0] };
static const struct nic_qp apart = { 301, 17, &contexts[1] };

static void begin(void)
{
	memset(contexts, 0xa5, sizeof(contexts));
	nic_start();
}

static struct mlcc_pcc_flow *record(const struct nic_qp *qp)
{
	u64 key = mlcc_pcc_key(qp->vhca, qp->qpn);

	for (u32 i = 0; i < MLCC_PCC_FLOWS; i++)
		if (nic.flow[i].key == key)
			return &nic.flow[i];
	return NULL;
}

TEST(events_without_a_number_are_those_of_the_last_burst)
{
	u32 rate;

	begin();
	CHECK(nic_cnp(&one, 0).rate == LINE, "a context that nobody knows is not at line rate");
	CHECK(nic_tx(&one, US, BURST).rate == LINE, "a new flow is not at line rate");
	nic_tx(&two, 2 * US, BURST);
	rate = nic_cnp(&two, 3 * US).rate;
	CHECK(rate < LINE, "a CNP has no effect");
	CHECK(nic_tx(&one, 4 * US, BURST).rate == LINE, "the other queue pair's CNP counted");
	CHECK(nic_tx(&two, 5 * US, BURST).rate < LINE, "the queue pair's own rate is lost");
}

TEST(functions_may_have_the_same_numbers)
{
	begin();
	nic_tx(&one, US, BURST);
	nic_tx(&apart, US, BURST);
	nic_cnp(&apart, 2 * US);
	CHECK(record(&one) != record(&apart), "one record for two functions");
	CHECK(nic_tx(&one, 3 * US, BURST).rate == LINE, "another function's CNP counted");
}

TEST(a_burst_is_of_its_queue_pairs_job)
{
	begin();
	CHECK(nic_job(1, 100 * BURST) == MLCC_PCC_DONE, "no job");
	CHECK(nic_job(2, 0) == MLCC_PCC_DONE, "no job");
	CHECK(nic_bind(&one, 1) == MLCC_PCC_DONE, "not bound");
	CHECK(nic_bind(&two, 2) == MLCC_PCC_DONE, "not bound");
	nic_tx(&one, US, BURST);
	nic_tx(&two, 2 * US, 2 * BURST);
	nic_tx(&apart, 3 * US, BURST);
	CHECK(nic.job[1].job.acked == BURST, "%lu", (unsigned long)nic.job[1].job.acked);
	CHECK(nic.job[2].job.acked == 2 * BURST, "%lu", (unsigned long)nic.job[2].job.acked);
	CHECK(record(&one)->p == MLCC_ONE / 100, "progress is %u", record(&one)->p);
	CHECK(record(&apart)->p == MLCC_NEUTRAL, "progress without a job");
	CHECK(nic_bind(&one, 0) == MLCC_PCC_DONE, "not taken away");
	nic_tx(&one, 4 * US, BURST);
	CHECK(nic.job[1].job.acked == BURST, "counts what is no longer the job's");
	CHECK(record(&one)->p == MLCC_NEUTRAL, "progress without a job");
}

TEST(a_job_without_queue_pairs_begins_anew)
{
	begin();
	nic_job(1, 100 * BURST);
	nic_bind(&one, 1);
	nic_tx(&one, US, BURST);
	nic_job(1, 50 * BURST);
	CHECK(nic.job[1].job.acked == BURST, "a job with queue pairs has forgotten");
	nic_bind(&one, 0);
	nic_job(1, 0);
	CHECK(!nic.job[1].job.acked, "a job without has not");
}

/* 2 MB is where the counter ends; the packets go on. */
TEST(long_bursts_are_estimated)
{
	u32 burst = 8 << 20;
	u64 sent;

	begin();
	nic_job(1, 0);
	nic_bind(&one, 1);
	nic_tx(&one, US, burst);
	CHECK(nic.job[1].job.acked == 0xffff << 5, "a burst of which nothing is known counts %lu",
	      (unsigned long)nic.job[1].job.acked);
	nic_tx(&one, 2 * US, 1 << 20);
	sent = nic.job[1].job.acked;
	nic_tx(&one, 3 * US, burst);
	sent = nic.job[1].job.acked - sent;
	CHECK(sent > burst - burst / 50 && sent < burst + burst / 50, "%lu of %u",
	      (unsigned long)sent, burst);
}

TEST(probes_may_tell_of_congestion)
{
	begin();
	CHECK(nic_set(0, 0, MLCC_PCC_RTT_OVER, 20 * US), "refused");
	nic_tx(&one, US, BURST);
	CHECK(nic_cnp(&one, 2 * US).rate == LINE, "a CNP counts");
	CHECK(nic_rtt(&one, 20 * US, 10 * US).rate == LINE, "the first probe counts");
	CHECK(nic_rtt(&one, 60 * US, 29 * US).rate == LINE, "a small delay counts");
	CHECK(nic_rtt(&one, 120 * US, 31 * US).rate < LINE, "a long delay does not count");
	CHECK(nic_set(0, 0, MLCC_PCC_RTT_OVER, 0), "refused");
	nic_tx(&apart, 130 * US, BURST);
	nic_rtt(&apart, 140 * US, 5 * US);
	CHECK(nic_rtt(&apart, 250 * US, 200 * US).rate == LINE, "probes count where CNPs do");
	CHECK(nic_cnp(&apart, 260 * US).rate < LINE, "a CNP does not count");
}

TEST(probes_are_asked_for_now_and_then)
{
	u32 asked = 0;

	begin();
	for (u32 i = 0; i < 1000; i++)
		asked += nic_tx(&one, i * 10 * US, BURST).rtt_req;
	CHECK(asked == 100, "%u in 10 ms, one each 100 us", asked);
}

TEST(parameters_are_taken_whole_or_not)
{
	u32 bad[] = { DCQCN_NS_MAX + 1, 0 };
	u32 *params = nic_params[1][2];

	begin();
	CHECK(!nic_set(1, 2, MLCC_PCC_PROBE_TIME, DCQCN_NS_MAX + 1), "out of its limits");
	CHECK(nic_set(1, 2, MLCC_PCC_RTT_OVER, 5000), "refused");
	CHECK(!nic_set(1, 2, MLCC_PCC_PROBE_TIME, 0), "probes are off, and alone tell");
	CHECK(params[MLCC_PCC_PROBE_TIME] == 100000, "%u", params[MLCC_PCC_PROBE_TIME]);
	CHECK(doca_pcc_dev_user_set_algo_params(1, 2, MLCC_PCC_PARAMS - 1, 2, bad, params) ==
	      DOCA_PCC_DEV_STATUS_FAIL, "beyond the last");
	CHECK(doca_pcc_dev_user_set_algo_params(4, 0, 0, 1, bad, params) ==
	      DOCA_PCC_DEV_STATUS_FAIL, "no such port");
	CHECK(nic.slot[1][2].active->rtt_over == 5000, "lost");
}

static u32 full(void)
{
	u32 used = 0;

	for (u32 i = 0; i < MLCC_PCC_FLOWS; i++)
		used += !!nic.flow[i].key;
	return used;
}

TEST(a_full_table_is_plain_dcqcn)
{
	doca_pcc_dev_algo_ctxt_t context = { { 0 } };
	struct nic_qp late = { 9, 1, &context };
	u32 refused = 0;

	begin();
	nic_job(1, 0);
	for (u32 qpn = 1; full() < MLCC_PCC_FLOWS; qpn++) {
		struct nic_qp qp = { 7, qpn, &contexts[1] };

		refused += nic_bind(&qp, 1) == MLCC_PCC_FULL;
	}
	CHECK(refused, "never full");
	CHECK(nic_bind(&late, 1) == MLCC_PCC_FULL, "bound where there is no room");
	CHECK(nic_tx(&late, US, BURST).rate == LINE, "not at line rate");
	CHECK(nic_cnp(&late, 2 * US).rate < LINE, "without congestion control");
	CHECK(!nic.job[1].job.acked, "counted in a job");
}

TEST(idle_records_are_taken_but_not_those_of_jobs)
{
	u32 now = 0, kept = 0;

	begin();
	nic_job(1, 0);
	nic_tx(&one, now, BURST);
	nic_bind(&one, 1);
	for (u32 qpn = 1; qpn <= 3 * MLCC_PCC_FLOWS; qpn++) {
		struct nic_qp qp = { 7, qpn, &contexts[1] };

		now += 10 * MS;
		nic_tx(&qp, now, BURST);
	}
	for (u32 qpn = 3 * MLCC_PCC_FLOWS - 500; qpn <= 3 * MLCC_PCC_FLOWS; qpn++)
		kept += !!record(&(struct nic_qp) { 7, qpn, &contexts[1] });
	CHECK(kept > 490, "%u of the last 500 have a record", kept);
	CHECK(!record(&(struct nic_qp) { 7, 1, &contexts[1] }) ||
	      !record(&(struct nic_qp) { 7, 2, &contexts[1] }), "the first ones still do");
	CHECK(record(&one) && record(&one)->job == 1, "a job's has been taken");
}

TEST(what_is_wrong_is_refused)
{
	static const struct mlcc_pcc_command wrong[] = {
		{ .op = 0 },
		{ .op = MLCC_PCC_OPS, .job = 1 },
		{ .op = MLCC_PCC_SET_JOB },
		{ .op = MLCC_PCC_SET_JOB, .job = MLCC_PCC_JOBS },
		{ .op = MLCC_PCC_SET_JOB, .job = 1, .profile = MLCC_PROFILE_COUNT },
		{ .op = MLCC_PCC_SET_JOB, .job = 1, .d_phase = MLCC_PHASE_BYTES_MAX + 1 },
		{ .op = MLCC_PCC_SET_QP, .job = MLCC_PCC_JOBS, .qpn = 17 },
		{ .op = MLCC_PCC_SET_QP, .job = 1 },
		{ .op = MLCC_PCC_SET_QP, .job = 1, .qpn = 1 << 24 },
		{ .op = MLCC_PCC_SET_QP, .job = 1, .vhca = 1 << 16, .qpn = 17 },
	};

	begin();
	nic_job(1, 12345);
	for (u32 i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(nic_command(wrong[i]) != MLCC_PCC_DONE, "command %u", i);
	CHECK(nic.job[1].job.d_hint == 12345 && !nic.job[1].flows && !full(), "it had an effect");
}

TEST(messages_are_not_trusted)
{
	static struct mlcc_pcc_request request = {
		.version = MLCC_PCC_VERSION, .count = MLCC_PCC_COMMANDS + 1,
	};
	struct mlcc_pcc_response response;
	u32 bytes;

	begin();
	CHECK(doca_pcc_dev_user_mailbox_handle(&request, sizeof(request), sizeof(response),
					       &response, &bytes), "more than there are");
	request.count = 1;
	CHECK(doca_pcc_dev_user_mailbox_handle(&request, sizeof(request) - 1, sizeof(response),
					       &response, &bytes), "a short message");
	CHECK(doca_pcc_dev_user_mailbox_handle(&request, sizeof(request), sizeof(response) - 1,
					       &response, &bytes), "no room for the answer");
	request.version++;
	CHECK(doca_pcc_dev_user_mailbox_handle(&request, sizeof(request), sizeof(response),
					       &response, &bytes), "another version");
}

TEST(ports_and_slots_that_are_none_have_the_first_ones_parameters)
{
	doca_pcc_dev_event_t event = {
		.type = DOCA_PCC_DEV_EVNT_ROCE_CNP, .port = 200, .stamp = 2 * US,
	};

	begin();
	CHECK(nic_set(0, 0, MLCC_PCC_MIN_RATE, LINE), "refused");
	nic_tx(&one, US, BURST);
	CHECK(nic_event(&one, &event).rate == LINE, "other parameters than port 0's");
}

TAP_MAIN
