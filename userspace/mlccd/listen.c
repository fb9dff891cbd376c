// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "listen.h"

#define BACKLOG	128

static int unix_listen(const char *dir, const char *name, int type, mode_t mode, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd, n;

	n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", dir, name);
	if (n >= (int)sizeof(a.sun_path))
		return fail(e, -ENAMETOOLONG, "%s/%s: the path is too long", dir, name);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(e, -errno, "socket: %s", strerror(errno));
	/* another daemon that lives would answer; one that was killed left its socket behind */
	if (!connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return fail(e, -EADDRINUSE, "another mlccd answers at %s", a.sun_path);
	}
	close(fd);
	unlink(a.sun_path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* the mode first: nobody comes in before listen() */
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(a)) && !chmod(a.sun_path, mode) &&
	    !listen(fd, BACKLOG))
		return fd;
	n = fail(e, -errno, "%s: %s", a.sun_path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return n;
}

static int tcp_listen(uint32_t port, struct err *e)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int one = 1, fd;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, BACKLOG))
		return fd;
	one = fail(e, -errno, "port %u of the loopback: %s", port, strerror(errno));
	if (fd >= 0)
		close(fd);
	return one;
}

/* Those of mlccd.socket, known by their type. */
static int from_systemd(struct mlccd *d, bool *control, bool *metrics)
{
	int count = sd_listen_fds(1), err = 0;

	for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count && !err; fd++) {
		if (sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, NULL, 0) > 0 && !*control) {
			err = peers_listen(d, fd);
			*control = true;
		} else if (sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0 && !*metrics) {
			err = metrics_listen(d, fd);
			*metrics = true;
		} else {
			note(4, "systemd hands over a socket that is not known here");
			close(fd);
		}
	}
	return err;
}

int listen_all(struct mlccd *d, const char *dir, struct err *e)
{
	bool control = false, metrics = false;
	int fd, err;

	err = from_systemd(d, &control, &metrics);
	if (!err && !control) {
		fd = unix_listen(dir, "mlccd.sock", SOCK_SEQPACKET, 0666, e);
		if (fd < 0)
			return fd;
		err = peers_listen(d, fd);
	}
	if (!err && !metrics) {
		fd = unix_listen(dir, "metrics.sock", SOCK_STREAM, 0660, e);
		if (fd < 0)
			return fd;
		err = metrics_listen(d, fd);
	}
	if (!err && d->config.metrics_port) {
		fd = tcp_listen(d->config.metrics_port, e);
		if (fd < 0)
			return fd;
		err = metrics_listen(d, fd);
	}
	return err ? fail(e, err, "cannot listen: %s", strerror(-err)) : 0;
}
