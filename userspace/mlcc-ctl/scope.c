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

/* What came of it is only looked at where it has failed. */
static int scope_answered(sd_bus_message *m, void *err, sd_bus_error *unused)
{
	if (sd_bus_message_is_method_error(m, NULL))
		*(int *)err = -EIO;
	return 0;
}

/* Asks, and does not wait: sd-bus would wait minutes for a bus that never answers. */
static int start_scope(sd_bus *bus, int *answer)
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
		err = sd_bus_call_async(bus, NULL, call, scope_answered, answer, CALL_US);
	sd_bus_message_unref(call);
	return err;
}

/* Until this process is elsewhere; the answer says only that it was queued. */
static int wait_to_move(sd_bus *bus, const char *before, const int *answer)
{
	for (int i = 0; i < CALL_US / TRY_US; i++) {
		const char *own = cgroup_of("self");
		int n = sd_bus_process(bus, NULL);

		if (own && strcmp(own, before))
			return 0;
		if (*answer || n < 0)
			return -EIO;
		if (!n)
			sd_bus_wait(bus, TRY_US);
	}
	return -ETIMEDOUT;
}

int scope_ask(void)
{
	const char *own = cgroup_of("self");
	sd_bus *bus = NULL;
	int answer = 0, err;
	char *before;

	if (!geteuid() || !own || strncmp(own, "/user.slice/", 12))
		return -EOPNOTSUPP;
	before = strdup(own);
	if (!before)
		return -ENOMEM;
	err = connect_manager(&bus);
	if (err >= 0)
		err = start_scope(bus, &answer);
	if (err >= 0)
		err = wait_to_move(bus, before, &answer);
	sd_bus_close_unref(bus);
	free(before);
	return err;
}
