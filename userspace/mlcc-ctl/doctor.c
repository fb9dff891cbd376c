// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * doctor: a line for each thing that has to be so, and what to do where it is not.
 *
 * It needs neither the daemon nor root; what only root may see is said to be unknown.  But for a job
 * of a moment it changes nothing, unless it is asked to: then it runs the commands that it advises.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "../common/auto.h"
#include "../common/cgroup2.h"
#include "../libmlcc/libmlcc.h"
#include "../libmlcc/pins.h"
#include "../libmlcc/registered.h"
#include "../rdma/nic.h"
#include "ctl.h"
#include "findings.h"

#define PATIENCE_MS	2000	/* with who changes the carrier */
#define SECURE_BOOT "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

static bool module_there, carrier_there, fix;

/* Runs what is advised, if that is wanted.  Returns whether it has done its work, or would. */
static bool fixed(const char *what, char *const words[])
{
	return fix && ran(what, words);
}

static bool have_capability(int cap)
{
	struct __user_cap_header_struct self = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { };

	return !syscall(SYS_capget, &self, data) && data[cap / 32].effective >> cap % 32 & 1;
}

static bool secure_boot(void)
{
	AUTO_CLOSE int fd = open(SECURE_BOOT, O_RDONLY | O_CLOEXEC);
	char buf[8];

	return fd >= 0 && read(fd, buf, sizeof(buf)) == 5 && buf[4] == 1;
}

/* The mode in brackets: none, integrity, confidentiality; "" where there is no lockdown. */
static const char *lockdown(void)
{
	static char buf[128];
	char *s;

	if (!first_line("/sys/kernel/security/lockdown", buf, sizeof(buf)))
		return "";
	s = strchr(buf, '[');
	if (!s)
		return "";
	s++;
	s[strcspn(s, "]")] = '\0';
	return s;
}

/* What the kernel said last when it refused the module; false: nothing, or it may not be read. */
static bool refused_in_log(char *why, size_t size)
{
	static const char *const reasons[] = {
		"Key was rejected", "module verification failed", "Loading of unsigned module",
		"Loading of module with unavailable key", "Lockdown: ",
	};
	AUTO_CLOSE int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char record[8192];
	bool found = false;
	ssize_t n;

	while (fd >= 0 && ((n = read(fd, record, sizeof(record) - 1)) > 0 || errno == EPIPE)) {
		if (n <= 0)
			continue;
		record[n] = '\0';
		for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
			if (strstr(record, reasons[i]) &&
			    (strstr(record, "mlcc") || strstr(record, "modprobe") ||
			     strstr(record, "insmod"))) {
				snprintf(why, size, "%s", reasons[i]);
				found = true;
			}
	}
	return found;
}

/* Is the module among those of the running kernel? */
static bool module_installed(void)
{
	char path[512], line[1024];
	AUTO_FCLOSE FILE *f = NULL;
	struct utsname u;
	bool found = false;

	uname(&u);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", u.release);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "/tcp_mlcc.ko");
	return found;
}

static void check_kernel(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major > 6 || (major == 6 && minor >= 1))
		result(FINE, "kernel", "", "Linux %s", u.release);
	else
		result(NOTE, "kernel", "6.1 or later is what mlcc is tested with", "Linux %s",
		       u.release);
}

