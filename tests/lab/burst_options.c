// SPDX-License-Identifier: GPL-2.0
/* Command line of mlcc-burst: a table of options, checked strictly. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "burst.h"

static const char usage_text[] =
"usage: mlcc-burst recv  --listen ADDR:PORT [COMMON]\n"
"       mlcc-burst job   --peer ADDR:PORT... --bytes N --compute-ms MS [JOB] [COMMON]\n"
"       mlcc-burst bulk  --peer ADDR:PORT... [--flows N] [--seconds S] [COMMON]\n"
"       mlcc-burst short --peer ADDR:PORT --bytes N --every-ms MS [--seconds S] [COMMON]\n"
"       mlcc-burst short --peer ADDR:PORT --request MS:BYTES... [--seconds S] [COMMON]\n"
"\n"
"JOB     --iterations N (0: until SIGTERM)   --flows N (per peer)\n"
"        --step MS:BYTES  in the place of --bytes and --compute-ms, repeatable: compute,\n"
"                         then send and wait for all that was sent\n"
"        --overlap MS:BYTES   the same, and the next steps compute meanwhile\n"
"        --noise STD (of the compute time, relative)   --seed N\n"
"        --lognormal STD  the same with a lognormal distribution\n"
"        --listen ADDR:PORT --inbound N   also wait for N flows of other workers\n"
"        --lead BYTES   a ring's: send no more ahead of what has been received\n"
"        --hint SOCKET --hint-job ID   announce the phases to mlccd\n"
"        --claim FACTOR   announce so many times the true bytes\n"
"        --restart-ms MS  in a phase, announce its end and another's start that often\n"
"        --connect-ms MS  open the connections that long after --at\n"
"COMMON  --job NAME   --cc NAME   --mark N   --source ADDR (repeatable)\n"
"        --at NS (CLOCK_MONOTONIC)   --start-ms MS   --timeout-s S\n"
"        --sample-ms MS   report the received bytes that often\n"
"\n"
"A ring of three, as seen by worker 0, which receives from worker 2:\n"
"  mlcc-burst job --listen 10.0.0.1:5000 --inbound 1 --peer 10.0.0.2:5000 \\\n"
"                 --bytes 10000000 --compute-ms 100 --iterations 50\n";

struct option_spec {
	const char *name;
	unsigned int modes;	/* bit mask of enum burst_mode */
	void (*parse)(struct options *opt, const char *name, const char *value);
	/* or a figure of struct options: a whole number of so many bytes; 0: a double */
	size_t at, size;
	uint64_t min, max;
	double low, high;
};

#define OTHER(n, m, parse)	{ n, m, parse, 0, 0, 0, 0, 0, 0 }
#define WHOLE(n, m, field, least, most)	{ n, m, NULL, offsetof(struct options, field), \
					  sizeof(((struct options *)NULL)->field), least, most, 0, 0 }
#define REAL(n, m, field, least, most)	{ n, m, NULL, offsetof(struct options, field), 0, 0, 0, \
					  least, most }

#define IN_RECV		(1u << MODE_RECV)
#define IN_JOB		(1u << MODE_JOB)
#define IN_BULK		(1u << MODE_BULK)
#define IN_SHORT	(1u << MODE_SHORT)
#define SENDS		(IN_JOB | IN_BULK | IN_SHORT)
#define ALL		(IN_RECV | SENDS)

static uint64_t number(const char *name, const char *value, uint64_t min,
		       uint64_t max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(value, &end, 0);
	if (!isdigit((unsigned char)*value) || *end || errno || n < min ||
	    n > max)
		die(EXIT_USAGE, "%s: '%s': a whole number from %llu to %llu is wanted",
		    name, value, (unsigned long long)min,
		    (unsigned long long)max);
	return n;
}

