// SPDX-License-Identifier: GPL-2.0
/*
 * What the shim $SHIM takes of NCCL's proxy thread for a message, in nanoseconds: isend
 * and a test that finds it done, less the same without it.  The least of rounds that take turns.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../userspace/libmlcc-hint/clock.h"
#include "../../userspace/nccl-net/abi.h"
#include "chained.h"

#define ROUNDS		9
#define MESSAGES	300000
#define SIZE		524288

static double message_ns(const struct net *net)
{
	void *comm = NULL, *offload = NULL, *ctx, *request;
	char data[128];
	uint64_t start;
	int done;

	net->init.v11(&ctx, 1, NULL, NULL, NULL);
	while (!comm)
		net->connect.v11(ctx, 0, data, &comm, &offload);
	start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < MESSAGES; i++) {
		request = NULL;
		net->isend.v10(comm, data, SIZE, 0, NULL, NULL, &request);
		net->test(request, &done, NULL);
	}
	return (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / MESSAGES;
}

static const struct net *load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	struct chained *chained = lib ? dlsym(lib, "chained") : NULL;

	if (chained)
		memset(chained->done, 1, sizeof(chained->done));
	return lib ? dlsym(lib, "ncclNetPlugin_v12") : NULL;
}

int main(void)
{
	const char *chained = getenv("CHAINED_ALL");
	const struct net *nets[2];
	double least[2] = { 1e9, 1e9 };

	setenv("MLCC_NET_CHAIN", chained, 1);
	nets[0] = load(getenv("SHIM"));
	nets[1] = load(chained);
	if (!nets[0] || !nets[1])
		return 1;
	for (int i = 0; i < 2 * ROUNDS; i++) {
		double ns = message_ns(nets[i % 2]);

		if (ns < least[i % 2])
			least[i % 2] = ns;
	}
	printf("{\"message_ns\":%.1f}\n", least[0] - least[1]);
	return 0;
}