static void check_module(void)
{
	char text[256] = "", why[128];

	module_there = !access("/sys/module/tcp_mlcc", F_OK);
	if (module_there) {
		result(FINE, "module", "", "tcp_mlcc is loaded");
	} else if (access("/proc/modules", F_OK)) {
		result(NOTE, "module", "the BPF carrier needs none: 'mlcc-bpf load'",
		       "this kernel has no loadable modules");
	} else if (first_line("/proc/sys/kernel/modules_disabled", text, sizeof(text)) && *text == '1') {
		result(NOTE, "module", "use the BPF carrier ('mlcc-bpf load'), or restart the machine",
		       "loading modules has been disabled (kernel.modules_disabled)");
	} else if (refused_in_log(why, sizeof(why))) {
		result(NOTE, "module", "sign the module with an enrolled key (mokutil), or use 'mlcc-bpf load'",
		       "the kernel has refused a module: %s", why);
	} else if (module_installed()) {
		result(NOTE, "module", secure_boot() ?
		       "Secure Boot is on: it has to be signed with an enrolled key, then 'modprobe tcp_mlcc'" :
		       "'modprobe tcp_mlcc' loads it; the BPF carrier needs it not",
		       "tcp_mlcc is installed, but not loaded");
	} else {
		result(NOTE, "module", "'make module install', or use the BPF carrier: 'mlcc-bpf load'",
		       "tcp_mlcc is not installed for this kernel");
	}
}

/* A file system that is not mounted says nothing of what it would have; @mode: of lockdown. */
static bool knows_boot(const char *mode)
{
	struct statfs fs;

	return (*mode || (!statfs("/sys/kernel/security", &fs) &&
			  (unsigned long)fs.f_type == SECURITYFS_MAGIC)) &&
	       (access("/sys/firmware/efi", F_OK) || !access(SECURE_BOOT, R_OK));
}

static void check_boot(void)
{
	const char *mode = lockdown();

	if (!strcmp(mode, "confidentiality"))
		result(BAD, "lockdown", "boot with lockdown=integrity, or without Secure Boot",
		       "confidentiality: BPF may not read the kernel, unsigned modules are refused");
	else if (!strcmp(mode, "integrity"))
		result(NOTE, "lockdown", "sign the module, or use the BPF carrier",
		       "integrity%s: unsigned modules are refused",
		       secure_boot() ? " (Secure Boot)" : "");
	else if (secure_boot())
		result(NOTE, "lockdown", "", "Secure Boot is on, the kernel is not locked down");
	else if (!knows_boot(mode))
		result(NOTE, "lockdown", "",
		       "unknown: /sys/kernel/security or /sys/firmware/efi does not tell");
	else
		result(FINE, "lockdown", "", "neither Secure Boot nor lockdown");
}

static bool may_load(void)
{
	return have_capability(CAP_BPF) || have_capability(CAP_SYS_ADMIN);
}

static void check_btf(void)
{
	int err = try_struct_ops();

	if (err == -ENOENT)
		result(module_there ? NOTE : BAD, "btf",
		       "a kernel with CONFIG_DEBUG_INFO_BTF is needed, or the module",
		       "this kernel does not describe its types: neither the BPF carrier nor the tagger load");
	else if (err && !may_load())
		result(NOTE, "btf", "run doctor as root to see more",
		       "the kernel describes its types; whether it takes a congestion control by them is unknown");
	else if (err)
		result(module_there ? NOTE : BAD, "btf",
		       "a kernel with CONFIG_BPF_JIT is needed, and no seccomp filter in the way",
		       "the kernel refuses an operation of a congestion control: %s",
		       strerror(-err));
	else
		result(FINE, "btf", "", "the kernel has taken an operation of a congestion control");
}

/* Only root may look into the directory, so that others cannot is no finding. */
static void check_pins(int program)
{
	char why[MLCC_ERROR_LEN];
	char *const mount[] = { "mount", "-t", "bpf", "bpf", "/sys/fs/bpf", NULL };
	int dir = mlcc_pins_open(why), err;
	bool unknown;

	mlcc_patience(PATIENCE_MS);
	if (dir == -ENODEV && fixed("bpffs", mount))
		dir = mlcc_pins_open(why);
	if (dir >= 0)
		close(dir);
	err = dir >= 0 || dir == -ENOENT ? 0 : dir;
	unknown = err ? err == -EACCES : program < 0;
	if (!err && !unknown) {
		err = mlcc_pins_try(program, why);
		unknown = err == -EAGAIN;
	}
	if (unknown)
		result(NOTE, "bpffs", "run doctor as root to see more",
		       "whether the carrier and the tagger can be pinned is unknown%s%s",
		       err ? ": " : "", err ? why : "");
	else if (err)
		result(BAD, "bpffs", err == -ENODEV ? "mount -t bpf bpf /sys/fs/bpf" :
		       "remove it, mount it anew, or set MLCC_PIN_DIR to another directory", "%s",
		       why);
	else
		result(FINE, "bpffs", "", "what the carrier and the tagger need is pinned and read back");
}

