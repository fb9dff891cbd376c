// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A scope of the user's own systemd, as 'systemd-run --user --scope -p Delegate=yes' makes it. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "place.h"

#define CALL_US		5000000
#define TRY_US		10000

#define MANAGER		"org.freedesktop.systemd1"

/* Who comes by su or cron has a manager, but not its folder in the environment. */
static int connect_manager(sd_bus **bus)
{
	char dir[64];
	int err;

	if (getenv("XDG_RUNTIME_DIR") || getenv("DBUS_SESSION_BUS_ADDRESS"))
		return sd_bus_open_user(bus);
	snprintf(dir, sizeof(dir), "/run/user/%u", geteuid());
	if (access(dir, X_OK))
		return -errno;
	setenv("XDG_RUNTIME_DIR", dir, 1);
	err = sd_bus_open_user(bus);
	unsetenv("XDG_RUNTIME_DIR");
	return err;
}

static int start_scope(sd_bus *bus)
{
	sd_bus_message *call = NULL;
	char name[64];
	int err;

	snprintf(name, sizeof(name), "mlcc-run-%d.scope", getpid());
	err = sd_bus_message_new_method_call(bus, &call, MANAGER, "/org/freedesktop/systemd1",
					     MANAGER ".Manager", "StartTransientUnit");
	if (err < 0)
		return err;
	err = sd_bus_message_append(call, "ssa(sv)a(sa(sv))", name, "fail", 3,
				    "PIDs", "au", 1, (uint32_t)getpid(),
				    "Delegate", "b", 1,
				    "CollectMode", "s", "inactive-or-failed", 0);
	if (err >= 0)
		err = sd_bus_call(bus, call, CALL_US, NULL, NULL);
	sd_bus_message_unref(call);
	return err;
}

int scope_ask(void)
{
	const char *own = own_cgroup();
	sd_bus *bus = NULL;
	char *before;
	int err = -ETIMEDOUT;

	if (!geteuid() || !own || strncmp(own, "/user.slice/", 12))
		return -EOPNOTSUPP;
	before = strdup(own);
	if (!before)
		return -ENOMEM;
	if (connect_manager(&bus) < 0 || start_scope(bus) < 0)
		err = -EIO;
	/* the answer says that it was queued */
	for (int i = 0; err == -ETIMEDOUT && i < CALL_US / TRY_US; i++) {
		own = own_cgroup();
		if (own && strcmp(own, before))
			err = 0;
		else
			usleep(TRY_US);
	}
	sd_bus_flush_close_unref(bus);
	free(before);
	return err;
}
