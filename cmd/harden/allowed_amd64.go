package harden

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// x32Bit marks calls of the x32 ABI, a second numbering for the same architecture.
	x32Bit = 0x40000000
)

// Older forms of allowed calls on this architecture, which libc uses.
var (
	runningHere = []uint32{
		unix.SYS_ARCH_PRCTL, unix.SYS_TIME, unix.SYS_ALARM, unix.SYS_PAUSE, unix.SYS_GETPGRP, unix.SYS_DUP2, unix.SYS_PIPE,
		unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD, unix.SYS_MAP_SHADOW_STACK,
	}
	readingHere = []uint32{
		unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_GETDENTS,
		unix.SYS_VFORK, unix.SYS_FORK,
	}
	placingHere  = []uint32{unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_MKDIR, unix.SYS_SIGNALFD, unix.SYS_INOTIFY_INIT}
	changingHere = []uint32{
		unix.SYS_CREAT, unix.SYS_UNLINK, unix.SYS_RMDIR, unix.SYS_MKDIR, unix.SYS_MKNOD, unix.SYS_LINK, unix.SYS_SYMLINK,
		unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES,
		unix.SYS_FUTIMESAT, unix.SYS_SIGNALFD, unix.SYS_INOTIFY_INIT,
	}
)
