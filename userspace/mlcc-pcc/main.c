// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mlcc-pcc: loads the firmware into a NIC through DOCA PCC, and tells it which queue pairs are of
 * which job.
 *
 * It reads commands, a line each, and answers each with a line.  Lines that are there together go
 * to the NIC in one message, for each takes it some 20 ms.  The firmware runs while this program
 * does: when it ends, the NIC's own congestion control goes on.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <doca_dev.h>
#include <doca_error.h>
#include <doca_pcc.h>

#include "../../include/mlcc/profiles.h"
#include "../../rdma/pcc/mailbox.h"
#include "../common/exit.h"
#include "../common/number.h"

#define LINE_MOST	128
#define THREADS_MOST	1024

/* What NVIDIA's sample runs on: the DPA's threads that BlueField-3 leaves free. */
#define THREADS_DEFAULT	"176-187,192-203,208-219,224-235,240"

extern struct doca_pcc_app *mlcc_pcc_app;	/* the firmware, as dpacc has packed it */

static volatile sig_atomic_t stopped;
static bool json;		/* answers are for programs */

struct nic {
	struct doca_dev *dev;
	struct doca_pcc *pcc;
};

struct threads {
	u32 count;
	u32 number[THREADS_MOST];
};

/* Commands that have not been sent. */
struct batch {
	u32 count;
	struct mlcc_pcc_command command[MLCC_PCC_COMMANDS];
};

static void usage(FILE *to)
{
	fprintf(to,
		"usage: mlcc-pcc [-j] [-t THREADS] DEVICE\n"
		"\n"
		"Runs DCQCN with mlcc's rule on a programmable NIC until SIGTERM or SIGINT.\n"
		"A queue pair that it has not been told of is plain DCQCN.\n"
		"\n"
		"  -t, --threads LIST  the DPA's threads, such as 176-187,192 (default: those that\n"
		"                      BlueField-3 leaves free)\n"
		"  -j, --json          answers for programs: {\"ok\":true}, or {\"ok\":false,\"error\":...}\n"
		"  -h, --help, --version\n"
		"\n"
		"Commands on standard input, each answered by \"ok\" or \"error: ...\":\n"
		"  job ID [BYTES [PROFILE]]  a job from 1 to 63, what it sends by this NIC in a phase\n"
		"                            (0, the default: learnt), interleave, hotnets22 or mltcp\n"
		"  qp VHCA QPN ID            the queue pair is the job's; ID 0: no job's\n"
		"Queue pairs' numbers: rdma resource show qp.  VHCA: the number of the function.\n"
		"\n"
		"  mlxconfig -d mlx5_0 set USER_PROGRAMMABLE_CC=1      # once, and a power cycle\n"
		"  printf 'job 1\\nqp 0 0x11b 1\\n' | mlcc-pcc mlx5_0\n"
		"\n"
		"Exit status: 0 stopped, 1 failed or refused, 2 usage, 3 no such device.\n");
}

static bool pcc_number(const char *text, u64 most, u64 *value)
{
	struct err none;
	uint64_t v;

	if (!text || number_whole("", text, 0, most, &v, &none))
		return false;
	*value = v;
	return true;
}

/* "0": learnt */
static const char *pcc_phase_bytes(const char *text, u64 *value)
{
	static struct err e;
	uint64_t v = 0;

	if (strcmp(text, "0") && number_bytes("BYTES", text, MLCC_PHASE_BYTES_MAX, &v, &e)) {
		/* it quotes a word, and goes into JSON */
		for (char *s = e.text; *s; s++)
			if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
				*s = '?';
		return e.text;
	}
	*value = v;
	return NULL;
}

/* "176-187,192" */
static bool parse_threads(char *list, struct threads *threads)
{
	char *rest;

	for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		char *last = strchr(word, '-');
		u64 from, to;

		if (last)
			*last++ = '\0';
		if (!pcc_number(word, ~0U >> 1, &from) ||
		    !pcc_number(last ? last : word, ~0U >> 1, &to) || to < from ||
		    to - from >= THREADS_MOST - threads->count)
			return false;
		while (from <= to)
			threads->number[threads->count++] = from++;
	}
	return threads->count;
}

