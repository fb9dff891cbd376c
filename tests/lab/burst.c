// SPDX-License-Identifier: GPL-2.0
/*
 * mlcc-burst: emulates the network side of a distributed training job.
 *
 *   recv    accepts connections and discards what arrives
 *   job     repeats: compute for a while, then send one phase to the peers
 *   bulk    one long ordinary transfer
 *   short   a small ordinary request every so often
 *
 * A job's iteration, as time passes:
 *
 *   |<- compute (gaussian) ->|<- communication: share 1/n on each flow ->|
 *   start_ns                 send()                   last acknowledgement
 *
 * On the wire a message is a 16 byte header (magic, length) and zeros up to
 * that length. The receiver answers each complete message with one byte, so
 * the sender's clock alone times the whole phase and nothing has to be
 * compared between hosts. A worker of a ring or of an all-to-all is a job with
 * --listen and --inbound: its iteration also waits for what others send to it.
 *
 * Output: one JSON object per line; keys carry their unit. The program never
 * hangs: a phase that does not end within --timeout-s is reported, exit 3.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "burst.h"

void die(enum burst_exit status, const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("mlcc-burst: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

void report_totals(const struct options *opt, uint64_t bytes, uint64_t retransmits)
{
	printf("{\"job\":\"%s\",\"totals\":true,\"bytes\":%llu,\"retransmits\":%llu}\n", opt->job,
	       (unsigned long long)bytes, (unsigned long long)retransmits);
}

static void receive(void)
{
	while (!loop_stopped())
		loop_step(INT64_MAX);
}

static void run(const struct options *opt)
{
	switch (opt->mode) {
	case MODE_RECV:
		receive();
		break;
	case MODE_JOB:
		job_run(opt);
		break;
	case MODE_BULK:
		bulk_run(opt);
		break;
	case MODE_SHORT:
		short_run(opt);
		break;
	}
}

int main(int argc, char **argv)
{
	struct options opt;

	options_parse(&opt, argc, argv);

	/* The lab may be killed: leave nothing behind, and wake up on time. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_TIMERSLACK, 1);

	setvbuf(stdout, NULL, _IOLBF, 0);
	loop_open();
	if (opt.listening)
		inbound_open(&opt);
	loop_sample_every(&opt);
	run(&opt);
	return EXIT_OK;
}