static void check_bpf(void)
{
	AUTO_CLOSE int fd = try_bpf();

	check_btf();
	if (fd < 0 && !may_load())
		result(NOTE, "bpf", "mlccd and mlcc-bpf run as root; run doctor as root to see more",
		       "you may not load BPF programs");
	else if (fd < 0)
		result(module_there ? NOTE : BAD, "bpf",
		       "a user namespace, a seccomp filter or lockdown may forbid it",
		       "the kernel refuses a BPF program: %s", strerror(-fd));
	else
		result(FINE, "bpf", "", "the kernel has taken a BPF program");
	check_pins(fd);
}

static void doctor_check_cgroup(void)
{
	char where[512] = "";
	bool v1 = false;
	struct mntent *m;
	FILE *f;

	f = setmntent("/proc/self/mounts", "re");
	while (f && (m = getmntent(f))) {
		v1 |= !strcmp(m->mnt_type, "cgroup");
		if (!*where && !strcmp(m->mnt_type, "cgroup2") && is_cgroup2(m->mnt_dir))
			snprintf(where, sizeof(where), "%s", m->mnt_dir);
	}
	if (f)
		endmntent(f);
	if (!*where)
		result(BAD, "cgroup", "boot with systemd.unified_cgroup_hierarchy=1, or mount -t cgroup2",
		       v1 ? "only version 1 is mounted; jobs need version 2" :
		       "none is mounted; jobs need version 2");
	else
		result(FINE, "cgroup", "", "version 2 at %s%s", where,
		       v1 ? " (version 1 beside it)" : "");
}

/* Others than root may choose what is in tcp_allowed_congestion_control: -EPERM. */
static int carrier_missing(void)
{
	module_there = !access("/sys/module/tcp_mlcc", F_OK);
	/* a name that is not listed would load a module */
	return mlcc_registered("mlcc") ? try_cc("mlcc") : -ENOENT;
}

static void check_carrier(void)
{
	char *const module[] = { "modprobe", "tcp_mlcc", NULL };
	char *const bpf[] = { "mlcc-bpf", "load", NULL };
	int err = carrier_missing();
	char list[4096] = "";

	if (err && err != -EPERM && ((module_installed() && fixed("carrier", module)) ||
				     fixed("carrier", bpf)))
		err = carrier_missing();
	carrier_there = !err || err == -EPERM;
	if (err == -EPERM)
		result(NOTE, "carrier", "jobs get it all the same",
		       "the congestion control 'mlcc' is there, but not for you to choose");
	else if (err)
		result(BAD, "carrier", "'mlcc-bpf load', or 'modprobe tcp_mlcc' (as root)",
		       err == -ENOENT ? "there is no congestion control 'mlcc'" :
		       "a socket does not get the congestion control 'mlcc'");
	else
		result(FINE, "carrier", "", "a socket has got the congestion control 'mlcc', from %s",
		       module_there ? "the module" : "BPF");
	if (first_line("/proc/sys/net/ipv4/tcp_congestion_control", list, sizeof(list)) &&
	    !strcmp(list, "mlcc"))
		result(NOTE, "default", "sysctl -w net.ipv4.tcp_congestion_control=cubic",
		       "mlcc is the default for all sockets, which it is not made for");
}

/* Whether what runs here would be heard. */
static void check_hints(void)
{
	struct json_object *request = new_request("show");
	AUTO_PUT struct json_object *reply = NULL;

	put_bool(request, "self", true);
	reply = try_ask(request);
	if (reply)
		result(FINE, "hints", "", "those of a process here count: it is in a job's cgroup");
	else
		result(NOTE, "hints", "'mlcc-ctl run', or name the job in MLCC_JOB",
		       "those of a process here do not count: %s", refusal.why);
}

