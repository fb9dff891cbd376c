// SPDX-License-Identifier: GPL-2.0
/* Command line of mlcc-burst: a table of options. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "burst.h"

#define MAX_BYTES	(1ull << 50)

static const char usage_text[] =
"usage: mlcc-burst recv  --listen ADDR:PORT [COMMON]\n"
"       mlcc-burst job   --peer ADDR:PORT... --bytes N --compute-ms MS [JOB] [COMMON]\n"
"       mlcc-burst bulk  --peer ADDR:PORT... [--flows N] [COMMON]\n"
"       mlcc-burst short --peer ADDR:PORT --bytes N --every-ms MS [COMMON]\n"
"       mlcc-burst short --peer ADDR:PORT --request MS:BYTES... [COMMON]\n"
"\n"
"JOB     --iterations N (0: until SIGTERM)   --flows N (per peer)\n"
"        --noise STD (of the compute time, relative)   --seed N\n"
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
	void (*parse)(struct options *opt, const char *name, const char *value);
	/* or a member of struct options: a whole number of so many bytes; 0: a double, or text */
	size_t at, size;
	uint64_t max;	/* 0: text */
};

#define OTHER(name, parse)	{ name, parse, 0, 0, 0 }
#define TEXT(name, field)	{ name, NULL, offsetof(struct options, field), 0, 0 }
#define WHOLE(name, field, most)	{ name, NULL, offsetof(struct options, field), \
					  sizeof(((struct options *)NULL)->field), most }
#define REAL(name, field, most)	{ name, NULL, offsetof(struct options, field), 0, most }

static uint64_t number(const char *name, const char *value, uint64_t max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(value, &end, 0);
	if (!isdigit((unsigned char)*value) || *end || errno || n > max)
		die(EXIT_USAGE, "%s: '%s': a whole number up to %llu is wanted", name, value,
		    (unsigned long long)max);
	return n;
}

static double real(const char *name, const char *value, double max)
{
	char *end;
	double n = strtod(value, &end);

	if (end == value || *end || !isfinite(n) || n < 0.0 || n > max)
		die(EXIT_USAGE, "%s: '%s': a number from 0 to %g is wanted", name, value, max);
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
	at.sin_port = htons((uint16_t)number(name, colon + 1, 65535));
	return at;
}

static void parse_job(struct options *opt, const char *name, const char *value)
{
	const char *c;

	for (c = value; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			die(EXIT_USAGE, "%s: '%s': use letters, digits and ._-", name, value);
	opt->job = value;
}

static void parse_listen(struct options *opt, const char *name, const char *value)
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

static void parse_source(struct options *opt, const char *name, const char *value)
{
	if (opt->n_sources == BURST_MAX_SOURCES)
		die(EXIT_USAGE, "%s: at most %d", name, BURST_MAX_SOURCES);
	opt->sources[opt->n_sources++] = address(name, value);
}

static void parse_request(struct options *opt, const char *name, const char *value)
{
	struct request *request = &opt->requests[opt->n_requests];
	const char *colon = strchr(value, ':');
	char gap[32];

	if (opt->n_requests == BURST_MAX_REQUESTS)
		die(EXIT_USAGE, "%s: at most %d", name, BURST_MAX_REQUESTS);
	if (!colon || (size_t)(colon - value) >= sizeof(gap))
		die(EXIT_USAGE, "%s: '%s' is not MS:BYTES", name, value);
	memcpy(gap, value, (size_t)(colon - value));
	gap[colon - value] = '\0';
	request->gap_ms = real(name, gap, 3600000);
	request->bytes = number(name, colon + 1, MAX_BYTES);
	if (request->bytes <= sizeof(struct header))
		die(EXIT_USAGE, "%s: more than %zu bytes are needed", name, sizeof(struct header));
	opt->n_requests++;
}

static const struct option_spec specs[] = {
	OTHER("--job", parse_job),
	TEXT("--cc", cc),
	WHOLE("--mark", mark, UINT32_MAX),
	OTHER("--listen", parse_listen),
	WHOLE("--inbound", inbound, 65535),
	WHOLE("--lead", lead, MAX_BYTES),
	OTHER("--peer", parse_peer),
	OTHER("--source", parse_source),
	WHOLE("--flows", flows, BURST_MAX_FLOWS),
	WHOLE("--bytes", bytes, MAX_BYTES),
	WHOLE("--iterations", iterations, 1000000000),
	REAL("--start-ms", start_ms, 3600000),
	REAL("--compute-ms", compute_ms, 3600000),
	REAL("--noise", noise, 1),
	WHOLE("--seed", seed, UINT64_MAX),
	TEXT("--hint", hint.socket),
	WHOLE("--hint-job", hint.job, 65535),
	REAL("--claim", hint.claim, 1000000),
	REAL("--restart-ms", hint.restart_ms, 3600000),
	REAL("--connect-ms", connect_ms, 3600000),
	REAL("--every-ms", every_ms, 3600000),
	OTHER("--request", parse_request),
	WHOLE("--at", at_ns, INT64_MAX / 2),
	REAL("--timeout-s", timeout_s, 86400),
	WHOLE("--sample-ms", sample_ms, 60000),
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
	else if (!spec->max)
		*(const char **)to = value;
	else if (!spec->size)
		*(double *)to = real(spec->name, value, (double)spec->max);
	else if (spec->size == sizeof(uint32_t))
		*(uint32_t *)to = (uint32_t)number(spec->name, value, spec->max);
	else
		*(uint64_t *)to = number(spec->name, value, spec->max);
}

static void parse_option(struct options *opt, const char *name, const char *value)
{
	unsigned int i;

	for (i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		if (strcmp(name, specs[i].name))
			continue;
		if (!value)
			die(EXIT_USAGE, "%s: needs a value", name);
		parse_value(opt, &specs[i], value);
		return;
	}
	die(EXIT_USAGE, "unknown option '%s' (see --help)", name);
}

static void check(const struct options *opt)
{
	bool sized = opt->mode == MODE_JOB || (opt->mode == MODE_SHORT && !opt->n_requests);
	uint32_t n = opt->mode == MODE_JOB ? opt->n_peers * opt->flows : 1;

	if ((opt->mode == MODE_RECV || opt->inbound) && !opt->listening)
		die(EXIT_USAGE, "needs --listen ADDR:PORT");
	if (opt->mode != MODE_RECV && (!opt->n_peers || !opt->flows))
		die(EXIT_USAGE, "needs --peer ADDR:PORT, and --flows");
	if (sized && opt->bytes / n <= sizeof(struct header))
		die(EXIT_USAGE, "--bytes: each of the %u flows needs more than %zu bytes", n,
		    sizeof(struct header));
	if (opt->mode == MODE_SHORT && !opt->n_requests && opt->every_ms <= 0.0)
		die(EXIT_USAGE, "short: needs --every-ms or --request");
	if (opt->n_requests && (opt->bytes || opt->every_ms > 0.0))
		die(EXIT_USAGE, "--request: not together with --bytes or --every-ms");
	if (opt->hint.socket ? !opt->hint.job : opt->hint.restart_ms > 0.0)
		die(EXIT_USAGE, "--hint and --hint-job: one needs the other, --restart-ms both");
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
}