static bool profile(const char *name, u32 *id)
{
	static const char *const names[] = MLCC_PROFILE_NAMES;

	for (*id = 0; *id < MLCC_PROFILE_COUNT; (*id)++)
		if (!strcmp(name, names[*id]))
			return true;
	return false;
}

/* Returns what is wrong with the words, or NULL. */
static const char *parse_job(char **word, struct mlcc_pcc_command *c)
{
	const char *wrong;
	u64 id;

	c->op = MLCC_PCC_SET_JOB;
	if (!pcc_number(word[1], MLCC_PCC_JOBS - 1, &id) || !id)
		return "job: no ID from 1 to 63";
	c->job = id;
	wrong = word[2] ? pcc_phase_bytes(word[2], &c->d_phase) : NULL;
	if (wrong)
		return wrong;
	if (word[2] && word[3] && !profile(word[3], &c->profile))
		return "job: PROFILE is interleave, hotnets22 or mltcp";
	return word[2] && word[3] && word[4] ? "job: takes ID, BYTES, PROFILE" : NULL;
}

static const char *parse_qp(char **word, struct mlcc_pcc_command *c)
{
	u64 vhca, qpn, id;

	c->op = MLCC_PCC_SET_QP;
	if (!word[1] || !word[2] || !word[3] || word[4])
		return "qp: takes VHCA, QPN, ID";
	if (!pcc_number(word[1], 0xffff, &vhca))
		return "qp: VHCA is 0 to 65535";
	if (!pcc_number(word[2], 0xffffff, &qpn) || !qpn)
		return "qp: QPN is 1 to 16777215";
	if (!pcc_number(word[3], MLCC_PCC_JOBS - 1, &id))
		return "qp: ID is 0 to 63";
	c->vhca = vhca;
	c->qpn = qpn;
	c->job = id;
	return NULL;
}

static const char *pcc_parse(char *line, struct mlcc_pcc_command *c)
{
	char *word[6] = { NULL }, *rest;
	u32 count = 0;

	*c = (struct mlcc_pcc_command) { .op = 0 };
	for (char *w = strtok_r(line, " \t\r\n", &rest); w && count < 5;
	     w = strtok_r(NULL, " \t\r\n", &rest))
		word[count++] = w;
	if (count && !strcmp(word[0], "job"))
		return parse_job(word, c);
	if (count && !strcmp(word[0], "qp"))
		return parse_qp(word, c);
	return "a command is job ID [BYTES [PROFILE]] or qp VHCA QPN ID";
}

static int pcc_failed(const char *what, doca_error_t error)
{
	fprintf(stderr, "mlcc-pcc: %s: %s\n", what, doca_error_get_descr(error));
	return error == DOCA_ERROR_NOT_FOUND ? EXIT_NO_DEVICE : EXIT_FAILED;
}

/* One line for a command; @wrong: NULL if it is done.  No text here needs quoting. */
static void pcc_answer(const char *wrong)
{
	if (json && wrong)
		printf("{\"ok\":false,\"error\":\"%s\"}\n", wrong);
	else if (wrong)
		printf("error: %s\n", wrong);
	else
		puts(json ? "{\"ok\":true}" : "ok");
}

