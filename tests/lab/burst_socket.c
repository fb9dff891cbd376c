// SPDX-License-Identifier: GPL-2.0
/* Socket set-up of mlcc-burst: congestion control, mark, addresses. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "burst.h"

#define UNSENT_BYTES	(128 * 1024)

static void set_int(int fd, int level, int name, int value, const char *what)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die(EXIT_SYSTEM, "%s: %s", what, strerror(errno));
}

/* The buffers are left to the kernel's autotuning on purpose. */
static int socket_open(const struct options *opt)
{
	static const struct linger abort_on_close = { .l_onoff = 1 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die(EXIT_SYSTEM, "socket: %s", strerror(errno));
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
	/*
	 * Copying a whole phase takes milliseconds, in which the first ACKs would wait for the
	 * sender to let go of the socket, or of the CPU.
	 */
	set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES, "TCP_NOTSENT_LOWAT");
	/*
	 * Close by reset: what a stopped run has not sent yet must not live on
	 * in orphans, which would load the link and pin the congestion control.
	 */
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort_on_close,
		       sizeof(abort_on_close)))
		die(EXIT_SYSTEM, "SO_LINGER: %s", strerror(errno));
	if (opt->mark)
		set_int(fd, SOL_SOCKET, SO_MARK, (int)opt->mark, "--mark");
	if (opt->cc && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, opt->cc,
				  strlen(opt->cc)))
		die(EXIT_SYSTEM, "--cc %s: %s", opt->cc, strerror(errno));
	return fd;
}

int socket_listen(const struct options *opt)
{
	int fd = socket_open(opt);

	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	if (bind(fd, (const struct sockaddr *)&opt->listen, sizeof(opt->listen)))
		die(EXIT_SYSTEM, "bind: %s", strerror(errno));
	if (listen(fd, SOMAXCONN))
		die(EXIT_SYSTEM, "listen: %s", strerror(errno));
	return fd;
}

static void bind_source(int fd, const struct options *opt, uint32_t flow)
{
	struct sockaddr_in source = { .sin_family = AF_INET };

	if (!opt->n_sources)
		return;
	/*
	 * The flows of each peer take the sources in turn. The port is chosen
	 * at connect, where the whole four-tuple is known.
	 */
	source.sin_addr = opt->sources[flow / opt->n_peers % opt->n_sources];
	set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1, "--source");
	if (bind(fd, (const struct sockaddr *)&source, sizeof(source)))
		die(EXIT_SYSTEM, "--source: %s", strerror(errno));
}

/* Starts to connect; epoll tells when that is done. */
int socket_connect(const struct options *opt, uint32_t flow)
{
	const struct sockaddr_in *peer = &opt->peers[flow % opt->n_peers];
	int fd = socket_open(opt);

	bind_source(fd, opt, flow);
	if (connect(fd, (const struct sockaddr *)peer, sizeof(*peer)) &&
	    errno != EINPROGRESS)
		die(EXIT_SYSTEM, "connect: %s", strerror(errno));
	return fd;
}

uint32_t socket_retransmits(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		return 0;
	return info.tcpi_total_retrans;
}
