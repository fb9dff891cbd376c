// SPDX-License-Identifier: GPL-2.0
/* Which flows are over a device that counts more than its allowance: with ENA's statistics. */
#include <stdarg.h>
#include <sys/ioctl.h>

static int fake_ioctl(int fd, unsigned long what, ...);

#define ioctl fake_ioctl
#include "../../userspace/mlcc-ctl/observe_allowance.c"
#undef ioctl
#include "tap.h"

static const char *const names[] = { "tx_timeout", "bw_in_allowance_exceeded",
	"bw_out_allowance_exceeded", "_allowance_exceeded", "queue_0_tx_cnt" };

#define N	(sizeof(names) / sizeof(*names))

static uint64_t values[N];
static unsigned int reads;

/* eth0 has ENA's statistics, eth1 none. */
static int fake_ioctl(int fd, unsigned long what, ...)
{
	struct ethtool_gstrings *strings;
	struct ethtool_stats *stats;
	struct ifreq *r;
	va_list ap;

	va_start(ap, what);
	r = va_arg(ap, struct ifreq *);
	va_end(ap);
	if (fd < 0 || what != SIOCETHTOOL || strcmp(r->ifr_name, "eth0"))
		return -1;
	switch (*(__u32 *)r->ifr_data) {
	case ETHTOOL_GSSET_INFO:
		((struct ethtool_sset_info *)(void *)r->ifr_data)->data[0] = N;
		return 0;
	case ETHTOOL_GSTRINGS:
		strings = (void *)r->ifr_data;
		for (unsigned int i = 0; i < strings->len; i++)
			strncpy((char *)strings->data + i * ETH_GSTRING_LEN, names[i], ETH_GSTRING_LEN);
		return 0;
	case ETHTOOL_GSTATS:
		stats = (void *)r->ifr_data;
		memcpy(stats->data, values, stats->n_stats * sizeof(*values));
		reads++;
		return 0;
	}
	return -1;
}

const char *observe_device_name(uint64_t devices)
{
	return devices == 1 ? "eth0" : "eth1";
}

static struct observe_socket sockets[2] = { { .device = 1 }, { .device = 2 } };
static struct observe_group group = { .job.flows = &sockets[0].flow };
static struct observe o = { .groups = { &group }, .count = 1 };

static void check(bool first, const char *when)
{
	observe_allowances(&o);
	CHECK(sockets[0].flow.exceeds == first && !sockets[1].flow.exceeds, "%s: %d, %d", when,
	      sockets[0].flow.exceeds, sockets[1].flow.exceeds);
}

TEST(flows_exceed_while_a_counter_of_their_device_rises)
{
	sockets[0].flow.next = &sockets[1].flow;
	values[2] = 1000;
	check(false, "what was before says nothing");
	values[0] = values[3] = values[4] = 7;
	check(false, "others rise");
	values[2]++;
	check(true, "one more packet out");
	check(false, "no more");
	values[1]++;
	check(true, "one more packet in");
	CHECK(reads == 5, "read %u times", reads);
}

TAP_MAIN