/* One message, of @count commands; @response: how far the NIC has come with them. */
static doca_error_t send_message(struct nic *nic, const struct mlcc_pcc_command *commands,
				 u32 count, struct mlcc_pcc_response *response)
{
	struct mlcc_pcc_request *request;
	doca_error_t error;
	u32 bytes, refused;
	void *answer;

	error = doca_pcc_mailbox_get_request_buffer(nic->pcc, (void **)&request);
	if (error != DOCA_SUCCESS)
		return error;
	request->version = MLCC_PCC_VERSION;
	request->count = count;
	memcpy(request->command, commands, count * sizeof(*commands));
	error = doca_pcc_mailbox_send(nic->pcc, sizeof(*request), &bytes, &refused);
	if (error == DOCA_SUCCESS)
		error = doca_pcc_mailbox_get_response_buffer(nic->pcc, &answer);
	if (error != DOCA_SUCCESS)
		return error;
	if (refused || bytes < sizeof(*response))
		return DOCA_ERROR_UNEXPECTED;
	memcpy(response, answer, sizeof(*response));
	if (response->status >= MLCC_PCC_STATUSES || response->done > count)
		return DOCA_ERROR_UNEXPECTED;
	return DOCA_SUCCESS;
}

/* Sends @batch; what is refused is told, and the rest is sent again. */
static doca_error_t send_batch(struct nic *nic, struct batch *batch)
{
	static const char *const texts[] = MLCC_PCC_STATUS_TEXTS;
	struct mlcc_pcc_response response;

	for (u32 sent = 0; sent < batch->count; sent++) {
		doca_error_t error = send_message(nic, batch->command + sent, batch->count - sent,
						  &response);

		if (error != DOCA_SUCCESS)
			return error;
		for (u32 i = 0; i < response.done; i++)
			pcc_answer(NULL);
		sent += response.done;
		if (sent < batch->count)
			pcc_answer(texts[response.status]);
	}
	batch->count = 0;
	return DOCA_SUCCESS;
}

static bool more_is_there(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 0) > 0 && input.revents & POLLIN;
}

/* Waits for @fds; signals come only here.  Returns false when stopped. */
static bool wait_for(struct pollfd *fds, nfds_t count)
{
	sigset_t none;

	sigemptyset(&none);
	while (!stopped)
		if (ppoll(fds, count, NULL, &none) > 0)
			return true;
	return false;
}

/* One line; longer ones are none.  Returns false at the end of input, or when stopped. */
static bool read_line(char *line)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	u32 length = 0;
	char c;

	while (wait_for(&input, 1) && read(STDIN_FILENO, &c, 1) == 1) {
		if (c == '\n') {
			line[length < LINE_MOST ? length : 0] = '\0';
			return true;
		}
		if (length < LINE_MOST)
			line[length++] = c;
	}
	return false;
}

/* Answers come in the order of the commands, so what waits is sent before a line that is wrong. */
static doca_error_t take_line(struct nic *nic, struct batch *batch, char *line)
{
	struct mlcc_pcc_command command;
	const char *wrong = pcc_parse(line, &command);
	doca_error_t error = DOCA_SUCCESS;

	if (!wrong)
		batch->command[batch->count++] = command;
	if (wrong || batch->count == MLCC_PCC_COMMANDS || !more_is_there())
		error = send_batch(nic, batch);
	if (wrong && error == DOCA_SUCCESS)
		pcc_answer(wrong);
	fflush(stdout);
	return error;
}

/* Until SIGTERM, however soon the commands end. */
static int pcc_serve(struct nic *nic)
{
	static struct batch batch;
	doca_error_t error = DOCA_SUCCESS;
	char line[LINE_MOST + 1];

	while (error == DOCA_SUCCESS && read_line(line))
		error = take_line(nic, &batch, line);
	if (error == DOCA_SUCCESS)
		error = send_batch(nic, &batch);
	fflush(stdout);
	if (error != DOCA_SUCCESS)
		return pcc_failed("the NIC does not answer", error);
	wait_for(NULL, 0);
	return EXIT_FINE;
}

