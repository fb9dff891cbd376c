// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"

#define DEFAULT	"libnccl-net.so"

static void *lib;
static char failed[256];

/* Found in another library it is this plugin. */
__attribute__((visibility("default"))) const char mlcc_net_plugin[] = "mlcc";

const char *chain_failed(void)
{
	return *failed ? failed : NULL;
}

void *chain_symbol(const char *name)
{
	return lib ? dlsym(lib, name) : NULL;
}

const struct net *chain_net(int version)
{
	char name[32];

	snprintf(name, sizeof(name), "ncclNetPlugin_v%d", version);
	return chain_symbol(name);
}

static void *net_open(const char *name)
{
	void *its = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	char file[256];

	if (its || strchr(name, '/'))
		return its;
	/* the error that is told is that of the second, which NCCL would have looked for, too */
	snprintf(file, sizeof(file), "libnccl-net-%.200s.so", name);
	return strstr(name, ".so") ? NULL : dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static bool has_a_version(void)
{
	for (int v = NET_FIRST; v <= NET_LAST; v++)
		if (chain_net(v))
			return true;
	return false;
}

__attribute__((constructor)) static void load(void)
{
	const char *name = getenv("MLCC_NET_CHAIN"), *why;
	bool named = name && *name;

	if (!named)
		name = DEFAULT;
	lib = net_open(name);
	why = lib ? NULL : dlerror();
	if (!lib)
		snprintf(failed, sizeof(failed), named ? "MLCC_NET_CHAIN: %.200s" :
			 "no network plugin to go before; MLCC_NET_CHAIN names one (%.150s)",
			 why ? why : name);
	else if (dlsym(lib, "mlcc_net_plugin"))
		snprintf(failed, sizeof(failed), "MLCC_NET_CHAIN: %.150s is this plugin itself",
			 name);
	else if (!has_a_version())
		snprintf(failed, sizeof(failed),
			 "MLCC_NET_CHAIN: %.150s has no network interface of version %d to %d",
			 name, NET_FIRST, NET_LAST);
	if (*failed)
		lib = NULL;
}