static void check_jobs(void)
{
	AUTO_PUT struct json_object *all = try_all_jobs();
	struct json_object *job;
	bool fine = true, known = true;

	json_each(job, all) {
		known &= json_object_object_get_ex(job, "orphans", NULL);
		fine &= !check_orphans(job);
	}
	if (!all || !known)
		result(NOTE, "orphans", "", "whether connections have a carrier that was unloaded is unknown%s%s",
		       all ? "" : ": ", all ? "" : refusal.why);
	else if (fine)
		result(FINE, "orphans", "", "no connection of a job has a carrier that was unloaded");
}

/* Until the machine starts again: what it starts by itself is the administrator's choice. */
static bool started(void)
{
	char *const socket[] = { "systemctl", "start", "mlccd.socket", NULL };

	/* with --socket it is another one that is asked for */
	return !common.place && sd_booted() > 0 && fixed("mlccd", socket);
}

static void check_daemon(void)
{
	AUTO_PUT struct json_object *reply = try_ask(new_request("status"));

	if (!reply && refusal.status == EXIT_NO_DAEMON && started())
		reply = try_ask(new_request("status"));
	if (!reply) {
		result(BAD, "mlccd", refusal.status == EXIT_NO_DAEMON ? "" :
		       "see the daemon's log: 'journalctl -u mlccd'", "%s", refusal.why);
		return;
	}
	result(FINE, "mlccd", "", "answers; %s jobs, carrier %s", get_string(reply, "jobs"),
	       get_string(reply, "carrier"));
	if (!get_bool(reply, "tagger"))
		result(BAD, "tagger", "jobs of cgroups need it; see what it says",
		       "not loaded: %s", get_string(reply, "tagger_error"));
	else
		result(FINE, "tagger", "", "tags the sockets of jobs' cgroups");
	if (carrier_there && *get_string(reply, "carrier_error"))
		result(BAD, "mlccd", "restart it: 'systemctl restart mlccd'",
		       "does not find the carrier: %s", get_string(reply, "carrier_error"));
	if (get_bool(reply, "admin"))
		result(FINE, "permission", "", "you may set any job");
	else
		result(NOTE, "permission", "mlccd.conf has the limits ([limits])",
		       "you may set jobs for cgroups that are delegated to you");
	check_marks(get_u64(reply, "mark_mask"));
	check_connection(carrier_there);
	check_jobs();
	check_hints();
}

int verb_doctor(int argc, char **argv)
{
	static const struct option_of opts[] = {
		{ "sysroot", OPTION_TEXT },
		{ "fix", OPTION_FLAG },
		{ "connection", OPTION_FLAG },
		{ "peer", OPTION_TEXT },
		{ "peer-listen", OPTION_FLAG },
		{ }
	};
	struct json_object *own = options_take(argc, argv, "", opts, NULL, NULL);
	const char *sysroot = given(own, "sysroot") ? get_string(own, "sysroot") : "/";
	struct err e;
	int c;

	fix = get_bool(own, "fix");
	options_end(argc, argv);
	if (get_bool(own, "connection"))
		return try_connection();
	if (get_bool(own, "peer-listen"))
		return peer_listen();
	if (given(own, "peer"))
		return peer_ask(get_string(own, "peer"));
	c = sysroot_set(sysroot, &e);
	if (c && strcmp(sysroot, "/"))
		die(EXIT_FAILED, "%s", e.text);
	findings_begin();
	check_kernel();
	check_module();
	check_boot();
	check_bpf();
	doctor_check_cgroup();
	check_carrier();
	check_daemon();
	check_paths();
	if (c)
		result(NOTE, "rdma", "", "RDMA devices are not looked at: %s", e.text);
	else
		check_rdma();
	return findings_end();
}
