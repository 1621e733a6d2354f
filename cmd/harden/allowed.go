//go:build linux && (amd64 || arm64)

package harden

import "golang.org/x/sys/unix"

// newest is the highest system call number known to these lists. Later calls return
// ENOSYS, so that a newer runtime or library falls back to an older call.
const newest = 471

// running lists the calls that every process needs. They are the calls of the Go runtime
// (runtime/sys_linux_*.s, internal/runtime/syscall), of libc for cgo builds and other
// programs, and operations on open descriptors. Calls of a single architecture are in
// runningHere.
var running = append([]uint32{
	// memory
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
	unix.SYS_MSYNC, unix.SYS_MLOCK, unix.SYS_MUNLOCK, unix.SYS_MSEAL, unix.SYS_MEMFD_CREATE, unix.SYS_MEMBARRIER,

	// threads, signals and time; the filter checks arguments of calls that start
	// processes and signal them
	unix.SYS_FUTEX, unix.SYS_FUTEX_WAITV, unix.SYS_FUTEX_WAKE, unix.SYS_FUTEX_WAIT, unix.SYS_FUTEX_REQUEUE,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_GET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_GETSCHEDULER,
	unix.SYS_SCHED_GET_PRIORITY_MAX, unix.SYS_SCHED_GET_PRIORITY_MIN, unix.SYS_GETCPU,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPENDING, unix.SYS_RT_SIGSUSPEND,
	unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_GETTIME, unix.SYS_TIMER_GETOVERRUN, unix.SYS_TIMER_DELETE,
	unix.SYS_TIMERFD_CREATE, unix.SYS_TIMERFD_SETTIME, unix.SYS_TIMERFD_GETTIME, unix.SYS_GETITIMER, unix.SYS_SETITIMER,

	// information about the process and the machine
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETPPID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	unix.SYS_GETRESUID, unix.SYS_GETRESGID, unix.SYS_GETGROUPS, unix.SYS_GETPGID, unix.SYS_GETSID, unix.SYS_CAPGET,
	unix.SYS_UNAME, unix.SYS_SYSINFO, unix.SYS_GETRUSAGE, unix.SYS_TIMES, unix.SYS_GETRANDOM, unix.SYS_PRCTL,
	unix.SYS_PRLIMIT64, unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT, unix.SYS_UMASK, unix.SYS_GETCWD,

	// descriptors
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_PREADV, unix.SYS_PWRITEV,
	unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_FSTAT, unix.SYS_FSTATFS,
	unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_FCNTL, unix.SYS_FLOCK, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC,
	unix.SYS_FADVISE64, unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_SENDFILE, unix.SYS_COPY_FILE_RANGE, unix.SYS_PIPE2,
	unix.SYS_EVENTFD2, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_PPOLL, unix.SYS_PSELECT6,

	// sockets, except socket, socketpair and listen; an end of a socketpair could send to
	// any local service that receives datagrams
	unix.SYS_CONNECT, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_BIND, unix.SYS_SHUTDOWN,
	unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT,
	unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_SENDMMSG, unix.SYS_RECVMMSG,
}, runningHere...)

// reading lists the calls that open, list and inspect files, and those that run programs.
var reading = append([]uint32{
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_READLINKAT, unix.SYS_GETDENTS64, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2,
	unix.SYS_STATX, unix.SYS_STATFS, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_READAHEAD, unix.SYS_LISTEN,
	unix.SYS_EXECVE, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_SETPGID, unix.SYS_SETSID,
	unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL,
}, readingHere...)

// placing lists the calls that replace files, and the calls of programs that contact
// systemd over its sockets. It lacks chmod: Landlock does not protect the modes of root's
// files.
var placing = append([]uint32{
	unix.SYS_UNLINKAT, unix.SYS_RENAMEAT2, unix.SYS_MKDIRAT, unix.SYS_SOCKETPAIR, unix.SYS_SIGNALFD4,
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_INOTIFY_RM_WATCH, unix.SYS_GETPRIORITY,
}, placingHere...)

// changing lists further calls of mgmt and of operator programs: shells and interpreters
// must work. The user of the process determines which files they may change.
var changing = append([]uint32{
	unix.SYS_SOCKETPAIR, unix.SYS_EXECVEAT, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_SIGNALFD4,
	unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_RENAMEAT2, unix.SYS_TRUNCATE,
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SYNC, unix.SYS_SYNCFS, unix.SYS_SYNC_FILE_RANGE, unix.SYS_VMSPLICE,
	unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_FGETXATTR, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, unix.SYS_FLISTXATTR,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_INOTIFY_RM_WATCH, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID,
	unix.SYS_SETFSUID, unix.SYS_SETFSGID, unix.SYS_SETGROUPS, unix.SYS_CAPSET, unix.SYS_PERSONALITY,
	unix.SYS_GETPRIORITY, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_GET, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETPARAM,
	unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_GETATTR, unix.SYS_SCHED_RR_GET_INTERVAL,
	unix.SYS_MLOCK2, unix.SYS_MLOCKALL, unix.SYS_MUNLOCKALL, unix.SYS_GET_MEMPOLICY, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PKEY_ALLOC, unix.SYS_PKEY_FREE, unix.SYS_PKEY_MPROTECT, unix.SYS_MEMFD_SECRET,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMCTL, unix.SYS_SEMTIMEDOP,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SECCOMP, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF,
	unix.SYS_IO_SETUP, unix.SYS_IO_DESTROY, unix.SYS_IO_SUBMIT, unix.SYS_IO_CANCEL, unix.SYS_IO_GETEVENTS,
}, changingHere...)

// lasting lists the calls that create objects that outlive their process.
var lasting = []uint32{unix.SYS_SHMGET, unix.SYS_SEMGET, unix.SYS_MSGGET}

// The filters of each role, and of processes that the supervisor starts for one request.
var (
	engineFilter = filter{calls: [][]uint32{running}, families: []uint32{unix.AF_INET, unix.AF_INET6}, alone: true}
	// Programs of netd create no files and change them only by writing. Without unix
	// sockets netd, which is root, cannot have systemd or others do it.
	helperFilter = filter{calls: [][]uint32{running, reading},
		families: []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET}}
	// Landlock determines the files that hostd may replace and the sockets it may connect
	// to.
	hostFilter = filter{calls: [][]uint32{running, reading, placing}, families: []uint32{unix.AF_UNIX}}
	// mgmt starts no programs; progd does.
	managerFilter = filter{calls: [][]uint32{running, reading, changing}, never: []uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT},
		families: []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_UNIX, unix.AF_NETLINK}}
	programsFilter = filter{calls: [][]uint32{running, reading, changing},
		families: []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_UNIX, unix.AF_NETLINK}}
	// System V IPC objects outlive their creator. Access to unix sockets depends on the
	// user that connects, so a program that runs as the user of mgmt must not have any.
	programFilter = filter{calls: [][]uint32{running, reading, changing}, never: lasting,
		families: []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_UNIX, unix.AF_NETLINK}}
	programAloneFilter = filter{calls: [][]uint32{running, reading, changing}, never: lasting,
		families: []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}}
)
