/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef MLCC_STANDARD_H
#define MLCC_STANDARD_H

#include <fcntl.h>
#include <unistd.h>

/*
 * What the starter has closed of the standard files stays so for a command, but no file of ours
 * takes its place: what we say would be written to a socket, or to a device.
 */
static inline void fill_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

#endif /* MLCC_STANDARD_H */
