// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/client.h"
#include "../common/json.h"
#include "listen.h"
#include "pass.h"

#define BACKLOG	128
#define TRIES	100	/* while what another one had is closed, */
#define TRY_US	20000	/* and after so long each */
#define FOLDER	"socket"
#define CONTROL	"mlccd.sock"
#define DOOR	"hold.sock"
#define RUN_DIR	"/run/mlcc"	/* the units' */
#define STOP_US	10000000

static int listen_path_of(struct sockaddr_un *a, const char *dir, const char *name, struct err *e)
{
	int n = snprintf(a->sun_path, sizeof(a->sun_path), "%s/%s", dir, name);

	a->sun_family = AF_UNIX;
	if (n >= (int)sizeof(a->sun_path))
		return fail(e, -ENAMETOOLONG, "%s/%s: the path is too long", dir, name);
	return 0;
}

/* 1: nobody listens there. */
static int nobody_listens(const struct sockaddr_un *a, int type, struct err *e)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return fail(e, -errno, "socket: %s", strerror(errno));
	return !!connect(fd, (struct sockaddr *)a, sizeof(*a));
}

/*
 * Another daemon that lives would answer; one that was killed left its socket behind, which is
 * closed in a moment (last.h).
 */
static int is_free(const struct sockaddr_un *a, int type, struct err *e)
{
	int free = nobody_listens(a, type, e);

	for (int tries = 1; !free && tries < TRIES; tries++) {
		usleep(TRY_US);
		free = nobody_listens(a, type, e);
	}
	if (free)
		return free < 0 ? free : 0;
	return fail(e, -EADDRINUSE, "another mlccd answers at %s", a->sun_path);
}

static int unix_bind(const struct sockaddr_un *a, int type, mode_t mode, struct err *e)
{
	int fd, err;

	unlink(a->sun_path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* the mode first: nobody comes in before listen() */
	if (fd >= 0 && !bind(fd, (struct sockaddr *)a, sizeof(*a)) && !chmod(a->sun_path, mode) &&
	    !listen(fd, BACKLOG))
		return fd;
	err = fail(e, -errno, "%s: %s", a->sun_path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

static int unix_listen(const char *dir, const char *name, int type, mode_t mode, struct err *e)
{
	struct sockaddr_un a;
	int err;

	err = listen_path_of(&a, dir, name, e);
	err = err ? err : is_free(&a, type, e);
	return err ? err : unix_bind(&a, type, mode, e);
}

/*
 * The socket of a daemon that has ended, from the process that it has left.  -EBUSY: it has not
 * ended; else a negative error number: nobody has one.  Only root may have made the door.
 */
static int listen_take_over(const char *dir)
{
	struct sockaddr_un door, control;
	int fds[PASS_FDS], flags = 0, fd;
	unsigned int count;
	struct err none;
	char byte;
	ssize_t n;

	if (listen_path_of(&door, dir, DOOR, &none) ||
	    listen_path_of(&control, dir, FOLDER "/" CONTROL, &none))
		return -ENAMETOOLONG;
	fd = client_connect(door.sun_path, TRIES * TRY_US);
	if (fd < 0)
		return fd;
	n = pass_receive(fd, &byte, sizeof(byte), fds, &count, &flags);
	close(fd);
	if (n <= 0 || !count)
		return n > 0 ? -EBUSY : -ENOTCONN;
	/* again: who asks whom he is connected to is told of us */
	if (sd_is_socket_unix(*fds, SOCK_SEQPACKET, 1, control.sun_path, 0) > 0 &&
	    !access(control.sun_path, F_OK) && !listen(*fds, BACKLOG))
		return *fds;
	close(*fds);
	return -ESTALE;
}

static int held = -1;	/* by us, already */

/*
 * In a folder of its own, which containers mount: a socket that is mounted itself is the old one
 * for as long as they live.  On the host a link has the name.
 */
static int control_make(const char *dir, struct err *e)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct sockaddr_un link, new;
	int fd, err;

	err = listen_path_of(&link, dir, CONTROL, e);
	err = err ? err : listen_path_of(&new, dir, "." CONTROL ".new", e);
	err = err ? err : is_free(&link, SOCK_SEQPACKET, e);
	if (err)
		return err;
	snprintf(folder, sizeof(folder), "%s/" FOLDER, dir);
	if (mkdir(folder, 0755) && errno != EEXIST)
		return fail(e, -errno, "%s: %s", folder, strerror(errno));
	chmod(folder, 0755);
	fd = unix_listen(folder, CONTROL, SOCK_SEQPACKET, 0666, e);
	if (fd < 0)
		return fd;
	unlink(new.sun_path);
	if (!symlink(FOLDER "/" CONTROL, new.sun_path) && !rename(new.sun_path, link.sun_path))
		return fd;
	err = fail(e, -errno, "%s: %s", link.sun_path, strerror(errno));
	close(fd);
	return err;
}

/* Whoever has mounted the last one's has this one's, and who came in meanwhile waits in it. */
static int control_listen(struct listening *l, const char *dir, struct err *e)
{
	struct sockaddr_un door;

	l->control = held >= 0 ? held : listen_take_over(dir);
	for (int tries = 1; l->control == -EBUSY && tries < TRIES; tries++) {
		usleep(TRY_US);
		l->control = listen_take_over(dir);
	}
	if (l->control == -EBUSY)
		return fail(e, -EADDRINUSE, "another mlccd answers at %s/" CONTROL, dir);
	if (l->control < 0)
		l->control = control_make(dir, e);
	if (l->control < 0)
		return l->control;
	if (!listen_path_of(&door, dir, DOOR, e))
		l->door = unix_bind(&door, SOCK_SEQPACKET, 0600, e);
	return l->door < 0 ? l->door : 0;
}

static int bind_soon(int fd, const struct addrinfo *a)
{
	int err = bind(fd, a->ai_addr, a->ai_addrlen);

	for (int tries = 1; err && errno == EADDRINUSE && tries < TRIES; tries++) {
		usleep(TRY_US);
		err = bind(fd, a->ai_addr, a->ai_addrlen);
	}
	return err;
}

static int tcp_listen(const char *address, uint32_t port, struct err *e)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *a;
	int one = 1, fd;
	char number[16];

	snprintf(number, sizeof(number), "%u", port);
	if (getaddrinfo(address, number, &hints, &a))
		return fail(e, -EINVAL, "%s: no address", address);
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd >= 0 && !bind_soon(fd, a) && !listen(fd, BACKLOG)) {
		freeaddrinfo(a);
		return fd;
	}
	one = fail(e, -errno, "port %u of %s: %s", port, address, strerror(errno));
	freeaddrinfo(a);
	if (fd >= 0)
		close(fd);
	return one;
}

