/* SPDX-License-Identifier: BSD-2-Clause OR LGPL-2.1-or-later */
/* Running something in every network namespace that there is, or that a cgroup's processes have. */
#ifndef LIBMLCC_NETNS_H
#define LIBMLCC_NETNS_H

/*
 * Calls @run once in each namespace, from a thread of its own, so that the caller stays where it
 * is.  @cgroup: path; namespaces of the processes in it and below.  NULL: the caller's, those of
 * all processes, and those that are bound to a name.  A namespace that goes away meanwhile is
 * passed over; otherwise the first error, negative, ends the walk.
 */
int mlcc_netns_each(const char *cgroup, int (*run)(void *arg), void *arg);

#endif /* LIBMLCC_NETNS_H */
