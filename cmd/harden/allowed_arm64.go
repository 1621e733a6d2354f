package harden

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32Bit    = 0 // no second numbering
)

// Forms of allowed calls on this architecture.
var (
	runningHere  = []uint32{unix.SYS_MAP_SHADOW_STACK}
	readingHere  = []uint32{unix.SYS_FSTATAT}
	placingHere  = []uint32{unix.SYS_RENAMEAT}
	changingHere = []uint32{unix.SYS_RENAMEAT}
)
