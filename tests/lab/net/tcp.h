/* SPDX-License-Identifier: GPL-2.0 */
/* How the two ends of a network plugin's connection find each other: over TCP, never waiting. */
#ifndef LAB_NET_TCP_H
#define LAB_NET_TCP_H

#include <netinet/in.h>

/* What NCCL carries from who listens to who connects, 128 bytes at most. */
struct handle {
	struct sockaddr_in address;
	void *connecting;	/* what the plugin keeps between two tries */
};

/* Descriptors, or -1. */
int tcp_listen(struct handle *h);
int tcp_connect(const struct handle *h);

/* 1: the connection stands, 0: not yet, -1: it does not. */
int tcp_connected(int fd, const struct handle *h);

/* A descriptor, -1: nobody, -2: an error. */
int tcp_accept(int fd);

#endif
