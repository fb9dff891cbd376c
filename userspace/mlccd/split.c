// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "split.h"

#define NOBODYS	65531U	/* of the numbers that distributions leave to nobody */

static bool split_find(struct split *s, const char *name)
{
	const struct passwd *p;
	unsigned long id;
	char *end;

	errno = 0;
	id = strtoul(name, &end, 10);
	if (*name >= '0' && *name <= '9' && !*end && !errno && id < (uid_t)-1) {
		*s = (struct split){ id, id };
		return true;
	}
	p = getpwnam(name);
	if (p)
		*s = (struct split){ p->pw_uid, p->pw_gid };
	return p;
}

static bool split_become(const struct split *s)
{
	return !setgroups(0, NULL) && !setresgid(s->gid, s->gid, s->gid) &&
	       !setresuid(s->uid, s->uid, s->uid);
}

/* A container may lack the capabilities, and a unit; a user namespace the number. */
static bool may_become(const struct split *s)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];
	int status = -1;
	pid_t child;

	if (syscall(SYS_capget, &head, has) || !(has[0].effective >> CAP_CHOWN & 1))
		return false;
	child = fork();
	if (!child)
		_exit(!split_become(s));
	return child > 0 && TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) == child && !status;
}

void split_user(struct split *s, const char *name)
{
	struct split other;

	*s = (struct split){ geteuid(), getegid() };
	if (s->uid)
		return;
	if (!split_find(&other, name)) {
		other = (struct split){ NOBODYS, NOBODYS };
		note(6, "there is no user %s: requests are read as %u", name, NOBODYS);
	}
	if (may_become(&other))
		*s = other;
	else
		note(5, "user %u cannot be taken on here: requests are read as root, without capabilities",
		     other.uid);
}

void split_drop_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_capset, &head, none);
}

int split_drop(const struct split *s, pid_t parent, struct err *e)
{
	if (s->uid != geteuid() && !split_become(s))
		return fail(e, -errno, "cannot become user %u: %s", s->uid, strerror(errno));
	split_drop_rights();
	/* others of that user do not trace it, and no core has what others have sent */
	prctl(PR_SET_DUMPABLE, 0);
	/* a keeper that may not signal another user's process is missed by its socket's end */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return getppid() == parent ? 0 : fail(e, -ESRCH, "the keeper has ended");
}