/* Those of mlccd.socket, known by their type. */
static void from_systemd(struct listening *l)
{
	int count = sd_listen_fds(1);

	for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; fd++) {
		if (sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, NULL, 0) > 0 && l->control < 0) {
			l->control = fd;
		} else if (sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0 && l->metrics < 0) {
			l->metrics = fd;
		} else {
			note(4, "systemd hands over a socket that is not known here");
			close(fd);
		}
	}
}

/* One that systemd starts would be started again by the next who connects. */
static void stop_units(void)
{
	char *const words[] = { "systemctl", "-q", "stop", "mlccd.socket", "mlccd.service", NULL };
	posix_spawn_file_actions_t actions;
	pid_t child;

	if (access("/run/systemd/system", F_OK))
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!posix_spawnp(&child, *words, &actions, NULL, words, environ))
		waitpid(child, NULL, 0);
	posix_spawn_file_actions_destroy(&actions);
}

int listen_stop_other(const char *dir, struct err *e)
{
	struct json_object *request, *reply;
	struct sockaddr_un a;
	char byte;
	int fd, err;

	if (!strcmp(dir, RUN_DIR))
		stop_units();
	held = listen_take_over(dir);
	if (held >= 0)
		return 0;
	err = listen_path_of(&a, dir, CONTROL, e);
	fd = err ? err : client_connect(a.sun_path, STOP_US);
	if (err || fd < 0)
		return err;
	request = json_object_new_object();
	put_string(request, "op", "stop");
	reply = client_ask(fd, request, &err);
	if (err)
		fail(e, err, "the mlccd at %s does not answer: %s", a.sun_path, strerror(-err));
	else if (!get_bool(reply, "ok"))
		err = fail(e, -EPERM, "the mlccd at %s does not stop: %s", a.sun_path,
			   get_string(reply, "error"));
	else if (recv(fd, &byte, 1, 0))
		err = fail(e, -EBUSY, "the mlccd at %s does not end", a.sun_path);
	json_object_put(reply);
	close(fd);
	return err;
}

int listen_all(struct listening *l, const char *dir, const char *address, uint32_t port,
	       struct err *e)
{
	int err = 0;

	*l = (struct listening){ -1, -1, -1, -1 };
	from_systemd(l);
	if (l->control < 0)
		err = control_listen(l, dir, e);
	if (err)
		return err;
	if (l->metrics < 0)
		l->metrics = unix_listen(dir, "metrics.sock", SOCK_STREAM, 0660, e);
	/* who asks for metrics is closed in the main thread, by a library */
	if (l->metrics >= 0)
		pass_allow(l->metrics, false);
	if (l->metrics >= 0 && port)
		l->port = tcp_listen(address, port, e);
	if (l->metrics < 0)
		return l->metrics;
	return port && l->port < 0 ? l->port : 0;
}