static doca_error_t open_device(const char *name, struct doca_dev **dev)
{
	char ibdev[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	doca_error_t error = DOCA_ERROR_NOT_FOUND;
	struct doca_devinfo **list;
	u32 count;

	if (doca_devinfo_create_list(&list, &count) != DOCA_SUCCESS)
		return error;
	for (u32 i = 0; i < count; i++) {
		if (doca_devinfo_get_ibdev_name(list[i], ibdev, sizeof(ibdev)) != DOCA_SUCCESS ||
		    strncmp(ibdev, name, sizeof(ibdev)))
			continue;
		error = doca_devinfo_get_is_pcc_supported(list[i]);
		if (error == DOCA_SUCCESS)
			error = doca_dev_open(list[i], dev);
		break;
	}
	doca_devinfo_destroy_list(list);
	return error;
}

static doca_error_t pcc_configure(struct doca_pcc *pcc, const struct threads *threads)
{
	u32 least, most;
	doca_error_t error = doca_pcc_get_min_num_threads(pcc, &least);

	if (error == DOCA_SUCCESS)
		error = doca_pcc_get_max_num_threads(pcc, &most);
	if (error == DOCA_SUCCESS && (threads->count < least || threads->count > most)) {
		fprintf(stderr, "mlcc-pcc: --threads: %u; the NIC takes %u to %u\n",
			threads->count, least, most);
		return DOCA_ERROR_INVALID_VALUE;
	}
	if (error == DOCA_SUCCESS)
		error = doca_pcc_set_app(pcc, mlcc_pcc_app);
	if (error == DOCA_SUCCESS)
		error = doca_pcc_set_thread_affinity(pcc, threads->count,
						     (u32 *)threads->number);
	if (error == DOCA_SUCCESS)
		error = doca_pcc_set_mailbox(pcc, sizeof(struct mlcc_pcc_request),
					     sizeof(struct mlcc_pcc_response));
	return error;
}

static int pcc_run(struct nic *nic, const struct threads *threads)
{
	doca_error_t error = pcc_configure(nic->pcc, threads);
	int rc;

	if (error == DOCA_SUCCESS)
		error = doca_pcc_start(nic->pcc);
	if (error != DOCA_SUCCESS)
		return pcc_failed("cannot start the firmware", error);
	rc = pcc_serve(nic);
	error = doca_pcc_stop(nic->pcc);
	return error == DOCA_SUCCESS ? rc : pcc_failed("cannot stop the firmware", error);
}

static void pcc_stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void take_signals(void)
{
	struct sigaction action = { .sa_handler = pcc_stop };
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigprocmask(SIG_BLOCK, &ours, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

static int pcc_start(const char *device, const struct threads *threads)
{
	struct nic nic = { .dev = NULL };
	doca_error_t error = open_device(device, &nic.dev);
	int rc;

	if (error != DOCA_SUCCESS)
		return pcc_failed(device, error);
	error = doca_pcc_create(nic.dev, &nic.pcc);
	if (error == DOCA_SUCCESS) {
		rc = pcc_run(&nic, threads);
		doca_pcc_destroy(nic.pcc);
	} else {
		rc = pcc_failed("cannot use PCC (USER_PROGRAMMABLE_CC=1?)", error);
	}
	doca_dev_close(nic.dev);
	return rc;
}

/* What has been set of @list, else it stays; ends the program where an option says so. */
static void take_options(int argc, char **argv, char **list)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ .name = NULL },
	};
	int option;

	while ((option = getopt_long(argc, argv, "t:jh", options, NULL)) != -1) {
		switch (option) {
		case 't':
			*list = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			usage(stdout);
			exit(EXIT_FINE);
		case 'v':
			puts("mlcc-pcc 0.1");
			exit(EXIT_FINE);
		default:
			exit(EXIT_USAGE);
		}
	}
}

int main(int argc, char **argv)
{
	static char by_default[] = THREADS_DEFAULT;
	static struct threads threads;
	char *list = by_default;

	take_options(argc, argv, &list);
	if (argc - optind != 1) {
		fprintf(stderr, "mlcc-pcc: give one DEVICE, such as mlx5_0; see --help\n");
		return EXIT_USAGE;
	}
	if (!parse_threads(list, &threads)) {
		fprintf(stderr, "mlcc-pcc: --threads takes numbers such as 176-187,192\n");
		return EXIT_USAGE;
	}
	take_signals();
	return pcc_start(argv[optind], &threads);
}
