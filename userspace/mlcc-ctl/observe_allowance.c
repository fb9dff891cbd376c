// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What an instance of a cloud may send is limited: AWS' ENA driver counts the packets that were
 * held up or dropped beyond that, "bw_out_allowance_exceeded" and others, among the statistics of
 * ethtool -S, which anybody may read.
 */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../common/auto.h"
#include "observe.h"

#define SUFFIX		"_allowance_exceeded"
#define STATS_MAX	65536

static int ask_ethtool(int fd, const char *device, void *what)
{
	struct ifreq r = { .ifr_data = what };

	strncpy(r.ifr_name, device, sizeof(r.ifr_name) - 1);
	return ioctl(fd, SIOCETHTOOL, &r);
}

static unsigned int count_stats(int fd, const char *device)
{
	union {
		struct ethtool_sset_info info;
		__u32 words[sizeof(struct ethtool_sset_info) / sizeof(__u32) + 1];
	} sets = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_STATS } };
	unsigned int n;

	if (ask_ethtool(fd, device, &sets) || !sets.info.sset_mask)
		return 0;
	n = sets.info.data[0];
	return n <= STATS_MAX ? n : 0;
}

static bool is_allowance(const struct ethtool_gstrings *names, unsigned int i)
{
	const char *name = (const char *)names->data + i * ETH_GSTRING_LEN;
	size_t len = strnlen(name, ETH_GSTRING_LEN), suffix = strlen(SUFFIX);

	return len > suffix && !memcmp(name + len - suffix, SUFFIX, suffix);
}

/* Packets beyond the allowances of @device, ever. */
static uint64_t exceeded(int fd, const char *device)
{
	/* for all that there may be: the kernel writes as many as there are by then */
	AUTO_FREE struct ethtool_gstrings *names = calloc(1, sizeof(*names) + STATS_MAX * ETH_GSTRING_LEN);
	AUTO_FREE struct ethtool_stats *stats = calloc(1, sizeof(*stats) + STATS_MAX * sizeof(__u64));
	unsigned int n = count_stats(fd, device);
	uint64_t sum = 0;
	bool any = false;

	if (!n || !names || !stats)
		return 0;
	*names = (struct ethtool_gstrings){ ETHTOOL_GSTRINGS, ETH_SS_STATS, n };
	*stats = (struct ethtool_stats){ ETHTOOL_GSTATS, n };
	if (ask_ethtool(fd, device, names))
		return 0;
	for (unsigned int i = 0; i < n; i++)
		any |= is_allowance(names, i);
	/* the device itself may be asked for their values */
	if (!any || ask_ethtool(fd, device, stats))
		return 0;
	for (unsigned int i = 0; i < n; i++)
		sum += is_allowance(names, i) ? stats->data[i] : 0;
	return sum;
}

void observe_allowances(struct observe *o)
{
	static uint64_t known, last[64];
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t used = 0, rose = 0;

	for (unsigned int i = 0; i < o->count; i++)
		for (struct observe_flow *f = o->groups[i]->job.flows; f; f = f->next)
			used |= ((struct observe_socket *)f)->device;
	for (unsigned int i = 0; fd >= 0 && i < 64; i++) {
		uint64_t bit = 1ULL << i, now;

		if (!(used & bit))
			continue;
		now = exceeded(fd, observe_device_name(bit));
		rose |= known & bit && now > last[i] ? bit : 0;
		known |= bit;
		last[i] = now;
	}
	for (unsigned int i = 0; i < o->count; i++)
		for (struct observe_flow *f = o->groups[i]->job.flows; f; f = f->next)
			f->exceeds = ((struct observe_socket *)f)->device & rose;
}