static double real(const char *name, const char *value, double min, double max)
{
	char *end;
	double n;

	errno = 0;
	n = strtod(value, &end);
	if (end == value || *end || errno || !isfinite(n) || n < min || n > max)
		die(EXIT_USAGE, "%s: '%s': a number from %g to %g is wanted", name,
		    value, min, max);
	return n;
}

static struct in_addr address(const char *name, const char *value)
{
	struct in_addr addr;

	if (inet_pton(AF_INET, value, &addr) != 1)
		die(EXIT_USAGE, "%s: '%s' is not an IPv4 address", name, value);
	return addr;
}

static struct sockaddr_in endpoint(const char *name, const char *value)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const char *colon = strchr(value, ':');
	char host[INET_ADDRSTRLEN];

	if (!colon || (size_t)(colon - value) >= sizeof(host))
		die(EXIT_USAGE, "%s: '%s' is not ADDR:PORT", name, value);
	memcpy(host, value, (size_t)(colon - value));
	host[colon - value] = '\0';
	at.sin_addr = address(name, host);
	at.sin_port = htons((uint16_t)number(name, colon + 1, 1, 65535));
	return at;
}

static void parse_job(struct options *opt, const char *name, const char *value)
{
	const char *c;

	for (c = value; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			break;
	if (c == value || *c)
		die(EXIT_USAGE, "%s: '%s': use letters, digits and ._-", name,
		    value);
	opt->job = value;
}

static void parse_cc(struct options *opt, const char *name, const char *value)
{
	if (!*value || strlen(value) > 15)
		die(EXIT_USAGE, "%s: '%s' is not a congestion control name",
		    name, value);
	opt->cc = value;
}

static void parse_listen(struct options *opt, const char *name,
			 const char *value)
{
	opt->listen = endpoint(name, value);
	opt->listening = true;
}

static void parse_peer(struct options *opt, const char *name, const char *value)
{
	if (opt->n_peers == BURST_MAX_PEERS)
		die(EXIT_USAGE, "%s: at most %d", name, BURST_MAX_PEERS);
	opt->peers[opt->n_peers++] = endpoint(name, value);
}

static void parse_source(struct options *opt, const char *name,
			 const char *value)
{
	if (opt->n_sources == BURST_MAX_SOURCES)
		die(EXIT_USAGE, "%s: at most %d", name, BURST_MAX_SOURCES);
	opt->sources[opt->n_sources++] = address(name, value);
}

static uint64_t ms_and_bytes(const char *name, const char *value, uint64_t least, double *ms)
{
	char copy[80], *bytes;

	snprintf(copy, sizeof(copy), "%s", value);
	bytes = strchr(copy, ':');
	if (!bytes)
		die(EXIT_USAGE, "%s: '%s' is not MS:BYTES", name, value);
	*bytes++ = '\0';
	*ms = real(name, copy, 0, 3.6e6);
	return number(name, bytes, least, 1ull << 40);
}

static void add_step(struct options *opt, const char *name, const char *value,
		     bool overlap)
{
	struct step *step = &opt->steps[opt->n_steps];

	if (opt->n_steps == BURST_MAX_STEPS)
		die(EXIT_USAGE, "%s: at most %d steps", name, BURST_MAX_STEPS);
	step->bytes = ms_and_bytes(name, value, 0, &step->compute_ms);
	step->overlap = overlap;
	opt->n_steps++;
}

static void parse_step(struct options *opt, const char *name, const char *value)
{
	add_step(opt, name, value, false);
}

static void parse_overlap(struct options *opt, const char *name,
			  const char *value)
{
	add_step(opt, name, value, true);
}

static void parse_request(struct options *opt, const char *name,
			  const char *value)
{
	struct request *request = &opt->requests[opt->n_requests];

	if (opt->n_requests == BURST_MAX_REQUESTS)
		die(EXIT_USAGE, "%s: at most %d", name, BURST_MAX_REQUESTS);
	request->bytes = ms_and_bytes(name, value, sizeof(struct header) + 1, &request->gap_ms);
	opt->n_requests++;
}

static void parse_hint(struct options *opt, const char *name, const char *value)
{
	if (!*value)
		die(EXIT_USAGE, "%s: '' is not the path of a socket", name);
	opt->hint.socket = value;
}

static const struct option_spec specs[] = {
	OTHER("--job", ALL, parse_job),
	OTHER("--cc", ALL, parse_cc),
	WHOLE("--mark", ALL, mark, 0, UINT32_MAX),
	OTHER("--listen", IN_RECV | IN_JOB, parse_listen),
	WHOLE("--inbound", IN_JOB, inbound, 1, 65535),
	WHOLE("--lead", IN_JOB, lead, 1, 1ull << 50),
	OTHER("--peer", SENDS, parse_peer),
	OTHER("--source", SENDS, parse_source),
	WHOLE("--flows", IN_JOB | IN_BULK, flows, 1, BURST_MAX_FLOWS),
	WHOLE("--bytes", IN_JOB | IN_SHORT, bytes, 1, 1ull << 50),
	WHOLE("--iterations", IN_JOB, iterations, 0, 1000000000),
	REAL("--start-ms", SENDS, start_ms, 0, 3.6e6),
	REAL("--compute-ms", IN_JOB, compute_ms, 0, 3.6e6),
	OTHER("--step", IN_JOB, parse_step),
	OTHER("--overlap", IN_JOB, parse_overlap),
	REAL("--noise", IN_JOB, noise, 0, 1),
	REAL("--lognormal", IN_JOB, lognormal, 0, 10),
	WHOLE("--seed", IN_JOB, seed, 0, UINT64_MAX),
	OTHER("--hint", IN_JOB, parse_hint),
	WHOLE("--hint-job", IN_JOB, hint.job, 1, 65535),
	REAL("--claim", IN_JOB, hint.claim, 1e-6, 1e6),
	REAL("--restart-ms", IN_JOB, hint.restart_ms, 1, 3.6e6),
	REAL("--connect-ms", IN_JOB, connect_ms, 0, 3.6e6),
	REAL("--every-ms", IN_SHORT, every_ms, 0.001, 3.6e6),
	OTHER("--request", IN_SHORT, parse_request),
	REAL("--seconds", IN_BULK | IN_SHORT, seconds, 0, 1e6),
	WHOLE("--at", SENDS, at_ns, 0, INT64_MAX / 2),
	REAL("--timeout-s", ALL, timeout_s, 0.1, 86400),
	WHOLE("--sample-ms", IN_RECV | IN_JOB, sample_ms, 1, 60000),
};

static enum burst_mode parse_mode(const char *name)
{
	static const char *const names[] = {
		[MODE_RECV] = "recv", [MODE_JOB] = "job",
		[MODE_BULK] = "bulk", [MODE_SHORT] = "short",
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return (enum burst_mode)i;
	die(EXIT_USAGE, "'%s' is not one of recv, job, bulk, short", name);
}

static void parse_value(struct options *opt, const struct option_spec *spec, const char *value)
{
	void *to = (char *)opt + spec->at;

	if (spec->parse)
		spec->parse(opt, spec->name, value);
	else if (!spec->size)
		*(double *)to = real(spec->name, value, spec->low, spec->high);
	else if (spec->size == sizeof(uint32_t))
		*(uint32_t *)to = (uint32_t)number(spec->name, value, spec->min, spec->max);
	else
		*(uint64_t *)to = number(spec->name, value, spec->min, spec->max);
}

static void parse_option(struct options *opt, const char *name,
			 const char *value)
{
	unsigned int i;

	for (i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		if (strcmp(name, specs[i].name))
			continue;
		if (!(specs[i].modes & (1u << opt->mode)))
			die(EXIT_USAGE, "%s: not for this role", name);
		if (!value)
			die(EXIT_USAGE, "%s: needs a value", name);
		parse_value(opt, &specs[i], value);
		return;
	}
	die(EXIT_USAGE, "unknown option '%s' (see --help)", name);
}

static void check_message(const char *name, uint64_t bytes, uint32_t flows)
{
	if (bytes / flows <= sizeof(struct header))
		die(EXIT_USAGE, "%s: each of the %u flows needs more than %zu bytes",
		    name, flows, sizeof(struct header));
}

static void check_steps(const struct options *opt)
{
	bool sends = false;
	uint32_t i;

	if (opt->bytes || opt->compute_ms > 0.0)
		die(EXIT_USAGE, "--step: not together with --bytes or --compute-ms");
	if (opt->inbound)
		die(EXIT_USAGE, "--step: not together with --inbound");
	for (i = 0; i < opt->n_steps; i++) {
		if (!opt->steps[i].bytes)
			continue;
		check_message("--step", opt->steps[i].bytes, opt->n_peers * opt->flows);
		sends = true;
	}
	if (!sends)
		die(EXIT_USAGE, "--step: none of them sends");
}

static void check_job(const struct options *opt)
{
	if (opt->inbound && !opt->listening)
		die(EXIT_USAGE, "--inbound: needs --listen");
	if (opt->hint.restart_ms > 0.0 && !opt->hint.socket)
		die(EXIT_USAGE, "--restart-ms: needs --hint");
	if (opt->hint.socket && !opt->hint.job)
		die(EXIT_USAGE, "--hint: needs --hint-job");
	if (opt->lead && !opt->inbound)
		die(EXIT_USAGE, "--lead: needs --inbound");
	if (opt->noise > 0.0 && opt->lognormal > 0.0)
		die(EXIT_USAGE, "--lognormal: not together with --noise");
	if (opt->n_steps)
		check_steps(opt);
	else
		check_message("--bytes", opt->bytes, opt->n_peers * opt->flows);
}

/* A job without steps has one. */
static void settle_steps(struct options *opt)
{
	if (!opt->n_steps)
		opt->steps[opt->n_steps++] = (struct step){
			.compute_ms = opt->compute_ms, .bytes = opt->bytes,
		};
}

static void check_short(const struct options *opt)
{
	bool pauses = false;
	uint32_t i;

	if (!opt->n_requests) {
		if (opt->every_ms <= 0.0)
			die(EXIT_USAGE, "short: needs --every-ms or --request");
		check_message("--bytes", opt->bytes, 1);
		return;
	}
	if (opt->bytes || opt->every_ms > 0.0)
		die(EXIT_USAGE, "--request: not together with --bytes or --every-ms");
	for (i = 0; i < opt->n_requests; i++)
		pauses |= opt->requests[i].gap_ms > 0.0;
	if (!pauses)
		die(EXIT_USAGE, "--request: none of them waits");
}

static void check(const struct options *opt)
{
	if (opt->mode == MODE_RECV) {
		if (!opt->listening)
			die(EXIT_USAGE, "recv: needs --listen ADDR:PORT");
		return;
	}
	if (!opt->n_peers)
		die(EXIT_USAGE, "needs --peer ADDR:PORT");
	if (opt->mode == MODE_JOB)
		check_job(opt);
	if (opt->mode == MODE_SHORT)
		check_short(opt);
}

void options_parse(struct options *opt, int argc, char **argv)
{
	int i;

	memset(opt, 0, sizeof(*opt));
	opt->job = "job";
	opt->flows = 1;
	opt->timeout_s = 30;
	opt->hint.claim = 1;
	if (argc < 2)
		die(EXIT_USAGE, "say recv, job, bulk or short (see --help)");
	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") && strcmp(argv[i], "-h"))
			continue;
		fputs(usage_text, stdout);
		exit(EXIT_OK);
	}
	opt->mode = parse_mode(argv[1]);
	for (i = 2; i < argc; i += 2)
		parse_option(opt, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
	check(opt);
	settle_steps(opt);
}
