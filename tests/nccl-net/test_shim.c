// SPDX-License-Identifier: GPL-2.0
/* What NCCL finds in libnccl-net-mlcc and gets of the plugin behind it, for each version. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/tap.h"
#include "player.h"

static struct chained *chained;

/* In a process of its own, as the library stays in memory. */
static void in_child(void (*body)(int version), const char *chain, int version)
{
	pid_t child;

	if (tap_child(&child)) {
		setenv("MLCC_NET_CHAIN", chain, 1);
		tap_exit(body(version));
	}
	tap_join(child, "version %d", version);
}

/* With what the variable @chain names, as each of these versions. */
#define CASE_OF(name, chain, first, last)			\
	static void name##_body(int version);			\
	TEST(name)						\
	{							\
		for (int v = first; v <= last; v++)		\
			in_child(name##_body, getenv(chain), v);\
	}							\
	static void name##_body(int version)
#define CASE(...)	CASE_OF(__VA_ARGS__)
#define EVERY	"CHAINED_ALL", NET_FIRST, NET_LAST
#define NEWEST	"CHAINED_ALL", NET_LAST, NET_LAST

static struct player begin(int version)
{
	struct player p = player_open(getenv("SHIM"), version);
	void *lib = dlopen(getenv("MLCC_NET_CHAIN"), RTLD_NOW | RTLD_NOLOAD);

	chained = lib ? dlsym(lib, "chained") : NULL;
	CHECK(chained && p.net, "not chained");
	if (!chained || !p.net)
		_exit(1);
	CHECK(!player_init(&p) && chained->version == version, "version %d", chained->version);
	return p;
}

static void *connected(struct player *p)
{
	void *comm = NULL, *offload = NULL;
	char handle[128];

	CHECK(!player_connect(p, 1, handle, &comm, &offload) && !comm, "connected at once");
	CHECK(!player_connect(p, 1, handle, &comm, &offload) && comm, "not connected");
	CHECK(chained->last_dev == 1 && chained->last[0] == handle, "device %d", chained->last_dev);
	return comm;
}

CASE(a_send_is_passed_on, EVERY)
{
	struct player p = begin(version);
	void *comm = connected(&p), *request;
	int done = 1, sizes = 0;
	char data[100];

	chained->full = true;
	CHECK(!player_isend(&p, comm, data, 100, &request) && !request, "there was no room");
	chained->full = false;
	CHECK(!player_isend(&p, comm, data, 100, &request) && request, "no request");
	CHECK(chained->last[1] == data && chained->last_size == 100, "%zu bytes",
	      chained->last_size);
	CHECK(!p.net->test(request, &done, NULL) && !done, "done");
	chained->done[0] = true;
	CHECK(!p.net->test(request, &done, &sizes) && done && sizes == 77, "not done");
	chained->fails = 3;
	CHECK(player_isend(&p, comm, data, 100, &request) == 3, "an error is lost");
	CHECK(!p.net->close_send(comm) && chained->closed == 1, "not closed");
}

/* As many as the interface allows, and done in another order. */
CASE(sends_under_way_are_told_apart, EVERY)
{
	struct player p = begin(version);
	void *comm = connected(&p), *requests[32];
	char data[1];
	int done;

	for (int i = 0; i < 32; i++)
		CHECK(!player_isend(&p, comm, data, 100000, &requests[i]) && requests[i],
		      "request %d", i);
	for (int i = 31; i >= 0; i--) {
		CHECK(!p.net->test(requests[i], &done, NULL) && !done, "request %d is done", i);
		chained->done[i] = true;
		CHECK(!p.net->test(requests[i], &done, NULL) && done, "request %d is not", i);
	}
	/* one more than there are places for is the plugin's own */
	for (int i = 0; i < 33; i++)
		CHECK(!player_isend(&p, comm, data, 100000, &requests[i % 32]) && requests[i % 32],
		      "request %d", i);
	memset(chained->done, true, sizeof(chained->done));
	CHECK(!p.net->test(requests[0], &done, NULL) && done, "not done");
}

CASE(memory_is_registered_with_the_plugin, EVERY)
{
	struct player p = begin(version);
	void *comm = connected(&p), *mhandle, *theirs = NULL;
	void *recv = NULL, *offload = NULL;
	char data[100];

	((int (*)(void *, void **, void **))p.net->accept)(data, &recv, &offload);
	CHECK(recv && chained->last[0] == data, "not accepted");
	CHECK(!p.net->reg_mr(comm, data, 100, 1, &mhandle) && chained->last_size == 100, "size");
	theirs = chained->last[0];
	CHECK(theirs != comm, "its own connection is not given back");
	CHECK(!p.net->reg_mr_dmabuf(comm, data, 5, 1, 0, 0, &mhandle) && chained->last[0] == theirs,
	      "another connection");
	CHECK(!p.net->device_mr(comm, mhandle, &offload) && chained->last[0] == theirs,
	      "another connection");
	CHECK(!p.net->dereg_mr(comm, mhandle) && chained->last[0] == theirs &&
	      chained->last[1] == mhandle, "another connection");
	/* what receives is the plugin's own */
	CHECK(!p.net->reg_mr(recv, data, 100, 1, &mhandle) && chained->last[0] == recv, "changed");
	CHECK(!p.net->close_send(comm) && chained->last[0] == theirs, "another connection");
}

/* One that finds out in its init what it stands for. */
TEST(calls_that_come_with_init_are_passed_on)
{
	in_child(a_send_is_passed_on_body, getenv("CHAINED_LATE"), 8);
	in_child(memory_is_registered_with_the_plugin_body, getenv("CHAINED_LATE"), 8);
}

CASE(what_a_device_sends_is_left_alone, EVERY)
{
	struct player p = begin(version);
	void *comm = NULL, *offload = NULL, *mhandle;
	char data[1];

	chained->offloads = true;
	player_connect(&p, 0, data, &comm, &offload);
	player_connect(&p, 0, data, &comm, &offload);
	CHECK(comm && !p.net->reg_mr(comm, data, 1, 1, &mhandle) && chained->last[0] == comm,
	      "changed");
}

static void expect_left_alone(int version, bool alone)
{
	struct player p = begin(version);
	void *comm = connected(&p), *mhandle;
	char data[1];

	CHECK(!p.net->reg_mr(comm, data, 1, 1, &mhandle) && (chained->last[0] == comm) == alone,
	      "changed: %d", alone);
	CHECK(strstr(player_remark, "played") && !!strstr(player_remark, "alone") == alone, "%s",
	      player_remark);
}

CASE(a_setting_turns_it_off, NEWEST)
{
	setenv("MLCC_NET", "0", 1);
	expect_left_alone(version, true);
}

CASE(latency_is_left_alone, NEWEST)
{
	setenv("MLCC_CLASS", "latency", 1);
	expect_left_alone(version, true);
}

CASE(background_is_not_left_alone, NEWEST)
{
	setenv("MLCC_CLASS", "background", 1);
	expect_left_alone(version, false);
}

/* Places of connections that were closed are used again. */
CASE(connections_beyond_all_places_work, NEWEST)
{
	struct player p = begin(version);
	void *comm, *mhandle;
	char data[1];

	for (int i = 0; i < 10000; i++) {
		comm = connected(&p);
		p.net->close_send(comm);
	}
	comm = connected(&p);
	CHECK(!p.net->reg_mr(comm, data, 1, 1, &mhandle) && chained->last[0] != comm, "no place");
	for (int i = 0; i < 10000; i++) {
		comm = connected(&p);
		CHECK(!p.net->reg_mr(comm, data, 1, 1, &mhandle), "connection %d", i);
	}
	CHECK(chained->last[0] == comm, "more than there are places for");
	CHECK(!p.net->close_send(comm) && chained->closed == 10001, "not closed");
}

CASE(a_group_of_sends_has_one_request, "CHAINED_ALL", 11, 12)
{
	struct player p = begin(version);
	void *comm = connected(&p), *request;
	char data[1];

	for (int i = 0; i < 3; i++)
		CHECK(!player_isend_of_group(&p, comm, data, 50, &request) && !request,
		      "send %d has a request", i);
	CHECK(!player_isend(&p, comm, data, 50, &request) && request, "the last has none");
	CHECK(chained->sends == 4, "%d sends", chained->sends);
}

static bool found(const char *symbol)
{
	void *lib = dlopen(getenv("SHIM"), RTLD_NOW | RTLD_LOCAL);

	return lib && dlsym(lib, symbol);
}

CASE(versions_that_it_lacks_are_not_found, "CHAINED_9_11", 11, 11)
{
	CHECK(found("ncclNetPlugin_v9") && found("ncclNetPlugin_v11"), "not found");
	CHECK(!found("ncclNetPlugin_v8") && !found("ncclNetPlugin_v10"), "found");
	CHECK(!found("ncclNetPlugin_v12"), "a version that it lacks is found");
	CHECK(found("ncclTunerPlugin_v4"), "it is a tuner, too");
	CHECK(found("ncclRmaPlugin_v13") && found("ncclRmaPlugin_v16"), "it is one-sided, too");
	CHECK(!found("ncclTunerPlugin_v5") && !found("ncclCollNetPlugin_v9") &&
	      !found("ncclRmaPlugin_v14"), "found");
}

CASE_OF(calls_that_it_lacks_are_lacking, "CHAINED_9_11", 11, 11)
{
	struct player p = begin(version);

	CHECK(!p.net->reg_mr_dmabuf && !p.net->device_mr, "they are there");
	CHECK(!p.net->irecv_consumed, "it is there");
}

/* @which: of these plugins and words */
static void fails(int which)
{
	const char *chained[] = { "/nowhere/libnccl-net.so", getenv("SHIM"), "libm.so.6", "" };
	static const char *const words[] = {
		"/nowhere/libnccl-net.so: cannot open shared object file", "this plugin itself",
		"no network interface of version 8 to 12", "MLCC_NET_CHAIN names one",
	};
	struct player p;

	if (*chained[which])
		setenv("MLCC_NET_CHAIN", chained[which], 1);
	else
		unsetenv("MLCC_NET_CHAIN");
	p = player_open(getenv("SHIM"), NET_LAST);
	CHECK(p.net && player_init(&p), "it begins, or nobody would say why");
	CHECK(strstr(player_warning, words[which]), "%s", player_warning);
}

TEST(who_cannot_chain_says_why)
{
	for (int which = 0; which < 4; which++)
		in_child(fails, "", which);
}

TAP_MAIN
