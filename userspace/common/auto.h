/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Variables that are closed or freed at the end of their block, however that is left; lists that grow. */
#ifndef MLCC_AUTO_H
#define MLCC_AUTO_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTO_CLOSE	__attribute__((__cleanup__(auto_close)))
#define AUTO_FCLOSE	__attribute__((__cleanup__(auto_fclose)))
#define AUTO_CLOSEDIR	__attribute__((__cleanup__(auto_closedir)))
#define AUTO_FREE	__attribute__((__cleanup__(auto_free)))

/* A negative number is no descriptor; errno stays. */
static inline void auto_close(const int *fd)
{
	int before = errno;

	if (*fd >= 0)
		close(*fd);
	errno = before;
}

static inline void auto_fclose(FILE **f)
{
	int before = errno;

	if (*f)
		fclose(*f);
	errno = before;
}

static inline void auto_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* @p: a pointer to any pointer. */
static inline void auto_free(void *p)
{
	free(*(void **)p);
}

/* Memory for one more than the @count things of @size that are in @mem; NULL: @mem is as it was. */
static inline void *grow(void *mem, size_t count, size_t size)
{
	/* at powers of two, and with nothing, there is no room for the next one */
	return count & (count - 1) ? mem : realloc(mem, (count ? 2 * count : 1) * size);
}

#endif /* MLCC_AUTO_H */
