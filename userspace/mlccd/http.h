/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One text over HTTP, for those who scrape it. */
#ifndef MLCCD_HTTP_H
#define MLCCD_HTTP_H

#include <systemd/sd-event.h>

/* Makes the text anew for each request; free() it.  NULL: no memory. */
typedef char *http_text(void *arg, size_t *len);

struct http;

/* Takes over @fd, which listens.  NULL: no memory, or a library that cannot. */
struct http *http_listen(sd_event *events, int fd, http_text *text, void *arg);
void http_close(struct http *h);

#endif /* MLCCD_HTTP_H */
