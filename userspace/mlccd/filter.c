// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The filter of system calls, by hand: a list is all that it is, and a library for it would be one
 * more to have.  What is not in the list fails with ENOSYS, as on a kernel that does not know it: a
 * C library that is newer than the list takes what it took before.  So does clone3, whose flags are
 * in memory, where a filter cannot look.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/sysroot.h"
#include "cgroup.h"
#include "split.h"

#if defined(__x86_64__)
#define ARCH	AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH	AUDIT_ARCH_AARCH64
#endif

#define NAMESPACES	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
			 CLONE_NEWPID | CLONE_NEWNET | 0x80 /* CLONE_NEWTIME */)

/* Those that only some processors have are tried for. */
static const int allowed[] = {
	/* events, time */
	SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_ppoll, SYS_pselect6,
	SYS_timerfd_create, SYS_timerfd_settime, SYS_signalfd4, SYS_pidfd_open, SYS_setitimer,
	SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
	SYS_restart_syscall,
	/* sockets, but for socket(2); not connect(2): there is one way to a keeper */
	SYS_accept4, SYS_accept, SYS_getpeername, SYS_getsockname, SYS_getsockopt,
	SYS_recvfrom, SYS_recvmsg, SYS_sendmsg, SYS_sendto, SYS_setsockopt, SYS_shutdown,
	SYS_socketpair,
	/* files */
	SYS_openat, SYS_openat2, SYS_close, SYS_close_range, SYS_read, SYS_readv, SYS_pread64,
	SYS_write, SYS_writev, SYS_pwrite64, SYS_lseek, SYS_fcntl, SYS_dup, SYS_dup3, SYS_pipe2,
	SYS_fstat, SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_statfs, SYS_faccessat,
	SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_mkdirat, SYS_renameat,
	SYS_renameat2, SYS_unlinkat, SYS_ftruncate, SYS_fsync, SYS_fdatasync, SYS_sendfile,
	SYS_umask, SYS_flock,
	/* memory */
	SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise, SYS_mprotect, SYS_membarrier,
	SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_getrandom,
	/* itself and its children (porter.h, last.h) */
	SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_kill, SYS_tgkill, SYS_getpid,
	SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_prctl,
	SYS_capset, SYS_capget, SYS_prlimit64, SYS_getrusage, SYS_rt_sigaction, SYS_rt_sigprocmask,
	SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_sigaltstack,
	SYS_sched_getaffinity, SYS_sched_yield, SYS_uname, SYS_sysinfo, SYS_set_tid_address,
#ifdef __x86_64__
	SYS_epoll_wait, SYS_poll, SYS_select, SYS_open, SYS_stat, SYS_lstat, SYS_access,
	SYS_readlink, SYS_mkdir, SYS_rename, SYS_unlink, SYS_dup2, SYS_pipe, SYS_getrlimit,
	SYS_setrlimit, SYS_arch_prctl, SYS_time, SYS_alarm, SYS_fork, SYS_vfork,
#endif
};

#define AT(field)	offsetof(struct seccomp_data, field)
#define LOAD(field)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(field))
/* the next one if it is equal, or has any of these bits; else @skip are left out */
#define EQUAL(v, skip)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v, 0, skip)
#define ANY_OF(v, skip)	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, v, 0, skip)
#define RETURN(v)	BPF_STMT(BPF_RET | BPF_K, v)
#define REFUSE(error)	RETURN(SECCOMP_RET_ERRNO | (error))
#define ALLOW		RETURN(SECCOMP_RET_ALLOW)

#ifdef ARCH
int filter_set(struct err *e)
{
	static const struct sock_filter head[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		EQUAL(SYS_clone, 4), LOAD(args[0]), ANY_OF(NAMESPACES, 1), REFUSE(EPERM), ALLOW,
		EQUAL(SYS_ioctl, 4), LOAD(args[1]), EQUAL(PIDFD_TOLD, 1), ALLOW, REFUSE(ENOSYS),
		EQUAL(SYS_socket, 4), LOAD(args[0]), EQUAL(AF_UNIX, 1), ALLOW, REFUSE(EPERM),
	};
	struct sock_filter code[COUNT(head) + 2 * COUNT(allowed) + 1];
	struct sock_fprog program = { .len = COUNT(code), .filter = code };
	size_t n = COUNT(head);

	memcpy(code, head, sizeof(head));
	for (size_t i = 0; i < COUNT(allowed); i++) {
		code[n++] = (struct sock_filter)EQUAL(allowed[i], 1);
		code[n++] = (struct sock_filter)ALLOW;
	}
	code[n] = (struct sock_filter)REFUSE(ENOSYS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return fail(e, -errno, "no filter of system calls: %s", strerror(errno));
	return 0;
}
#else
int filter_set(struct err *e)
{
	return fail(e, -EOPNOTSUPP, "no filter of system calls for this processor");
}
#endif
